//! `bowline cdp`: one command of the protocol, and its result.

use std::io::Read;

use bowline_doors::history::model::{ExecuteRequest, Executed};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Context;
use super::history::{Place, Query};
use crate::api::Api;
use crate::cli::CdpArgs;
use crate::failure::Failure;

/// Domains that speak of the browser as a whole. Storage would be one, too, but is mostly meant for the
/// context of a tab.
const OF_BROWSER: [&str; 4] = ["Browser", "Target", "SystemInfo", "Tethering"];

pub(super) fn run(context: &Context<'_>, args: &CdpArgs) -> Result<(), Failure> {
    let to_browser = is_of_browser(&args.method)? && args.tab.is_none();
    let params = args.params.as_deref().map(read_params).transpose()?;
    let mut place = Place::of(&args.place, args.tab.as_deref())?;
    let request = ExecuteRequest {
        method: args.method.clone(),
        params,
        timeout: args.timeout.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
    };
    let way = place.way(context)?;
    let executed: Executed = context.block_on(async {
        let api = Api::new(way.state());
        let scope = place.scope(&api).await?;
        let path = if to_browser {
            scope.in_browser("execute", &Query::default())
        } else {
            scope.tab_path("execute")
        };
        api.post_within(&path, &request, args.timeout).await
    })?;
    context.output.result(&executed, text);
    Ok(())
}

fn text(executed: &Executed) -> String {
    let raw = executed.result.get();
    let pretty = serde_json::from_str::<Value>(raw).and_then(|value| serde_json::to_string_pretty(&value));
    pretty.unwrap_or_else(|_| raw.to_owned())
}

fn is_of_browser(method: &str) -> Result<bool, Failure> {
    match method.split_once('.') {
        Some((domain, command)) if !domain.is_empty() && !command.is_empty() => {
            Ok(OF_BROWSER.contains(&domain))
        }
        _ => Err(Failure::usage(format!("`{method}` is not a CDP command"))
            .hint("write Domain.command, such as Page.reload")),
    }
}

fn read_params(words: &str) -> Result<Box<RawValue>, Failure> {
    if words != "-" {
        return parse_params(words);
    }
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::io("the parameters on stdin", &error))?;
    parse_params(&text)
}

/// What they say is left as it is, to the last digit.
fn parse_params(text: &str) -> Result<Box<RawValue>, Failure> {
    match serde_json::from_str::<Box<RawValue>>(text) {
        Ok(params) if params.get().starts_with('{') => Ok(params),
        Ok(_) => Err(Failure::usage("the parameters must be a JSON object")
            .hint("such as '{\"url\": \"https://example.com\"}'")),
        // Its text says line and column.
        Err(error) => Err(Failure::usage(format!("the parameters are not JSON: {error}"))
            .hint("put single quotes around them, and double quotes around names and strings")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::exit;

    #[test]
    fn commands_of_the_browser_are_told_from_those_of_a_tab() {
        for (method, of_browser) in [
            ("Browser.getVersion", true),
            ("Target.getTargets", true),
            ("Page.reload", false),
            ("Storage.x", false),
        ] {
            assert_eq!(is_of_browser(method).unwrap(), of_browser, "{method}");
        }
        for method in ["reload", "Page.", ".reload"] {
            assert_eq!(is_of_browser(method).unwrap_err().exit, exit::USAGE);
        }
    }

    #[test]
    fn wrong_json_is_wrong_usage_that_names_the_place() {
        let failure = parse_params("{\"a\": x}").unwrap_err();
        assert_eq!(failure.exit, exit::USAGE);
        assert!(failure.message.contains("line 1 column 7"), "{}", failure.message);
        assert!(parse_params("[1]").unwrap_err().message.contains("object"));
        assert_eq!(parse_params("{\"a\": 1.0}").unwrap().get(), "{\"a\": 1.0}");
    }
}
