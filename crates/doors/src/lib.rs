//! How clients reach the hub over HTTP and WebSocket: the CDP door with `/json` discovery, and the
//! control door for our own commands.
//!
//! Nothing here knows how a browser is started.

mod cdp;
pub mod control;
mod guard;
mod listeners;
mod pump;
mod route;
mod upgrade;

pub use listeners::{ListenError, Listeners, OpenError};
