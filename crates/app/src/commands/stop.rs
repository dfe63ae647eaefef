//! `bowline stop`.

use bowline_doors::control::BrowserStatus;
use bowline_hub::Life;

use super::Context;
use crate::api::Api;
use crate::cli::StopArgs;
use crate::failure::Failure;

pub(super) fn run(context: &Context<'_>, args: &StopArgs) -> Result<(), Failure> {
    let Some(state) = context.running_hub()? else {
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
            stopped.push(api.stop(&name, args.forget).await?);
        }
        Ok(stopped)
    })?;
    context.output.result(&stopped, |stopped| {
        let lines = stopped.iter().map(|browser| format!("{} is {}", browser.name, browser.state));
        lines.collect::<Vec<_>>().join("\n")
    });
    Ok(())
}
