//! What the extension answers, cut to what is there for clients.

use bowline_wire::bidi::{self, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};

use super::contexts::{Described, named_in};
use super::cookies;
use super::machine::{Machine, PRIVATE, Pending, Then};
use super::rules;

impl Machine {
    pub(super) fn answered(&mut self, request: u64, result: Result<&str, Refusal>) {
        let Some(Pending { id, then }) = self.pending.remove(&request) else { return };
        let result = match (result, then) {
            (Err(refusal), _) => {
                return if let Some(id) = id {
                    self.fail(id, &refusal)
                };
            }
            (Ok(result), Then::Answer) => result.to_owned(),
            (Ok(result), Then::Tree) => self.tree(result),
            (Ok(result), Then::Resync) => return self.resynced(result),
            (Ok(result), Then::Made) => self.made(result),
            (Ok(result), Then::Realms) => self.realms(result),
            (Ok(result), Then::Ran { context }) => {
                #[derive(Default, Deserialize)]
                struct Ran {
                    realm: String,
                }
                let Ran { realm } = serde_json::from_str(result).unwrap_or_default();
                self.contexts.realm_made(&context, &realm);
                result.to_owned()
            }
            (Ok(result), Then::Preloaded) => {
                let made: Value = serde_json::from_str(result).unwrap_or_default();
                let script = made["script"].as_str().map(str::to_owned);
                if self.policy.read_only || !rules::has_all_pages_open(&self.policy) {
                    // The person has changed their mind meanwhile.
                    let params = json!({ "script": script }).to_string();
                    self.ask(None, "script.removePreloadScript", &params, Then::Answer);
                } else {
                    self.preloads.extend(script);
                }
                result.to_owned()
            }
            (Ok(result), Then::UserContexts) => {
                let mut answer: Value = serde_json::from_str(result).unwrap_or_default();
                if let Some(all) = answer["userContexts"].as_array_mut() {
                    all.retain(|one| one["userContext"] != PRIVATE);
                }
                answer.to_string()
            }
            (Ok(result), Then::Cookies { page }) => cookies::visible(&self.policy, page.as_deref(), result),
        };
        if let Some(id) = id {
            self.succeed(id, &result);
        }
    }

    /// The part of a tree that is there for clients.
    fn tree(&mut self, result: &str) -> String {
        let mut tree: Value = serde_json::from_str(result).unwrap_or_default();
        self.plant(&tree);
        self.prune(&mut tree, "contexts");
        tree.to_string()
    }

    fn plant(&mut self, tree: &Value) {
        for context in tree["contexts"].as_array().into_iter().flatten() {
            match Described::deserialize(context) {
                Ok(described) => self.put(described),
                Err(error) => tracing::warn!(%error, "a context that cannot be read; dropped"),
            }
        }
        self.show_changes();
    }

    fn prune(&self, node: &mut Value, member: &str) {
        let Some(contexts) = node[member].as_array_mut() else { return };
        contexts.retain(|context| context["context"].as_str().is_some_and(|context| self.is_shown(context)));
        for context in contexts {
            if let Some(members) = context.as_object_mut() {
                members.retain(|name, _| !name.starts_with("bowline:"));
            }
            self.prune(context, "children");
        }
    }

    fn resynced(&mut self, result: &str) {
        let tree: Value = serde_json::from_str(result).unwrap_or_default();
        let gone = self.contexts.keep(&named_in(&tree));
        self.tell(gone);
        self.plant(&tree);
    }

    fn made(&mut self, result: &str) -> String {
        if let Ok(info) = serde_json::from_str::<bidi::ContextInfo>(result) {
            if self.contexts.get(&info.context).is_none() {
                self.contexts.put(Described { info: info.clone(), is_chosen: None, is_incognito: None });
            }
            if let Some(known) = self.contexts.get_mut(&info.context) {
                known.is_agents = true;
            }
            self.show_changes();
        }
        result.to_owned()
    }

    fn realms(&mut self, result: &str) -> String {
        let mut answer: Value = serde_json::from_str(result).unwrap_or_default();
        for realm in answer["realms"].as_array().into_iter().flatten() {
            if let (Some(context), Some(realm)) = (realm["context"].as_str(), realm["realm"].as_str()) {
                self.contexts.realm_made(context, realm);
            }
        }
        if let Some(realms) = answer["realms"].as_array_mut() {
            realms.retain(|realm| realm["context"].as_str().is_some_and(|context| self.is_shown(context)));
        }
        answer.to_string()
    }
}
