//! How clients reach the hub over HTTP and WebSocket: the CDP door with `/json` discovery, and the
//! control door for our own commands.
//!
//! Nothing here knows how a browser is started.

mod cdp;
pub mod control;
mod extract;
mod failure;
mod guard;
pub mod history;
mod limit;
mod listeners;
mod metrics;
mod openapi;
mod pump;
mod route;
mod upgrade;

pub use listeners::{ListenError, Listeners, OpenError};
