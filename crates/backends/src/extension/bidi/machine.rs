//! Between the hub's BiDi session and the extension: commands one way, answers and events the other. Nothing passes that
//! the person has not allowed, and what they have hidden is not there. No I/O.

use std::collections::{HashMap, HashSet, VecDeque};

use bowline_wire::bidi::{self, Asker, Refusal};
use bowline_wire::relay::{self, Policy};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::acts::{Acts, Deed};
use super::aims::Aims;
use super::contexts::{Change, Contexts};
use super::files::Reading;
use super::rules;

/// A command that was asked over a connection that is no more.
const LOST: &str =
    "the extension's connection broke before it answered; the command may have been carried out";

/// What private windows have their cookies in.
pub(super) const PRIVATE: &str = "firefox-private";

pub(super) struct Machine {
    pub(super) to_hub: Vec<Bytes>,
    pub(super) to_extension: Vec<Bytes>,
    pub(super) policy: Policy,
    pub(super) acts: Acts,
    /// Commands that wait for files to be read.
    pub(super) readings: Vec<Reading>,
    pub(super) now: Instant,
    /// What the extension says of the session of before, once it has said so.
    pub(super) session: Option<relay::Session>,
    pub(super) contexts: Contexts,
    pub(super) heard_requests: (HashSet<String>, VecDeque<String>),
    /// Scripts of clients that run in every new document.
    pub(super) preloads: Vec<String>,
    pub(super) pending: HashMap<u64, Pending>,
    last_request: u64,
}

pub(super) struct Pending {
    /// The hub's own id of the command; absent if nobody waits.
    pub(super) id: Option<u64>,
    pub(super) then: Then,
}

/// What an answer of the extension is for.
pub(super) enum Then {
    Answer,
    Tree,
    /// All there is, after events may have been missed.
    Resync,
    /// A new tab of a client.
    Made,
    Realms,
    /// Tells which realm a script ran in.
    Ran {
        context: String,
    },
    Cookies {
        page: Option<String>,
    },
    Preloaded,
    UserContexts,
}

/// A command of the hub.
#[derive(Deserialize)]
struct Asked<'a> {
    id: u64,
    #[serde(borrow)]
    method: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    params: &'a RawValue,
    /// Absent if the hub asks for itself.
    #[serde(rename = "bowline:client")]
    asker: Option<Asker>,
}

impl Machine {
    pub(super) fn new(policy: Policy, now: Instant) -> Self {
        Self {
            to_hub: Vec::new(),
            to_extension: Vec::new(),
            policy,
            acts: Acts::default(),
            readings: Vec::new(),
            now,
            session: None,
            contexts: Contexts::default(),
            heard_requests: Default::default(),
            preloads: Vec::new(),
            pending: HashMap::new(),
            last_request: 0,
        }
    }

    /// A message of the hub.
    pub(super) fn command(&mut self, text: &str) {
        let Ok(Asked { id, method, params, asker }) = serde_json::from_str::<Asked<'_>>(text) else {
            tracing::warn!("a command that cannot be read; dropped");
            return;
        };
        let read = serde_json::from_str::<Value>(params.get()).ok().filter(Value::is_object);
        let Some(asker) = asker else {
            let fields = read.unwrap_or_default();
            let then = self.then(&method, &fields);
            match &*method {
                bidi::LEFT => {
                    self.acts.client_left(fields["client"].as_u64().unwrap_or_default());
                    self.acts.tell_again();
                    return self.succeed(id, "{}");
                }
                // A hub that was here before may have left one.
                "session.new" => self.ask(None, "session.end", "{}", Then::Answer),
                _ => {}
            }
            return self.ask(Some(id), &method, params.get(), then);
        };
        // JavaScript reads what we may not, such as half a character: nobody would have looked at it.
        let Some(fields) = read else {
            return self.fail(id, &Refusal::new("invalid argument", "the parameters cannot be read"));
        };
        let then = match &*method {
            "script.addPreloadScript" => Then::Preloaded,
            method => self.then(method, &fields),
        };
        let aims = match self.admit(&method, &fields) {
            Ok(aims) => aims,
            Err(refusal) => return self.fail(id, &refusal),
        };
        let refused = rules::refused(&self.policy, &asker, &method, &fields);
        self.note(&asker, &aims, &method, &fields, refused.as_deref());
        if let Some(reason) = refused {
            return self.fail(id, &Refusal::new("unknown error", reason));
        }
        if method == "input.setFiles" {
            return self.readings.push(Reading::new(id, fields));
        }
        // What was looked at is what is sent.
        self.ask(Some(id), &method, &fields.to_string(), then);
    }

    /// Files have been read, or not.
    pub(super) fn read(&mut self, id: u64, files: Result<Value, Refusal>) {
        match files {
            Ok(params) => self.ask(Some(id), "input.setFiles", &params.to_string(), Then::Answer),
            Err(refusal) => self.fail(id, &refusal),
        }
    }

    fn then(&self, method: &str, params: &Value) -> Then {
        let page = |context: &Value| self.contexts.get(context.as_str()?).map(|known| known.info.url.clone());
        match method {
            "browsingContext.getTree" => Then::Tree,
            "browsingContext.create" => Then::Made,
            "browser.getUserContexts" => Then::UserContexts,
            "script.getRealms" => Then::Realms,
            "script.evaluate" | "script.callFunction" => match params["target"]["context"].as_str() {
                Some(context) => Then::Ran { context: context.to_owned() },
                None => Then::Answer,
            },
            "storage.getCookies" => Then::Cookies { page: page(&params["partition"]["context"]) },
            _ => Then::Answer,
        }
    }

    /// What a client's command aims at must be there for it.
    fn admit(&self, method: &str, params: &Value) -> Result<Aims, Refusal> {
        let mut aims = Aims::of(params).map_err(|message| Refusal::new("invalid argument", message))?;
        for realm in &aims.realms {
            let known = self.contexts.of_realm(realm);
            if known.is_empty() {
                return Err(Refusal::new("no such frame", format!("Realm with id {realm} not found")));
            }
            aims.contexts.extend(known);
        }
        if let Some(hidden) = aims.contexts.iter().find(|context| !self.is_shown(context)) {
            return Err(Refusal::new(
                "no such frame",
                format!("Browsing Context with id {hidden} not found"),
            ));
        }
        if aims.user_contexts.iter().any(|user_context| user_context == PRIVATE) {
            let message = format!("User Context with id {PRIVATE} was not found");
            return Err(Refusal::new("no such user context", message));
        }
        let request = params["request"].as_str().unwrap_or_default();
        if method == "network.getData" && !self.heard_requests.0.contains(request) {
            return Err(Refusal::new("no such network data", format!("there is no request {request}")));
        }
        Ok(aims)
    }

    fn note(&mut self, asker: &Asker, aims: &Aims, method: &str, params: &Value, refused: Option<&str>) {
        let context = aims.contexts.first().map(String::as_str).unwrap_or_default();
        let tab = self.contexts.top(context);
        let page = self.contexts.get(tab).map(|known| known.info.url.as_str()).unwrap_or_default();
        self.acts.note(&Deed { asker, tab, page, method, params, refused }, self.now);
    }

    pub(super) fn is_shown(&self, context: &str) -> bool {
        self.contexts.is_shown(&self.policy, context)
    }

    /// A frame of the extension.
    pub(super) fn frame(&mut self, text: &str) {
        let messages = match relay::read_frame(text) {
            Ok(messages) => messages,
            Err(error) => {
                tracing::warn!(%error, "a message of the extension cannot be read; dropped");
                return;
            }
        };
        for message in messages {
            match (message.id, message.method) {
                (Some(id), _) => {
                    let result = match message.error {
                        Some(error) => Err(refusal(error)),
                        None => Ok(message.result.map_or("{}", RawValue::get)),
                    };
                    self.answered(id, result);
                }
                (None, Some(method)) => self.told(&method, message.params.map_or("{}", RawValue::get)),
                (None, None) => {}
            }
        }
    }

    pub(super) fn show_changes(&mut self) {
        let changes = self.contexts.changes(&self.policy);
        self.tell(changes);
    }

    pub(super) fn tell(&mut self, changes: Vec<Change>) {
        for change in changes {
            let (method, info) = match change {
                Change::Came(info) => ("browsingContext.contextCreated", info),
                Change::Went(info) => {
                    // Nobody drives what is not there: its dialogs are the person's again.
                    self.acts.tab_went(&info.context);
                    ("browsingContext.contextDestroyed", info)
                }
            };
            self.to_hub.push(Bytes::from(bidi::event(method, &json!(info).to_string())));
        }
    }

    /// The extension is here again, with the session of before.
    pub(super) fn resync(&mut self) {
        self.ask(None, "browsingContext.getTree", "{}", Then::Resync);
    }

    /// Whether the tabs of before may have gone elsewhere.
    pub(super) fn is_resyncing(&self) -> bool {
        self.pending.values().any(|pending| matches!(pending.then, Then::Resync))
    }

    /// The extension's connection has ended; what it was asked will not be answered.
    pub(super) fn relay_lost(&mut self) {
        self.session = None;
        self.acts.forget_told();
        self.to_extension.clear();
        let mut lost: Vec<(u64, Pending)> = self.pending.drain().collect();
        lost.sort_unstable_by_key(|(request, _)| *request);
        for id in lost.into_iter().filter_map(|(_, pending)| pending.id) {
            self.fail(id, &Refusal::new("unknown error", LOST));
        }
    }

    /// Tells the extension who drives which tab, if that has changed.
    pub(super) fn tell_drivers(&mut self) {
        if let Some(drivers) = self.acts.drivers_to_tell() {
            self.to_extension.push(Bytes::from(format!("{{\"method\":\"drivers\",\"params\":{drivers}}}")));
        }
    }

    /// Nobody is there for the session any more.
    pub(super) fn last_words(&mut self) -> Vec<Bytes> {
        self.to_extension.clear();
        self.ask(None, "session.end", "{}", Then::Answer);
        std::mem::take(&mut self.to_extension)
    }

    pub(super) fn ask(&mut self, id: Option<u64>, method: &str, params: &str, then: Then) {
        self.last_request += 1;
        self.pending.insert(self.last_request, Pending { id, then });
        let message = format!(
            "{{\"id\":{},\"method\":\"bidi\",\"params\":{{\"method\":{},\"params\":{params}}}}}",
            self.last_request,
            json!(method)
        );
        self.to_extension.push(Bytes::from(message));
    }

    /// Says for the extension that the browser is there.
    pub(super) fn answer_probe(&mut self, id: u64) {
        self.succeed(id, r#"{"ready":false,"message":"waiting for the extension"}"#);
    }

    pub(super) fn succeed(&mut self, id: u64, result: &str) {
        self.to_hub.push(Bytes::from(bidi::success(id, result)));
    }

    pub(super) fn fail(&mut self, id: u64, refusal: &Refusal) {
        self.to_hub.push(Bytes::from(bidi::failure(Some(id), refusal)));
    }
}

/// What an error of the extension says: JSON in a string, or words.
fn refusal(error: &RawValue) -> Refusal {
    let text = serde_json::from_str::<String>(error.get()).unwrap_or_else(|_| error.get().to_owned());
    serde_json::from_str(&text).unwrap_or_else(|_| Refusal::new("unknown error", text))
}
