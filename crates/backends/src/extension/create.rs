//! New tabs that clients make: `Target.createTarget`.

use bowline_wire::relay::CreatedTab;
use bowline_wire::reply;
use serde::Deserialize;
use serde_json::json;

use super::machine::{INVALID_PARAMS, Machine, Refusal, Then};
use super::policy;
use super::session::SessionKey;
use super::tabs::{CONTEXT, around};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Create {
    url: String,
    browser_context_id: Option<String>,
    new_window: bool,
    background: Option<bool>,
    hidden: bool,
    for_tab: bool,
    width: Option<i64>,
    height: Option<i64>,
    left: Option<i64>,
    top: Option<i64>,
    window_state: Option<String>,
    /// Of the hub's router: where it will send the blank tab.
    destination: Option<String>,
}

impl Machine {
    pub(super) fn create_target(&mut self, session: &SessionKey, id: i32, params: Option<&str>) {
        let wish: Create = match serde_json::from_str(params.unwrap_or("{}")) {
            Ok(wish) => wish,
            Err(error) => {
                return self.out.fail(session, id, INVALID_PARAMS, &format!("Invalid parameters: {error}"));
            }
        };
        if let Some(context) =
            wish.browser_context_id.filter(|context| !context.is_empty() && context != CONTEXT)
        {
            let message = format!("Failed to find browser context with id {context}");
            return self.out.fail(session, id, INVALID_PARAMS, &message);
        }
        let refused = if self.policy.read_only || self.policy.no_new_tabs {
            let (rule, switch) = if self.policy.read_only {
                ("agents may only read", "read-only")
            } else {
                ("agents may not open tabs", "no new tabs")
            };
            Some(format!(
                "Refused by policy: {rule}. The person can change it in the Bowline extension's popup ({switch})."
            ))
        } else if wish.hidden {
            Some("hidden targets are not possible in the person's own browser".to_owned())
        } else {
            let destination = wish.destination.as_deref().unwrap_or_default();
            let refused = policy::refused_address(&self.policy, &wish.url);
            refused.or_else(|| policy::refused_address(&self.policy, destination))
        };
        let refused = refused.or_else(|| self.cancelled_text(session));
        self.note(session, None, "Target.createTarget", params, refused.as_deref());
        if let Some(reason) = refused {
            return self.out.fail(session, id, reply::SERVER_ERROR, &reason);
        }
        let url = if wish.url.is_empty() { "about:blank" } else { &wish.url };
        let mut ask =
            json!({"url": url, "active": !wish.background.unwrap_or(true), "newWindow": wish.new_window});
        for (name, value) in
            [("width", wish.width), ("height", wish.height), ("left", wish.left), ("top", wish.top)]
        {
            if let Some(value) = value {
                ask[name] = json!(value);
            }
        }
        if let Some(state) = wish.window_state {
            ask["state"] = json!(state);
        }
        let then = Then::Create { session: session.clone(), id, for_tab: wish.for_tab };
        self.ask("createTab", &ask.to_string(), then);
    }

    pub(super) fn tab_made(
        &mut self,
        session: &SessionKey,
        id: i32,
        for_tab: bool,
        result: Result<&str, Refusal>,
    ) {
        let made = match result {
            Ok(result) => serde_json::from_str::<CreatedTab>(result),
            Err(error) => return self.out.fail_raw(session, id, &error.raw),
        };
        let Ok(CreatedTab { tab }) = made else {
            return self.out.fail(
                session,
                id,
                reply::SERVER_ERROR,
                "the extension made a tab that cannot be read",
            );
        };
        let (tab_id, target) = (tab.tab_id, tab.target_id.clone());
        match self.tabs.get_mut(&tab_id) {
            // Told of before the answer.
            Some(known) => {
                known.is_agents = true;
                if known.info.target_id.is_empty() {
                    known.info.target_id.clone_from(&target);
                }
                let node = known.node;
                if let Some(node) = self.nodes.get_mut(&node) {
                    node.target.clone_from(&target);
                }
            }
            None => {
                self.tab_came(tab, None, None);
                if let Some(known) = self.tabs.get_mut(&tab_id) {
                    known.is_agents = true;
                }
            }
        }
        self.refresh(tab_id);
        if let Some(node) = self.tabs.get(&tab_id).map(|tab| tab.node) {
            // Whoever makes a tab drives it, and what it does at its beginning is to be recorded.
            self.attach(node);
        }
        let made = if for_tab { around(&target) } else { target };
        self.out.reply_value(session, id, &json!({"targetId": made}));
    }
}
