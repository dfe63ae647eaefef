//! The hub: every browser, every client, and what connects them.
//!
//! This crate knows neither how a browser is started (backends) nor how a client reaches us (doors);
//! it never touches the terminal, the environment or a home directory: all of that is passed in.

pub mod audit;
pub mod auth;
pub mod backend;
pub mod bidi;
pub mod browser;
pub mod caller;
pub mod connections;
pub mod extensions;
pub mod files;
pub mod hands;
pub mod hub;
mod outbox;
pub mod pairing;
pub mod recorder;
pub mod registry;
pub mod router;
pub mod statefile;
mod upstream;

pub use browser::{Browser, Life};
pub use hub::Hub;

#[cfg(test)]
mod fake;
