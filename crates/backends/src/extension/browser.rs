//! `Browser.*`: the version, windows and downloads. What an extension cannot do is refused in words.

use bowline_wire::relay::Window;
use bowline_wire::reply;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::machine::{INVALID_PARAMS, Machine, Refusal, Then};
use super::policy;
use super::session::{DownloadBehavior, Place, SessionKey};

impl Machine {
    pub(super) fn browser_command(
        &mut self,
        session: &SessionKey,
        place: Place,
        id: i32,
        method: &str,
        params: Option<&str>,
    ) {
        let acts = matches!(method, "Browser.setWindowBounds" | "Browser.cancelDownload");
        if acts && self.policy.read_only {
            let reason = policy::refused_reading(method);
            self.note(session, None, method, params, Some(&reason));
            return self.out.fail(session, id, reply::SERVER_ERROR, &reason);
        }
        match method {
            "Browser.getVersion" => {
                let visitor = &self.visitor;
                let version = json!({
                    "protocolVersion": "1.3",
                    "product": format!("Chrome/{}", visitor.browser_version),
                    "revision": "",
                    "userAgent": visitor.user_agent,
                    "jsVersion": "",
                });
                self.out.reply_value(session, id, &version);
            }
            "Browser.setDownloadBehavior" => {
                let behavior: DownloadBehavior = match serde_json::from_str(params.unwrap_or("{}")) {
                    Ok(behavior) => behavior,
                    Err(error) => {
                        return self.out.fail(session, id, INVALID_PARAMS, &format!("Invalid parameters: {error}"));
                    }
                };
                if let Some(own) = self.sessions.get_mut(session) {
                    own.downloads = (behavior.behavior != "default" || behavior.events_enabled).then_some(behavior);
                }
                self.out.reply(session, id, "{}");
            }
            "Browser.cancelDownload" => {
                #[derive(Deserialize)]
                struct Cancel {
                    guid: String,
                }
                match serde_json::from_str::<Cancel>(params.unwrap_or("{}")) {
                    Ok(Cancel { guid }) => self.cancel_download(session, id, &guid),
                    Err(error) => self.out.fail(session, id, INVALID_PARAMS, &format!("Invalid parameters: {error}")),
                }
            }
            "Browser.getWindowForTarget" => {
                let fields: Map<String, Value> = serde_json::from_str(params.unwrap_or("{}")).unwrap_or_default();
                let tab = match (fields.get("targetId").and_then(Value::as_str), place) {
                    (Some(target), _) => self.tab_of_target(target).map(|(tab, _)| tab),
                    (None, Place::Node(node)) => self.nodes.get(&node).map(|node| node.tab),
                    (None, Place::Tab(tab)) => Some(tab),
                    (None, Place::Browser) => None,
                };
                match tab {
                    Some(tab) => {
                        let then = Then::Window { session: session.clone(), id, with_id: true };
                        self.ask("getWindow", &json!({"tabId": tab}).to_string(), then);
                    }
                    None => self.no_target(session, id),
                }
            }
            "Browser.getWindowBounds" => {
                let fields: Map<String, Value> = serde_json::from_str(params.unwrap_or("{}")).unwrap_or_default();
                let window = fields.get("windowId").and_then(Value::as_i64);
                let tab = self.tabs.values().find(|tab| Some(tab.info.window_id) == window).map(|tab| tab.info.tab_id);
                match tab {
                    Some(tab) => {
                        let then = Then::Window { session: session.clone(), id, with_id: false };
                        self.ask("getWindow", &json!({"tabId": tab}).to_string(), then);
                    }
                    None => self.out.fail(session, id, reply::SERVER_ERROR, "Browser window not found"),
                }
            }
            "Browser.setWindowBounds" => {
                let mut fields: Map<String, Value> = serde_json::from_str(params.unwrap_or("{}")).unwrap_or_default();
                let mut ask = match fields.remove("bounds") {
                    Some(Value::Object(bounds)) => bounds,
                    _ => return self.out.fail(session, id, INVALID_PARAMS, "Invalid parameters"),
                };
                if let Some(Value::String(state)) = ask.remove("windowState") {
                    ask.insert("state".to_owned(), json!(state));
                }
                ask.insert("windowId".to_owned(), fields.remove("windowId").unwrap_or_default());
                let then = Then::Done { session: session.clone(), id, result: "{}" };
                self.ask("setWindow", &Value::Object(ask).to_string(), then);
            }
            "Browser.setPermission" | "Browser.grantPermissions" | "Browser.resetPermissions" => self.out.fail(
                session,
                id,
                reply::SERVER_ERROR,
                &format!("{method} is not possible in the person's own browser: an extension cannot grant permissions"),
            ),
            _ => self.not_found(session, id, method),
        }
    }

    pub(super) fn window_told(
        &mut self,
        session: &SessionKey,
        id: i32,
        with_id: bool,
        result: Result<&str, Refusal>,
    ) {
        let window = match result {
            Ok(result) => serde_json::from_str::<Window>(result),
            Err(error) => return self.out.fail_raw(session, id, &error.raw),
        };
        match window {
            Ok(window) => {
                let mut answer = json!({"bounds": {
                    "left": window.left, "top": window.top, "width": window.width, "height": window.height,
                    "windowState": window.state,
                }});
                if with_id {
                    answer["windowId"] = json!(window.window_id);
                }
                self.out.reply_value(session, id, &answer);
            }
            Err(error) => self.out.fail(session, id, reply::SERVER_ERROR, &error.to_string()),
        }
    }
}
