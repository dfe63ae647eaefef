//! JavaScript with Playwright's own API, beside the browser and not in the page.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bowline_hub::backend::Protocol;
use serde_json::{Value, json};

use crate::differences;
use crate::error::OpError;
use crate::execute::Ran;
use crate::output::{Media, Output};
use crate::registry::{Access, Op, Set};
use crate::request::Call;

pub(crate) struct Execute;

input!(ExecuteInput {
    code ["script"]: String = "body of an async function, or an expression; its value is returned",
});

impl Op for Execute {
    type Input = ExecuteInput;
    const NAME: &'static str = "execute";
    const TOOL: &'static str = "execute";
    const SET: Set = Set::Playwright;
    const ACCESS: Access = Access::Dangerous;
    const ABOUT: &'static str =
        "Run JavaScript with Playwright's own API: page, context, browser, state (kept), snapshot(), op().";

    async fn run(call: &Call, input: ExecuteInput) -> Result<Output, OpError> {
        let browser = call.browser()?;
        if browser.speaks() == Protocol::Bidi {
            return Err(differences::unsupported(Self::NAME, None).into());
        }
        let seat = call.agent.seat(browser.name());
        Ok(output(seat.run(call, &input.code).await?))
    }
}

pub(crate) struct Reset;

input!(ResetInput {});

impl Op for Reset {
    type Input = ResetInput;
    const NAME: &'static str = "reset";
    const TOOL: &'static str = "reset";
    const SET: Set = Set::Playwright;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "End what execute runs and forget its state; tabs stay.";

    async fn run(call: &Call, _: ResetInput) -> Result<Output, OpError> {
        let had_one = call.agent.seat(call.browser()?.name()).reset().await;
        let text = match had_one {
            true => "The Node process was ended; the next execute starts with an empty `state`.",
            false => "Nothing was running; the next execute starts with an empty `state`.",
        };
        Ok(Output::new(json!({"reset": had_one}), text))
    }
}

fn output(ran: Ran) -> Output {
    let Ran { done, logs, tab, lost } = ran;
    let result = done.value.or_else(|| done.text.map(Value::String));
    let mut text = match &result {
        None if logs.is_empty() => "Done; there is no value.".to_owned(),
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    if done.cut {
        text.push_str("\n[cut]");
    }
    if !logs.is_empty() {
        let lines = logs.iter().map(|log| format!("[{}] {}", log.level, log.text));
        let lines: Vec<String> = lines.collect();
        let gap = if text.is_empty() { "" } else { "\n\n" };
        text.push_str(&format!("{gap}Console:\n{}", lines.join("\n")));
    }
    let mut data = json!({"result": result, "logs": logs, "url": done.url, "tab": tab});
    if done.cut {
        data["cut"] = json!(true);
    }
    if done.dropped > 0 {
        text.push_str(&format!("\n[{} more lines were dropped]", done.dropped));
        data["dropped"] = json!(done.dropped);
    }
    let mut output = Output::new(data, text).from_page(&done.url);
    if let Some(image) = done.image
        && let Ok(bytes) = STANDARD.decode(image.data)
    {
        let mime = if image.mime == "image/jpeg" { "image/jpeg" } else { "image/png" };
        output = output.with(Media { mime, data: bytes.into() });
    }
    if let Some(lost) = lost {
        output.changes.push(format!(
            "A new Node process was started, with an empty `state`; the last one is gone: {lost}"
        ));
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::{Done, Log};

    fn ran(done: Value) -> Ran {
        let logs = vec![Log { level: "warn".to_owned(), text: "careful".to_owned() }];
        let done: Done = serde_json::from_value(done).unwrap();
        Ran { done, logs, tab: "t1".to_owned(), lost: None }
    }

    #[test]
    fn models_read_the_value_then_the_log() {
        let one = output(ran(json!({"value": {"a": 1}, "url": "http://a/", "dropped": 2})));
        assert_eq!(one.text, "{\"a\":1}\n\nConsole:\n[warn] careful\n[2 more lines were dropped]");
        assert_eq!(one.data["result"], json!({"a": 1}));
        assert_eq!(one.page.as_deref(), Some("http://a/"));
        let none = output(ran(json!({"url": "", "dropped": 0})));
        assert_eq!(none.text, "Console:\n[warn] careful");
        assert_eq!(none.data["result"], Value::Null);
        let text = output(Ran {
            logs: Vec::new(),
            ..ran(json!({"text": "Map(0) {}", "cut": true, "url": "", "dropped": 0}))
        });
        assert_eq!(text.text, "Map(0) {}\n[cut]");
        let null = output(Ran { logs: Vec::new(), ..ran(json!({"value": null, "url": "", "dropped": 0})) });
        assert_eq!(null.text, "null");
    }

    #[test]
    fn an_image_is_given_as_one_and_a_lost_state_is_told() {
        let image = json!({"mime": "image/jpeg", "data": "/9j/"});
        let ran = Ran {
            lost: Some("its call was cancelled".to_owned()),
            ..ran(json!({"text": "image/jpeg, 3 bytes", "image": image, "url": "", "dropped": 0}))
        };
        let output = output(ran);
        assert_eq!(output.media, [Media { mime: "image/jpeg", data: vec![0xff, 0xd8, 0xff].into() }]);
        assert!(output.changes[0].ends_with("its call was cancelled"));
    }
}
