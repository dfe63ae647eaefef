//! The Model Context Protocol, once for both ways in: stdio (`bowline mcp`) and streamable HTTP (`/mcp`).
//!
//! Tools, their schemas, fences and results are made here, from the table of ops. Who does the work is a `Caller`:
//! in the hub the ops themselves, behind stdio a connection to the hub.

mod caller;
mod fence;
mod http;
mod prompts;
mod remembered;
pub(crate) mod resources;
mod server;
mod sets;
mod shape;
mod stdio;
mod tools;

pub use caller::{Call, Caller, Newcomer};
pub use server::Options;
pub use sets::{Sets, UnknownSet};
pub use stdio::serve_stdio;

pub(crate) use http::routes;
