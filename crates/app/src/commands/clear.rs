//! `bowline clear`: forgets what was recorded.

use bowline_doors::history::model::Cleared;

use super::Context;
use super::history::{Place, Query};
use crate::api::Api;
use crate::cli::ClearArgs;
use crate::failure::Failure;

pub(super) fn run(context: &Context<'_>, args: &ClearArgs) -> Result<(), Failure> {
    let place = Place::of(&args.place, args.tab.as_deref())?;
    let state = place.hub(context)?;
    let cleared = context.block_on(async {
        let api = Api::new(&state);
        let scope = place.scope(&api).await?;
        let mut sum = Cleared { console: 0, network: 0 };
        for what in parts(args) {
            let cleared: Cleared = api.delete(&scope.path(what, &Query::default())).await?;
            sum.console += cleared.console;
            sum.network += cleared.network;
        }
        Ok(sum)
    })?;
    context.output.result(&cleared, |cleared| text(cleared, &parts(args)));
    Ok(())
}

/// Both, unless one is named.
fn parts(args: &ClearArgs) -> Vec<&'static str> {
    let both = args.console == args.network;
    let chosen = [("console", args.console || both), ("network", args.network || both)];
    chosen.into_iter().filter(|(_, wanted)| *wanted).map(|(name, _)| name).collect()
}

fn text(cleared: &Cleared, parts: &[&str]) -> String {
    let counts = parts.iter().map(|part| match *part {
        "console" => format!("{} console records", cleared.console),
        _ => format!("{} requests", cleared.network),
    });
    format!("removed {}", counts.collect::<Vec<_>>().join(" and "))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn said(words: &[&str]) -> String {
        let words = [&["bowline", "clear"], words].concat();
        let Command::Clear(args) = Cli::try_parse_from(words).unwrap().command else { panic!("clear") };
        text(&Cleared { console: 2, network: 3 }, &parts(&args))
    }

    #[test]
    fn without_a_choice_both_are_cleared() {
        assert_eq!(said(&[]), "removed 2 console records and 3 requests");
        assert_eq!(said(&["--console", "--network"]), said(&[]));
        assert_eq!(said(&["current", "--console"]), "removed 2 console records");
        assert_eq!(said(&["--network"]), "removed 3 requests");
    }
}
