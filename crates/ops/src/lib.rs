//! What agents do with pages: every operation is written once, here, and offered by every door.
//!
//! An op is a type with its input (fields, described for models), its access and what it does (`registry`). It
//! reaches the page through a driver (`driver`), of which there is one for each protocol that browsers speak. Who asks
//! is an agent (`agent`): it has a current tab of its own, its own refs, and the tabs that are leased to it.

#[macro_use]
mod schema;

mod actions;
mod agent;
pub mod differences;
mod driver;
mod error;
mod execute;
mod lease;
mod ops;
mod output;
mod page;
mod registry;
mod request;
mod tab;
mod undo;

pub use actions::{ACTIONS, Action, Watched, find_action};
pub use agent::{Agent, AgentName, Presence, Stay};
pub use error::{Code, OpError};
pub use execute::check as check_execute;
pub use output::{Media, Output};
pub use registry::{Access, Entry, OPS, Set, find};
pub use request::{Ops, Progress, Request, Settings};
pub use schema::Field;
