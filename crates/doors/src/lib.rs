//! How clients reach the hub over HTTP and WebSocket: the CDP door with `/json` discovery, the control
//! door for our own commands, and the door for the extension in a person's browser.
//!
//! Nothing here knows how a browser is started.

mod cdp;
pub mod control;
pub mod extension;
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
mod slot;
mod upgrade;

pub use listeners::{ListenError, Listeners, OpenError, Settings};
pub use slot::ClientMode;
