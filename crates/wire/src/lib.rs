//! Types of the protocols that Bowline speaks, without any I/O.
//!
//! Only what the hub interprets has a type here; everything else travels as the text it arrived in.

pub mod bidi;
pub mod cdp;
pub mod discovery;
pub mod envelope;
pub mod ids;
mod json;
pub mod origins;
pub mod pairing;
mod protocol;
pub mod relay;
pub mod reply;

pub use envelope::{BrowserMessage, Command, Malformed};
pub use ids::{SessionId, TargetId};
pub use protocol::Protocol;
