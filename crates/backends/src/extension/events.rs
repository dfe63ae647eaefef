//! Events of a page, frame or worker: what is remembered of them, and who hears them.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::machine::Machine;
use super::node::{Context, Lifecycle, NodeId, Phase, is_remembered};
use super::page::domain_of;
use super::session::Session;
use bowline_wire::origins::origin;

/// Requests to other sites whose answers are still to come.
const MOST_FOREIGN: usize = 1000;
/// Events of frames that are kept until the tree is there.
const MOST_EARLY: usize = 5000;

impl Machine {
    /// An event of the browser.
    pub(super) fn page_event(&mut self, node: NodeId, method: &str, params: &str) {
        let domain = domain_of(method);
        match domain {
            "Target" => return self.child_event(node, method, params),
            "Runtime" if self.context_event(node, method, params) => return,
            "Page" if self.frame_event(node, method, params) => return,
            "Fetch" => return self.request_paused(node, method, params),
            "Tracing" => {
                let owner = self.nodes.get(&node).and_then(|real| real.tracing.clone());
                if let Some(owner) = owner {
                    self.out.event(&owner, method, params);
                }
                return;
            }
            _ => {}
        }
        if let Some(name) = is_remembered(method)
            && let Some(real) = self.nodes.get_mut(&node)
        {
            real.memory.entry(domain.to_owned()).or_default().add(name, params);
        }
        if method == "CSS.styleSheetRemoved"
            && let Some(real) = self.nodes.get_mut(&node)
            && let Some(memory) = real.memory.get_mut("CSS")
            && let Some(id) = serde_json::from_str::<Map<String, Value>>(params)
                .ok()
                .and_then(|mut map| map.remove("styleSheetId"))
        {
            memory.forget(|params| params.contains(&format!("\"styleSheetId\":{id}")));
        }
        let without_cookies = self.without_foreign_cookies(node, method, params);
        let Some(real) = self.nodes.get(&node) else { return };
        for key in &real.sessions {
            let Some(session) = self.sessions.get(key) else { continue };
            let params = without_cookies.as_deref().filter(|_| !session.is_own).unwrap_or(params);
            let is_heard = session.hears(domain)
                || domain == "Inspector"
                || (!real.enabled.contains_key(domain) && session.touched.contains(domain));
            if is_heard {
                match translated(session, method, params) {
                    Some(params) => self.out.event(key, method, &params),
                    None => self.out.event(key, method, params),
                }
            }
        }
    }

    /// The headers of a request to another site than the page's, without its cookies, unless all cookies are allowed:
    /// a page can be made to ask any site for something.
    fn without_foreign_cookies(&mut self, node: NodeId, method: &str, params: &str) -> Option<String> {
        let is_request = method == "Network.requestWillBeSentExtraInfo";
        if self.policy.allow_cookies || !(is_request || method == "Network.responseReceivedExtraInfo") {
            return None;
        }
        let mut fields: Map<String, Value> = serde_json::from_str(params).ok()?;
        let request = fields.get("requestId")?.as_str()?.to_owned();
        let real = self.nodes.get_mut(&node)?;
        let page = self.tabs.get(&real.tab).map(|tab| origin(&tab.info.url)).unwrap_or_default();
        let page = page.split("://").last().unwrap_or_default();
        let Some(Value::Object(headers)) = fields.get_mut("headers") else { return None };
        if is_request {
            let named = |wanted: &str| headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            let host =
                named(":authority").or(named("host")).and_then(|(_, host)| host.as_str()).unwrap_or_default();
            if host == page {
                return None;
            }
            headers.retain(|name, _| !name.eq_ignore_ascii_case("cookie"));
            fields.insert("associatedCookies".to_owned(), json!([]));
            real.foreign.push_back(request);
            if real.foreign.len() > MOST_FOREIGN {
                real.foreign.pop_front();
            }
        } else {
            if !real.foreign.contains(&request) {
                return None;
            }
            headers.retain(|name, _| !name.eq_ignore_ascii_case("set-cookie"));
            fields.remove("headersText");
            for list in ["blockedCookies", "exemptedCookies"] {
                fields.insert(list.to_owned(), json!([]));
            }
        }
        Some(Value::Object(fields).to_string())
    }

    /// Events of execution contexts and bindings. Tells whether that was all.
    fn context_event(&mut self, node: NodeId, method: &str, params: &str) -> bool {
        let Some(real) = self.nodes.get_mut(&node) else { return true };
        match method {
            "Runtime.executionContextCreated" => {
                let Some(context) = Context::read(params) else { return false };
                real.contexts.retain(|known| known.id != context.id);
                for key in &real.sessions {
                    let Some(session) = self.sessions.get_mut(key).filter(|session| session.hears("Runtime"))
                    else {
                        continue;
                    };
                    let fits = |known: &&mut super::session::Promised| {
                        known.real.is_none_or(|real| real == context.id)
                            && known.frame == context.frame
                            && known.is_default == context.is_default
                            && known.name == context.name
                    };
                    match session.promised.iter_mut().find(fits) {
                        Some(known) => known.real = Some(context.id),
                        None => self.out.event(key, method, params),
                    }
                }
                real.contexts.push(context);
                true
            }
            "Runtime.executionContextDestroyed" => {
                #[derive(Deserialize)]
                #[serde(rename_all = "camelCase")]
                struct Gone {
                    execution_context_id: i64,
                }
                if let Ok(gone) = serde_json::from_str::<Gone>(params) {
                    real.contexts.retain(|context| context.id != gone.execution_context_id);
                    for key in &real.sessions {
                        let Some(session) =
                            self.sessions.get_mut(key).filter(|session| session.hears("Runtime"))
                        else {
                            continue;
                        };
                        match translated(session, method, params) {
                            Some(params) => self.out.event(key, method, &params),
                            None => self.out.event(key, method, params),
                        }
                        session.promised.retain(|known| known.real != Some(gone.execution_context_id));
                    }
                }
                true
            }
            "Runtime.executionContextsCleared" => {
                real.contexts.clear();
                real.memory.remove("Runtime");
                real.memory.remove("Debugger");
                for key in &real.sessions {
                    if let Some(session) = self.sessions.get_mut(key) {
                        session.promised.clear();
                    }
                }
                false
            }
            "Runtime.bindingCalled" => {
                #[derive(Deserialize)]
                struct Called {
                    name: String,
                }
                let Ok(Called { name }) = serde_json::from_str(params) else { return false };
                for key in &real.sessions {
                    let Some(session) = self.sessions.get(key) else { continue };
                    if session.hears("Runtime") && session.bindings.contains(&name) {
                        match translated(session, method, params) {
                            Some(params) => self.out.event(key, method, &params),
                            None => self.out.event(key, method, params),
                        }
                    }
                }
                true
            }
            _ => false,
        }
    }

    /// Events of frames and of what only some sessions asked for. Tells whether that was all.
    fn frame_event(&mut self, node: NodeId, method: &str, params: &str) -> bool {
        let Some(real) = self.nodes.get_mut(&node) else { return true };
        let to_some = |machine: &mut Self, wants: &dyn Fn(&Session) -> bool| {
            let Some(real) = machine.nodes.get(&node) else { return };
            for key in &real.sessions {
                if machine.sessions.get(key).is_some_and(|session| session.hears("Page") && wants(session)) {
                    machine.out.event(key, method, params);
                }
            }
        };
        match method {
            "Page.frameAttached"
            | "Page.frameDetached"
            | "Page.frameNavigated"
            | "Page.navigatedWithinDocument" => {
                if let Some(early) = real.early.as_mut().filter(|early| early.len() < MOST_EARLY) {
                    early.push((method.to_owned(), params.to_owned()));
                    // Those who know a tree are told the difference when it is there.
                    return real.frames.is_empty() && real.phase == Phase::Attaching;
                }
                let Ok(raw) = serde_json::from_str::<&RawValue>(params) else { return false };
                match method {
                    "Page.frameAttached" => real.frames.attached(raw),
                    "Page.frameDetached" => {
                        real.frames.detached(raw);
                        real.forget_lifecycles();
                    }
                    "Page.frameNavigated" => {
                        let is_main = real.frames.navigated(raw);
                        if is_main {
                            real.memory.remove("CSS");
                        }
                        if let Some(loader) = real
                            .frames
                            .main_body()
                            .and_then(|body| body.get("loaderId"))
                            .and_then(Value::as_str)
                            .map(str::to_owned)
                            && is_main
                            && let Some(main) = real.frames.main().map(str::to_owned)
                        {
                            real.new_document(&main, &loader);
                        }
                    }
                    _ => real.frames.moved_within_document(raw),
                }
                false
            }
            "Page.lifecycleEvent" => {
                if let Some(event) = Lifecycle::read(params) {
                    if event.name == "init" {
                        real.lifecycle.retain(|known| known.frame != event.frame);
                    }
                    real.lifecycle.retain(|known| known.frame != event.frame || known.name != event.name);
                    real.lifecycle.push(event);
                }
                to_some(self, &|session| session.lifecycle);
                true
            }
            "Page.fileChooserOpened" => {
                let wants = |session: &Session| {
                    session.wishes.iter().any(|wish| {
                        wish.key == "Page.setInterceptFileChooserDialog" && wish.params.contains("true")
                    })
                };
                to_some(self, &wants);
                true
            }
            "Page.screencastFrame" | "Page.screencastVisibilityChanged" => {
                if let Some(owner) = &real.casting {
                    self.out.event(owner, method, params);
                }
                true
            }
            "Page.downloadWillBegin" => {
                self.download_began(params);
                false
            }
            "Page.downloadProgress" => {
                self.download_progressed(params);
                false
            }
            _ => false,
        }
    }
}

/// An event for a session that knows an execution context under an id of ours.
fn translated(session: &Session, method: &str, params: &str) -> Option<String> {
    if session.promised.is_empty() {
        return None;
    }
    let of = |fields: &Map<String, Value>| {
        let real = fields.get("executionContextId").and_then(Value::as_i64)?;
        session.promised.iter().find(|known| known.real == Some(real)).map(|known| known.id)
    };
    let mut fields: Map<String, Value>;
    match method {
        "Runtime.consoleAPICalled"
        | "Runtime.bindingCalled"
        | "Runtime.inspectRequested"
        | "Runtime.executionContextDestroyed" => {
            fields = serde_json::from_str(params).ok()?;
            let id = of(&fields)?;
            fields.insert("executionContextId".to_owned(), json!(id));
            if method == "Runtime.executionContextDestroyed" {
                fields.insert("executionContextUniqueId".to_owned(), json!(format!("{id}.{id}")));
            }
        }
        "Runtime.exceptionThrown" => {
            fields = serde_json::from_str(params).ok()?;
            let Some(Value::Object(details)) = fields.get_mut("exceptionDetails") else { return None };
            let id = of(details)?;
            details.insert("executionContextId".to_owned(), json!(id));
        }
        _ => return None,
    }
    Some(Value::Object(fields).to_string())
}
