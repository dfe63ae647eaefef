//! Commands of a page, frame or worker that several clients share: what waits, what goes to the browser.

use std::time::Duration;

use bowline_wire::relay::TabId;
use bowline_wire::reply;
use serde_json::{Map, Value, json};

use super::keep::Call;
use super::machine::{Alarm, INVALID_PARAMS, Machine, Then};
use super::node::{Context, NodeId, Phase, Queued};
use super::policy;
use super::session::SessionKey;
use super::wishes::{Rule, is_patient, is_refused, rule};

const BACKGROUND: &str = "Emulation.setDefaultBackgroundColorOverride";
/// How long a screenshot or a click may take before the page is made to draw.
const REDRAW: Duration = Duration::from_millis(80);

/// Chromium aborts it for as long as an extension's debugger is on the tab.
const NO_DATA: &str = "a data: address cannot be opened in a tab that is driven through an extension; set the content of about:blank instead (page.setContent, Page.setDocumentContent)";
/// Commands that wait for a tab to be attached; beyond it they are refused.
const MOST_WAITING: usize = 10_000;

/// A request that may wait for its tab to draw.
#[derive(Debug)]
pub(super) struct Undrawn {
    tab: TabId,
    request: u64,
    waited: Duration,
}

impl Machine {
    pub(super) fn page_command(
        &mut self,
        key: &SessionKey,
        node: NodeId,
        id: i32,
        method: &str,
        params: Option<&str>,
    ) {
        let Some(real) = self.nodes.get(&node) else {
            return self.out.fail(key, id, reply::SESSION_NOT_FOUND, reply::SESSION_NOT_FOUND_TEXT);
        };
        if real.phase == Phase::Attaching {
            return self.wait(node, key, id, method, params);
        }
        let phase = real.phase;
        let known = rule(method).filter(|known| {
            let is_switch = matches!(known, Rule::Enable | Rule::Disable);
            phase == Phase::Ready || !is_switch || is_patient(domain_of(method))
        });
        let page = self.tabs.get(&real.tab).map(|tab| tab.info.url.clone()).unwrap_or_default();
        let tab = real.tab;
        let checked = match policy::readable(&self.policy, method, params) {
            Ok(checked) => checked,
            Err(reason) => return self.out.fail(key, id, INVALID_PARAMS, &reason),
        };
        let params = checked.as_deref().or(params);
        let refused = policy::refused_command(&self.policy, &page, method, params);
        self.note(key, Some(tab), method, params, refused.as_deref());
        if let Some(reason) = refused {
            return self.out.fail(key, id, reply::SERVER_ERROR, &reason);
        }
        let forced = if self.policy.read_only { policy::without_effects(method, params) } else { None };
        let forced = forced.or_else(|| policy::own_cookies(&self.policy, &page, method, params));
        let params = forced.as_deref().or(params);
        if let Some(session) = self.sessions.get_mut(key)
            && !session.touched.contains(domain_of(method))
        {
            session.touched.insert(domain_of(method).to_owned());
        }
        if phase == Phase::Idle && is_refused(domain_of(method)) {
            return self.not_found(key, id, method);
        }
        match known {
            Some(rule) => {
                let params = params.unwrap_or("{}");
                self.wish(Call { node, key, id: Some(id), rule, method, params });
            }
            None => self.act(node, key, id, method, params),
        }
    }

    fn wait(&mut self, node: NodeId, key: &SessionKey, id: i32, method: &str, params: Option<&str>) {
        let Some(real) = self.nodes.get_mut(&node) else { return };
        if real.queue.len() >= MOST_WAITING {
            let message = format!("{MOST_WAITING} commands wait for this tab already");
            return self.out.fail(key, id, reply::SERVER_ERROR, &message);
        }
        let (method, params) = (method.to_owned(), params.map(str::to_owned));
        real.queue.push_back(Queued { session: key.clone(), id, method, params });
    }

    /// A command that needs the page itself.
    pub(super) fn act(
        &mut self,
        node: NodeId,
        key: &SessionKey,
        id: i32,
        method: &str,
        params: Option<&str>,
    ) {
        if let Some(reason) = self.cancelled_text(key) {
            return self.out.fail(key, id, reply::SERVER_ERROR, &reason);
        }
        let Some(real) = self.nodes.get(&node) else { return };
        let (tab, is_idle, is_tab) = (real.tab, real.phase == Phase::Idle, real.child.is_none());
        let now = self.now;
        if let Some(session) = self.sessions.get_mut(key) {
            self.drivers_changed |= !session.drives;
            session.drives = true;
            if session.is_own && session.last_use + std::time::Duration::from_secs(1) < now {
                session.last_use = now;
                self.schedule_detach(node);
            }
        }
        match method {
            "Page.close" if is_tab => {
                let then = Then::Done { session: key.clone(), id, result: "{}" };
                return self.ask("closeTab", &json!({"tabId": tab}).to_string(), then);
            }
            "Page.bringToFront" if is_tab => {
                let then = Then::Done { session: key.clone(), id, result: "{}" };
                return self.ask("activateTab", &json!({"tabId": tab}).to_string(), then);
            }
            _ => {}
        }
        if is_idle {
            self.wait(node, key, id, method, params);
            return self.attach(node);
        }
        if method.starts_with("Fetch.") && self.intercepted(node, key, id, method, params) {
            return;
        }
        let mapped = self.with_real_context(node, key, method, params);
        let params = mapped.as_deref().or(params).unwrap_or("{}");
        let casting =
            self.nodes.get(&node).and_then(|real| real.casting.clone()).filter(|owner| owner != key);
        match (method, casting) {
            ("Page.startScreencast", Some(_)) => {
                return self.out.fail(key, id, reply::SERVER_ERROR, "another client casts this page");
            }
            ("Page.stopScreencast", Some(_)) => return self.out.reply(key, id, "{}"),
            _ => {}
        }
        let mut was_lit = false;
        if let Some(real) = self.nodes.get_mut(&node) {
            match method {
                "Page.startScreencast" => {
                    real.casting = Some(key.clone());
                    was_lit = std::mem::take(&mut real.is_lit);
                }
                "Page.stopScreencast" => real.casting = None,
                "Runtime.discardConsoleEntries" | "Log.clear" => {
                    real.memory.remove(domain_of(method));
                }
                _ => {}
            }
        }
        if was_lit {
            self.send(node, "Page.stopScreencast", "{}", Then::Ignore);
        }
        let session = key.clone();
        if self.policy.read_only && matches!(method, "Runtime.evaluate" | "Runtime.callFunctionOn") {
            return self.send(node, method, params, Then::Read { session, id });
        }
        if method == "Tracing.start" {
            return self.send(node, method, params, Then::Traced { session, id });
        }
        if method == "Page.navigate" && is_tab && is_data(params) {
            return self.out.fail(key, id, reply::SERVER_ERROR, NO_DATA);
        }
        self.send(node, method, params, Then::Answer { session, id });
        let draws = method == "Page.captureScreenshot" || method.starts_with("Input.dispatch");
        if draws {
            let request = self.latest_request();
            self.alarm(REDRAW, Alarm::Redraw(Undrawn { tab, request, waited: REDRAW }));
        }
        if method == "Page.stopScreencast" {
            self.light(node);
        }
    }

    /// A tab behind another one draws a frame in a second at most, once it has drawn a few that nobody saw, and
    /// whatever waits for frames waits as long. While somebody looks it draws as in front: so the hub has it cast to
    /// a picture of two pixels, of which it takes none.
    pub(super) fn light(&mut self, node: NodeId) {
        let Some(real) = self.nodes.get_mut(&node).filter(|real| real.is_open && real.child.is_none()) else {
            return;
        };
        let is_behind = self.tabs.get(&real.tab).is_some_and(|tab| !tab.info.active);
        let wants = is_behind && real.casting.is_none();
        if std::mem::replace(&mut real.is_lit, wants) == wants {
            return;
        }
        if wants {
            let cast = r#"{"format":"jpeg","quality":1,"maxWidth":2,"maxHeight":2,"everyNthFrame":1}"#;
            self.send(node, "Page.startScreencast", cast, Then::Ignore);
        } else if self.nodes.get(&node).is_some_and(|real| real.casting.is_none()) {
            self.send(node, "Page.stopScreencast", "{}", Then::Ignore);
        }
    }

    /// A tab behind another one draws nothing as long as nothing changes, and screenshots and input wait for it
    /// to draw. So it is given a reason: the colour behind the page changes and changes back.
    pub(super) fn redraw(&mut self, undrawn: Undrawn) {
        let Undrawn { tab, request, waited } = undrawn;
        let Some(node) = self.tabs.get(&tab).map(|tab| tab.node) else { return };
        let Some(real) = self.nodes.get(&node).filter(|real| real.phase == Phase::Ready) else { return };
        if !self.is_under_way(request) {
            return;
        }
        let wished = real.settings.get(BACKGROUND).cloned();
        let nearly_white = r#"{"color":{"r":255,"g":255,"b":254,"a":1}}"#;
        self.send(node, BACKGROUND, nearly_white, Then::Ignore);
        self.send(node, BACKGROUND, wished.as_deref().unwrap_or("{}"), Then::Ignore);
        // Something else may be in the way, a dialog for example.
        let waited = (waited * 2).min(Duration::from_secs(2));
        self.alarm(waited, Alarm::Redraw(Undrawn { tab, request, waited }));
    }

    /// Puts the real execution context in the place of one that was promised.
    pub(super) fn with_real_context(
        &self,
        node: NodeId,
        key: &SessionKey,
        method: &str,
        params: Option<&str>,
    ) -> Option<String> {
        let session = self.sessions.get(key).filter(|session| !session.promised.is_empty())?;
        let field = match method {
            "Runtime.evaluate" => "contextId",
            "Runtime.callFunctionOn"
            | "Runtime.compileScript"
            | "Runtime.runScript"
            | "Runtime.addBinding"
            | "Runtime.globalLexicalScopeNames"
            | "DOM.resolveNode" => "executionContextId",
            _ => return None,
        };
        let mut fields: Map<String, Value> = serde_json::from_str(params?).ok()?;
        let unique = fields.get("uniqueContextId").and_then(Value::as_str);
        let unique = unique.and_then(|text| text.split('.').next()).and_then(|text| text.parse().ok());
        let meant = fields.get(field).and_then(Value::as_i64).or(unique)?;
        let promised = session.promised.iter().find(|known| known.id == meant)?;
        let contexts = self.nodes.get(&node).map(|real| real.contexts.as_slice()).unwrap_or_default();
        let same = |context: &&Context| {
            context.frame == promised.frame
                && context.is_default == promised.is_default
                && context.name == promised.name
        };
        let real = promised.real.or_else(|| contexts.iter().find(same).map(|context| context.id))?;
        fields.remove("uniqueContextId");
        fields.insert(field.to_owned(), json!(real));
        Some(Value::Object(fields).to_string())
    }
}

fn is_data(params: &str) -> bool {
    let fields: Map<String, Value> = serde_json::from_str(params).unwrap_or_default();
    let url = fields.get("url").and_then(Value::as_str).unwrap_or_default();
    url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

pub(super) fn domain_of(method: &str) -> &str {
    method.split_once('.').map_or(method, |(domain, _)| domain)
}
