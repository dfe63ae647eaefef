//! `bowline har`: the requests as an HTTP archive.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;

use super::Context;
use super::history::{Place, Query, save};
use crate::api::Api;
use crate::cli::HarArgs;
use crate::failure::Failure;

/// What matters here of an archive.
#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<IgnoredAny>,
}

pub(super) fn run(context: &Context<'_>, args: &HarArgs) -> Result<(), Failure> {
    let place = Place::of(&args.place, args.tab.as_deref())?;
    let state = place.hub(context)?;
    let mut query = Query::default();
    query.set_if("bodies", args.bodies);
    query.set_if("reveal", args.reveal);
    // Passed on as it came, so that its fields keep their order.
    let har: Box<RawValue> = context.block_on(async {
        let api = Api::new(&state);
        let path = place.scope(&api).await?.path("har", &query);
        api.get(&path).await
    })?;
    let Some(file) = &args.output else {
        context.output.result(&har, |har| har.get().to_owned());
        return Ok(());
    };
    let entries = serde_json::from_str::<Archive>(har.get()).map_or(0, |archive| archive.log.entries.len());
    save(file, format!("{}\n", har.get()).as_bytes())?;
    context.output.note(format!("{entries} entries written to {}", file.display()));
    if context.output.is_json() {
        let data = json!({"file": file.display().to_string(), "entries": entries});
        context.output.result(&data, |_| String::new());
    }
    Ok(())
}
