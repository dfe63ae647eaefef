//! `bowline body`: the body of a response, as the page got it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bowline_hub::recorder::record::Body;
use serde_json::json;

use super::Context;
use super::history::{Place, Query, encoded, save, size};
use crate::api::Api;
use crate::cli::BodyArgs;
use crate::failure::{Failure, exit};
use crate::safe_text::safe;

pub(super) fn run(context: &Context<'_>, args: &BodyArgs) -> Result<(), Failure> {
    let place = Place::of(&args.place, args.tab.as_deref())?;
    let state = place.hub(context)?;
    let body: Body = context.block_on(async {
        let api = Api::new(&state);
        let what = format!("network/{}/body", encoded(number_or_id(&args.request)));
        let path = place.scope(&api).await?.path(&what, &Query::default());
        api.get(&path).await
    })?;
    if body.truncated {
        let held = bytes_of(&body)?.len() as u64;
        context.output.faint(format!("(only the first {} of {} were kept)", size(held), size(body.size)));
    }
    if let Some(file) = &args.output {
        let bytes = bytes_of(&body)?;
        save(file, &bytes)?;
        let data = json!({"file": file.display().to_string(), "bytes": bytes.len()});
        context.output.note(format!("{} written to {}", size(bytes.len() as u64), file.display()));
        if context.output.is_json() {
            context.output.result(&data, |_| String::new());
        }
        return Ok(());
    }
    if context.output.is_json() {
        context.output.result(&body, |_| String::new());
        return Ok(());
    }
    if !context.output.is_terminal() {
        context.output.raw(&bytes_of(&body)?);
        return Ok(());
    }
    if body.base64_encoded {
        let message = format!("the body is binary ({}), which a terminal cannot show", size(body.size));
        return Err(
            Failure::new(exit::FAILED, "binary_body", message).hint("write it to a file with -o FILE")
        );
    }
    context.output.line(safe(&body.body));
    Ok(())
}

/// `bowline network` shows the number with a mark.
fn number_or_id(request: &str) -> &str {
    request.strip_prefix('#').unwrap_or(request)
}

fn bytes_of(body: &Body) -> Result<Vec<u8>, Failure> {
    if !body.base64_encoded {
        return Ok(body.body.clone().into_bytes());
    }
    STANDARD
        .decode(&body.body)
        .map_err(|error| Failure::new(exit::FAILED, "bad_body", format!("the body is damaged: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_becomes_bytes_and_text_stays() {
        let body = |text: &str, base64_encoded| Body {
            body: text.to_owned(),
            base64_encoded,
            size: 0,
            truncated: false,
        };
        assert_eq!(bytes_of(&body("/wAB", true)).unwrap(), [255, 0, 1]);
        assert_eq!(bytes_of(&body("/wAB", false)).unwrap(), b"/wAB");
        assert!(bytes_of(&body("/wA", true)).is_err());
    }

    #[test]
    fn the_mark_of_a_number_may_stay() {
        assert_eq!(number_or_id("#12"), "12");
        assert_eq!(number_or_id("1000.7"), "1000.7");
    }
}
