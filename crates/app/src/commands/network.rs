//! `bowline network`: the requests of the pages, and those that they make from now on.

use std::process::ExitCode;

use bowline_doors::history::model::NetworkHistory;

use super::Context;
use super::history::{self, NetworkFilter, Place, RequestRows};
use crate::cli::NetworkArgs;
use crate::failure::Failure;

pub(super) fn run(context: &Context<'_>, args: &NetworkArgs) -> Result<ExitCode, Failure> {
    let mut place = Place::of(&args.place, args.tab.as_deref())?;
    let filter = NetworkFilter::of(args);
    let mut rows = RequestRows::new(args);
    let way = place.way(context)?;
    if way.is_own() && !args.list.follow {
        context.output.note("note: a browser remembers no requests; -f shows what it sends from now on");
    }
    let (query, narrow) = (filter.query(), filter.is_narrow());
    history::list::<NetworkHistory>(context, &place, &way, &args.list, query, narrow, &mut rows)
}
