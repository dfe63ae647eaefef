//! What the commands that look into a browser share: where to ask, for what, and how it is shown.

mod amounts;
mod client;
mod console_filter;
mod console_rows;
mod follow;
mod labels;
mod list;
mod network_filter;
mod place;
mod printer;
mod query;
mod request_details;
mod request_rows;
mod rows;
mod save;

pub(super) use amounts::size;
pub(super) use console_filter::ConsoleFilter;
pub(super) use console_rows::ConsoleRows;
pub(super) use labels::Labels;
pub(super) use list::list;
pub(super) use network_filter::NetworkFilter;
pub(super) use place::{Place, Way};
pub(super) use printer::{Format, Printer};
pub(super) use query::{Query, encoded};
pub(super) use request_rows::RequestRows;
pub(super) use rows::{History, Record, Rows};
pub(super) use save::save;
