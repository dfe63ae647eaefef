//! `bowline console`: what the pages logged, and what they log from now on.

use std::process::ExitCode;

use bowline_doors::history::model::ConsoleHistory;

use super::Context;
use super::history::{self, ConsoleFilter, ConsoleRows, Place};
use crate::cli::ConsoleArgs;
use crate::failure::Failure;

pub(super) fn run(context: &Context<'_>, args: &ConsoleArgs) -> Result<ExitCode, Failure> {
    let mut place = Place::of(&args.place, args.tab.as_deref())?;
    let filter = ConsoleFilter::of(args);
    let way = place.way(context)?;
    let (query, narrow) = (filter.query(), filter.is_narrow());
    history::list::<ConsoleHistory>(context, &place, &way, &args.list, query, narrow, &mut ConsoleRows)
}
