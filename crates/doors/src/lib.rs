//! How clients reach the hub over HTTP and WebSocket: the CDP door with `/json` discovery, the control
//! door for our own commands, the doors for agents (WebSocket and MCP), and the one for the extension in a
//! person's browser.
//!
//! Nothing here knows how a browser is started.

mod agent;
mod cdp;
pub mod control;
mod debug;
pub mod extension;
mod extract;
mod failure;
mod guard;
pub mod history;
mod limit;
mod listeners;
pub mod mcp;
mod metrics;
mod openapi;
pub mod ops;
mod problem;
mod pump;
mod route;
mod slot;
mod turn;
mod upgrade;

pub use listeners::{ListenError, Listeners, OpenError, Settings};
pub use problem::Problem;
pub use slot::ClientMode;
