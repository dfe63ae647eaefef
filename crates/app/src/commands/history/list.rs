//! Lists what the hub remembers, once or for as long as one looks.

use std::process::ExitCode;

use bowline_doors::history::model::Tabs;

use super::client::client;
use super::follow::follow;
use super::place::Scope;
use super::{Format, History, Labels, Place, Printer, Query, Record, Rows, Way};
use crate::api::Api;
use crate::cli::ListArgs;
use crate::commands::Context;
use crate::failure::{Failure, exit};

/// Asks the hub for what `query` selects, and shows it. `is_narrow` says that there may well be records
/// that the query leaves out.
pub(crate) fn list<H: History>(
    context: &Context<'_>,
    place: &Place,
    way: &Way,
    args: &ListArgs,
    mut query: Query,
    is_narrow: bool,
    rows: &mut impl Rows<H::Record>,
) -> Result<ExitCode, Failure> {
    query.set_if_some("client", client());
    let format = Format::of(args, *context.output);
    if args.follow {
        query.set_if("follow", true);
        let printer = Printer::new(*context.output, format, Labels::default());
        context.block_on(follow::<H>(context, place, way.state().clone(), query, printer, rows))?;
        return Ok(ExitCode::SUCCESS);
    }
    let (history, labels) = context.block_on(async {
        let api = Api::new(way.state());
        let scope = place.scope(&api).await?;
        let history: H = api.get(&scope.path(H::ROUTE, &query)).await?;
        let labels = labels_of(&api, &scope, format, history.records()).await?;
        Ok((history, labels))
    })?;
    Ok(show(context, format, labels, &history, is_narrow, rows))
}

/// Shows what there is, and says with the exit code whether a filter matched anything.
pub(crate) fn show<H: History>(
    context: &Context<'_>,
    format: Format,
    labels: Labels,
    history: &H,
    is_narrow: bool,
    rows: &mut impl Rows<H::Record>,
) -> ExitCode {
    let matched = !(is_narrow && history.records().is_empty());
    if format == Format::Document {
        if matched {
            context.output.result(history, |_| String::new());
            return ExitCode::SUCCESS;
        }
        let failure = Failure::new(exit::NOTHING_MATCHED, "nothing_matched", format!("no {} match", H::WHAT));
        context.output.failed_result(history, &failure, |_| String::new());
        return ExitCode::from(exit::NOTHING_MATCHED);
    }
    let mut printer = Printer::new(*context.output, format, labels);
    printer.missing(history.extent().dropped, history.extent().lost);
    if history.records().is_empty() {
        printer.nothing::<H>(is_narrow);
    }
    for record in history.records() {
        if printer.record(record, rows).is_err() {
            break;
        }
    }
    if matched { ExitCode::SUCCESS } else { ExitCode::from(exit::NOTHING_MATCHED) }
}

/// The hub is asked for its tabs only where lines of several are to be told apart.
async fn labels_of<R: Record>(
    api: &Api<'_>,
    scope: &Scope,
    format: Format,
    records: &[R],
) -> Result<Labels, Failure> {
    let several = records.windows(2).any(|pair| pair[0].tab() != pair[1].tab());
    if format != Format::Text || scope.is_one_tab() || !several {
        return Ok(Labels::default());
    }
    let mut labels = Labels::of_tabs(tabs_of(api, scope).await?);
    for record in records {
        if labels.is_unknown(record.tab()) {
            labels.learn(record.tab(), None);
        }
    }
    Ok(labels)
}

/// The open tabs; only they have an index.
pub(super) async fn tabs_of(api: &Api<'_>, scope: &Scope) -> Result<Tabs, Failure> {
    api.get(&scope.in_browser("tabs", &Query::default())).await
}
