//! `bowline stop`.

use bowline_doors::control::BrowserStatus;
use bowline_hub::Life;
use bowline_hub::registry::{self, DEFAULT};
use serde::Serialize;

use super::Context;
use crate::api::Api;
use crate::cli::StopArgs;
use crate::failure::Failure;

#[derive(Serialize)]
#[serde(untagged)]
enum Stopped {
    Kept(Box<BrowserStatus>),
    /// There is no more to say about it: its port and endpoint are nobody's now.
    Forgotten {
        name: String,
        forgotten: bool,
    },
}

pub(super) fn run(context: &Context<'_>, args: &StopArgs) -> Result<(), Failure> {
    registry::check_name(&args.name)?;
    // What is remembered of a browser is the hub's to forget.
    let running = if args.forget { Some(context.hub()?) } else { context.running_hub()? };
    let Some(state) = running else {
        context
            .output
            .result(&Vec::<BrowserStatus>::new(), |_| "No hub runs, so no browser does.".to_owned());
        return Ok(());
    };
    let api = Api::new(&state);
    let stopped = context.block_on(async {
        let names = if args.all {
            let running = |browser: &BrowserStatus| matches!(browser.state, Life::Ready | Life::Starting);
            api.status().await?.browsers.into_iter().filter(running).map(|browser| browser.name).collect()
        } else {
            vec![args.name.clone()]
        };
        let mut stopped = Vec::new();
        for name in names {
            let browser = api.stop(&name, args.forget).await?;
            stopped.push(if args.forget {
                Stopped::Forgotten { name, forgotten: true }
            } else {
                Stopped::Kept(Box::new(browser))
            });
        }
        Ok(stopped)
    })?;
    context.output.result(&stopped, |stopped| stopped.iter().map(text).collect::<Vec<_>>().join("\n"));
    Ok(())
}

fn text(stopped: &Stopped) -> String {
    match stopped {
        Stopped::Kept(browser) => format!("{} is {}", browser.name, browser.state),
        Stopped::Forgotten { name, .. } if name == DEFAULT => {
            format!("{name} is stopped, and its options are forgotten")
        }
        Stopped::Forgotten { name, .. } => format!("{name} is forgotten"),
    }
}
