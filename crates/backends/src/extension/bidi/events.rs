//! What the extension tells: the person's rules, and the events of pages that are there for clients.

use bowline_wire::bidi;
use bowline_wire::relay::{self, BidiEvent, Policy};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::contexts::Described;
use super::cookies;
use super::machine::{Machine, Then};
use super::rules;
use crate::extension::policy;

/// Requests whose data may be asked for: those that clients have heard of. The oldest are forgotten.
const REQUESTS: usize = 20_000;

/// What of an event says what it is about.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct About {
    context: Option<String>,
    url: Option<String>,
    realm: Option<String>,
    source: Option<Source>,
    is_blocked: bool,
    navigation: Option<String>,
    request: Option<RequestRef>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Source {
    context: Option<String>,
    realm: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RequestRef {
    request: String,
    url: String,
}

impl Machine {
    pub(super) fn told(&mut self, method: &str, params: &str) {
        let unreadable =
            |error| tracing::warn!(%error, method, "an event of the extension cannot be read; dropped");
        match method {
            "bidiEvent" => match serde_json::from_str::<BidiEvent<'_>>(params) {
                Ok(event) => self.event(&event.method, event.params),
                Err(error) => unreadable(error),
            },
            "state" => match serde_json::from_str::<relay::State>(params) {
                Ok(state) => {
                    if state.dropped > 0 {
                        let events = state.dropped;
                        tracing::warn!(
                            events,
                            "the extension had no room for events while it was not connected"
                        );
                    }
                    self.session = Some(state.session);
                    self.obey(state.policy);
                }
                Err(error) => unreadable(error),
            },
            "policy" => match serde_json::from_str(params) {
                Ok(policy) => self.obey(policy),
                Err(error) => unreadable(error),
            },
            "resumed" => self.policy.paused = false,
            "pong" | "canceled" => {}
            other => {
                tracing::debug!(method = other, "an event of the extension that this version does not know");
            }
        }
    }

    fn obey(&mut self, policy: Policy) {
        self.policy = Policy { sites: std::mem::take(&mut self.policy.sites), ..policy };
        if self.policy.read_only || !rules::has_all_pages_open(&self.policy) {
            for script in std::mem::take(&mut self.preloads) {
                let params = json!({ "script": script }).to_string();
                self.ask(None, "script.removePreloadScript", &params, Then::Answer);
            }
        }
        self.show_changes();
    }

    fn event(&mut self, method: &str, params: &RawValue) {
        let about: About = match serde_json::from_str(params.get()) {
            Ok(about) => about,
            Err(error) => return tracing::warn!(%error, method, "an event that cannot be read; dropped"),
        };
        let source = about.source.unwrap_or_default();
        let context = about.context.or(source.context);
        if let (Some(context), Some(realm)) = (&context, about.realm.or(source.realm)) {
            self.contexts.realm_made(context, &realm);
        }
        match (method, context.as_deref()) {
            ("bowline.chosen", Some(context)) => {
                let fields: Value = serde_json::from_str(params.get()).unwrap_or_default();
                self.contexts.choose(context, fields["chosen"] == true);
                return self.show_changes();
            }
            ("browsingContext.contextCreated", _) => return self.context_came(params.get()),
            ("browsingContext.contextDestroyed", Some(context)) => return self.context_went(context),
            (
                "browsingContext.navigationCommitted"
                | "browsingContext.fragmentNavigated"
                | "browsingContext.historyUpdated"
                | "browsingContext.domContentLoaded"
                | "browsingContext.load",
                Some(context),
            ) => {
                if let Some(url) = &about.url {
                    self.contexts.navigated(context, url);
                    self.show_changes();
                }
            }
            _ => {}
        }
        let request = about.request.unwrap_or_default();
        let is_heard = match &context {
            Some(context) => self.is_shown(context),
            // Of no page: a worker of the browser, or the browser itself.
            None => !method.starts_with("network.") || self.is_open_to_all(&request.url),
        };
        let is_network = method.starts_with("network.");
        // Also after a redirect: its id stays the same.
        let is_closed = is_network && policy::refused_address(&self.policy, &request.url).is_some();
        if is_closed {
            self.heard_requests.0.remove(&request.request);
        }
        if !is_heard {
            return if about.is_blocked {
                self.let_go(method, &request.request)
            };
        }
        // A tab of clients is on its way to a page that is closed to them.
        if is_closed && about.navigation.is_some() {
            if about.is_blocked && method == "network.beforeRequestSent" {
                let params = json!({"request": request.request}).to_string();
                return self.ask(None, "network.failRequest", &params, Then::Answer);
            }
            return if about.is_blocked {
                self.let_go(method, &request.request)
            };
        }
        if !is_network {
            return self.to_hub.push(Bytes::from(bidi::event(method, params.get())));
        }
        if !is_closed {
            self.heard(&request.request);
        }
        let page = context.as_deref().and_then(|context| self.contexts.get(self.contexts.top(context)));
        let page = page.map(|known| known.info.url.as_str()).unwrap_or_default();
        let told = cookies::without_foreign(&self.policy, page, &request.url, params.get());
        self.to_hub.push(Bytes::from(bidi::event(method, &told)));
    }

    /// Whether what happens outside of pages is open to clients.
    fn is_open_to_all(&self, url: &str) -> bool {
        self.policy.mode == relay::Mode::Auto && policy::refused_address(&self.policy, url).is_none()
    }

    fn context_came(&mut self, params: &str) {
        let described: Described = match serde_json::from_str(params) {
            Ok(described) => described,
            Err(error) => return tracing::warn!(%error, "a context that cannot be read; dropped"),
        };
        self.put(described);
        self.show_changes();
    }

    /// A context that is new, or as it is described now. Who opened a tab may be known only at a second look.
    pub(super) fn put(&mut self, described: Described) {
        let context = described.info.context.clone();
        let had_opener =
            self.contexts.get(&context).is_some_and(|known| known.info.original_opener.is_some());
        let opener = described.info.original_opener.clone().filter(|_| !had_opener);
        self.contexts.put(described);
        // A page that is driven has opened it.
        let is_agents = opener.is_some_and(|opener| {
            let opener = self.contexts.top(&opener);
            self.acts.is_driven(opener) || self.contexts.get(opener).is_some_and(|known| known.is_agents)
        });
        if let Some(known) = self.contexts.get_mut(&context).filter(|_| is_agents) {
            known.is_agents = true;
        }
    }

    fn context_went(&mut self, context: &str) {
        self.acts.tab_went(context);
        let gone = self.contexts.remove(context);
        self.tell(gone);
    }

    /// A request of a page that is hidden was held by what a client has set for all pages.
    fn let_go(&mut self, method: &str, request: &str) {
        let (go_on, params) = match method {
            "network.beforeRequestSent" => ("network.continueRequest", json!({"request": request})),
            "network.responseStarted" => ("network.continueResponse", json!({"request": request})),
            "network.authRequired" => {
                ("network.continueWithAuth", json!({"request": request, "action": "default"}))
            }
            _ => return,
        };
        self.ask(None, go_on, &params.to_string(), Then::Answer);
    }

    fn heard(&mut self, request: &str) {
        let (known, order) = &mut self.heard_requests;
        if request.is_empty() || !known.insert(request.to_owned()) {
            return;
        }
        order.push_back(request.to_owned());
        if order.len() > REQUESTS
            && let Some(oldest) = order.pop_front()
        {
            known.remove(&oldest);
        }
    }
}
