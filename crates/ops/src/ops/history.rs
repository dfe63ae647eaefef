//! What the recorder remembers of a tab: console, network, bodies, HAR.

use bowline_hub::recorder::record::{ConsoleRecord, Level, NetworkRecord, Seq};
use bowline_hub::recorder::{filter, har, redact};
use regex::Regex;
use serde_json::{Value, json};

use crate::error::{Code, OpError};
use crate::output::Output;
use crate::registry::{Access, Op, Set};
use crate::request::Call;
use crate::tab::Tab;

/// Records that are shown unless more are asked for.
const LATEST: u64 = 100;

choice!(LevelName {
    Debug = "debug" | "verbose",
    Info = "info" | "log",
    Warn = "warn" | "warning",
    Error = "error",
});

pub(crate) struct Console;

input!(ConsoleInput {
    level: Option<LevelName> = "this level and worse: debug, info, warn or error",
    grep ["filter", "text"]: Option<String> = "regular expression",
    since: Option<u64> = "only after this number",
    max: Option<u64> = "latest so many (100)",
    clear: Option<bool> = "forget them after",
});

impl Op for Console {
    type Input = ConsoleInput;
    const NAME: &'static str = "console";
    const TOOL: &'static str = "browser_console_messages";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "What the tab has logged, also before you came.";

    async fn run(call: &Call, input: ConsoleInput) -> Result<Output, OpError> {
        let tab = recorded(call).await?;
        if input.clear.unwrap_or(false) {
            call.lease(&tab.browser, &tab.target)?;
        }
        let rank = |level: Level| match level {
            Level::Error => 3,
            Level::Warn => 2,
            Level::Info | Level::Log => 1,
            _ => 0,
        };
        let least = match input.level {
            None | Some(LevelName::Debug) => 0,
            Some(LevelName::Info) => 1,
            Some(LevelName::Warn) => 2,
            Some(LevelName::Error) => 3,
        };
        let grep = pattern("console", "grep", input.grep.as_deref())?;
        let (records, total, dropped, latest) = {
            let mut store = call.hub().recorder().store();
            let latest = store.last_seq();
            let found = store.find(&tab.browser, &tab.target);
            let (records, total, dropped, key) = match found {
                Some(found) => {
                    let fits = |record: &&ConsoleRecord| {
                        rank(record.level) >= least
                            && input.since.is_none_or(|since| record.seq > since)
                            && grep.as_ref().is_none_or(|grep| grep.is_match(&record.text))
                    };
                    let records: Vec<ConsoleRecord> = found.console.iter().filter(fits).cloned().collect();
                    (records, found.console.len(), found.console_dropped, Some(found.key))
                }
                None => (Vec::new(), 0, 0, None),
            };
            if let (Some(key), true) = (key, input.clear.unwrap_or(false)) {
                store.clear(key, bowline_hub::recorder::store::Kind::Console);
            }
            (records, total, dropped, latest)
        };
        let records = filter::keep_latest(records, Some(input.max.unwrap_or(LATEST) as usize));
        let lines: Vec<String> = records.iter().map(console_line).collect();
        let mut text = if lines.is_empty() { "nothing was logged".to_owned() } else { lines.join("\n") };
        if records.len() < total {
            text.push_str(&format!("\n({} of {total} records)", records.len()));
        }
        let data = json!({"messages": records, "total": total, "dropped": dropped, "latest": latest});
        Ok(Output::new(data, text).from_page("the tab's console"))
    }
}

fn console_line(record: &ConsoleRecord) -> String {
    let level = serde_json::to_value(record.level).ok().and_then(|level| level.as_str().map(str::to_owned));
    let mut line = format!("[{}] {}", level.unwrap_or_default(), record.text);
    if let Some(location) = &record.location {
        line.push_str(&format!(" ({}:{})", location.url, location.line_number + 1));
    }
    line
}

pub(crate) struct Network;

input!(NetworkInput {
    url ["filter"]: Option<String> = "regular expression for the URL",
    status: Option<String> = "404, 4xx, 400-499, or failed; several with commas",
    kind ["type"]: Option<String> = "document, xhr, fetch, script, image, ...",
    since: Option<u64> = "only after this number",
    max: Option<u64> = "latest so many (100)",
    headers: Option<bool> = "with headers",
    reveal: Option<bool> = "",
    clear: Option<bool> = "",
});

impl Op for Network {
    type Input = NetworkInput;
    const NAME: &'static str = "network";
    const TOOL: &'static str = "browser_network_requests";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str =
        "Requests of the tab, also from before you came. Bodies: see browser_network_body.";

    async fn run(call: &Call, input: NetworkInput) -> Result<Output, OpError> {
        let tab = recorded(call).await?;
        if input.clear.unwrap_or(false) {
            call.lease(&tab.browser, &tab.target)?;
        }
        let mut wish = filter::NetworkFilter {
            url: pattern("network", "url", input.url.as_deref())?,
            resource_types: input
                .kind
                .iter()
                .flat_map(|kinds| kinds.split(','))
                .map(|kind| kind.trim().to_owned())
                .collect(),
            since: input.since,
            ..Default::default()
        };
        for status in input.status.iter().flat_map(|statuses| statuses.split(',')) {
            match status.trim() {
                "failed" => wish.failed = true,
                status => wish.statuses.push(status.parse().map_err(|error: filter::BadStatus| {
                    OpError::bad_input(
                        format!("network: `status`: {error}"),
                        "for example 404, 5xx or failed",
                    )
                })?),
            }
        }
        let (records, total, dropped, latest) = {
            let mut store = call.hub().recorder().store();
            let latest = store.last_seq();
            let found = store.find(&tab.browser, &tab.target);
            let (records, total, dropped, key) = match found {
                Some(found) => {
                    let records: Vec<NetworkRecord> =
                        found.network.iter().filter(|record| wish.matches(record)).cloned().collect();
                    (records, found.network.len(), found.network_dropped, Some(found.key))
                }
                None => (Vec::new(), 0, 0, None),
            };
            if let (Some(key), true) = (key, input.clear.unwrap_or(false)) {
                store.clear(key, bowline_hub::recorder::store::Kind::Network);
            }
            (records, total, dropped, latest)
        };
        let mut records = filter::keep_latest(records, Some(input.max.unwrap_or(LATEST) as usize));
        if !input.reveal.unwrap_or(false) {
            records.iter_mut().for_each(redact::redact);
        }
        let with_headers = input.headers.unwrap_or(false);
        let lines: Vec<String> = records.iter().map(|record| network_line(record, with_headers)).collect();
        let mut text = if lines.is_empty() { "no requests".to_owned() } else { lines.join("\n") };
        if records.len() < total {
            text.push_str(&format!("\n({} of {total} requests)", records.len()));
        }
        let requests: Vec<Value> = records.iter().map(|record| shown(record, with_headers)).collect();
        let data = json!({"requests": requests, "total": total, "dropped": dropped, "latest": latest});
        Ok(Output::new(data, text).from_page("the tab's requests"))
    }
}

/// A request for programs: headers make most of it, and are told only when asked for.
fn shown(record: &NetworkRecord, with_headers: bool) -> Value {
    let mut value = serde_json::to_value(record).unwrap_or_default();
    if let Some(members) = value.as_object_mut().filter(|_| !with_headers) {
        for name in ["headers", "responseHeaders", "timing", "messages"] {
            members.remove(name);
        }
    }
    value
}

fn network_line(record: &NetworkRecord, with_headers: bool) -> String {
    let outcome = match (&record.failure, record.status) {
        (Some(failure), _) => format!("failed: {}", failure.error_text),
        (None, Some(status)) => status.to_string(),
        (None, None) => "pending".to_owned(),
    };
    let size = record.transfer_size.map(|size| format!(" {size} B")).unwrap_or_default();
    let time = record.duration.map(|time| format!(" {time:.0} ms")).unwrap_or_default();
    let mut line = format!(
        "{} {} {} => {outcome} {}{size}{time}",
        record.seq, record.method, record.url, record.resource_type
    );
    if with_headers {
        for (title, headers) in [(">", &record.headers), ("<", &record.response_headers)] {
            for (name, value) in headers.iter() {
                line.push_str(&format!("\n  {title} {name}: {value}"));
            }
        }
    }
    line
}

pub(crate) struct Body;

input!(BodyInput { request ["id", "requestId"]: Value = "number of the request, as browser_network_requests shows it" });

impl Op for Body {
    type Input = BodyInput;
    const NAME: &'static str = "body";
    const TOOL: &'static str = "browser_network_body";
    const SET: Set = Set::Network;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "The response body of a request.";

    async fn run(call: &Call, input: BodyInput) -> Result<Output, OpError> {
        let tab = recorded(call).await?;
        let word = match &input.request {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            other => {
                let message = format!("body: `request`: expected a number, not {other}");
                return Err(OpError::bad_input(message, "take it from the list of requests"));
            }
        };
        let record = {
            let store = call.hub().recorder().store();
            let found = store.find(&tab.browser, &tab.target);
            found.and_then(|found| match word.parse::<Seq>() {
                Ok(seq) => found.request(seq).cloned(),
                Err(_) => found.network.iter().rev().find(|record| record.request_id == word).cloned(),
            })
        };
        let Some(record) = record else {
            let message = format!("there is no request `{word}` in this tab");
            return Err(OpError::new(
                Code::NotFound,
                message,
                "list them with network; old ones may have been dropped",
            ));
        };
        let gone = |reason: &str| {
            let hint = "bodies are kept by the browser while the tab is open";
            OpError::new(Code::NotFound, format!("request {word} has no body: {reason}"), hint)
        };
        let Some(session) = &record.session else { return Err(gone("it was recorded by an earlier hub")) };
        let body = call.hub().recorder().body(&tab.browser, session, &record.request_id).await;
        let body = body.map_err(|error| gone(&error.to_string()))?;
        let data = serde_json::to_value(&body).unwrap_or_default();
        let text = data["body"].as_str().or(data["data"].as_str()).unwrap_or_default().to_owned();
        Ok(Output::new(data, text).from_page(&record.url))
    }
}

pub(crate) struct Har;

input!(HarInput {
    file ["filename", "path"]: Option<String> = "where to save it",
    reveal: Option<bool> = "",
});

impl Op for Har {
    type Input = HarInput;
    const NAME: &'static str = "har";
    const TOOL: &'static str = "browser_har";
    const SET: Set = Set::Network;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "The tab's requests as HAR.";

    async fn run(call: &Call, input: HarInput) -> Result<Output, OpError> {
        let tab = recorded(call).await?;
        let (pages, mut requests) = {
            let store = call.hub().recorder().store();
            match store.find(&tab.browser, &tab.target) {
                Some(found) => (har::pages_of(found), found.network.iter().cloned().collect::<Vec<_>>()),
                None => (Vec::new(), Vec::new()),
            }
        };
        if !input.reveal.unwrap_or(false) {
            requests.iter_mut().for_each(redact::redact);
        }
        let version = call.browser()?.snapshot().version.map(|version| version.product);
        let made = har::har(&pages, &requests, call.hub().version(), version.as_deref());
        let count = requests.len();
        match &input.file {
            Some(file) => {
                let mut path = call.path("file", file.as_ref())?;
                if path.extension().is_none() {
                    path.set_extension("har");
                }
                let content = serde_json::to_vec(&made).unwrap_or_default();
                super::picture::write(&path, &content).await?;
                let data = json!({"requests": count, "file": path.display().to_string()});
                Ok(Output::new(data, format!("{count} requests saved to {}", path.display())))
            }
            None => {
                let text = serde_json::to_string(&made).unwrap_or_default();
                Ok(Output::new(json!({"requests": count, "har": made}), text).from_page("the tab's requests"))
            }
        }
    }
}

/// The tab that is meant, of a browser that is recorded.
async fn recorded(call: &Call) -> Result<Tab, OpError> {
    let tab = call.tab().await?;
    if !call.is_recorded(&tab.browser) {
        let message = format!("browser `{}` is not recorded", tab.browser);
        let hint = "set recorder.enabled = true and restart the hub; a Firefox is not recorded yet";
        return Err(OpError::new(Code::RecorderOff, message, hint));
    }
    Ok(tab)
}

fn pattern(op: &str, field: &str, text: Option<&str>) -> Result<Option<Regex>, OpError> {
    let compile = |text| {
        filter::pattern(text).map_err(|error| {
            OpError::bad_input(format!("{op}: `{field}`: {error}"), "give a regular expression")
        })
    };
    text.map(compile).transpose()
}
