//! The tabs and frames of the person's Firefox, and which of them are there for clients.

use std::collections::{BTreeMap, VecDeque};

use bowline_wire::bidi::ContextInfo;
use bowline_wire::relay::{Mode, Policy};
use serde::Deserialize;
use serde_json::Value;

use crate::extension::policy;

/// Realms that are remembered of each; the oldest are of documents that have gone.
const REALMS: usize = 64;

/// A context as the extension describes it: what it says beside the standard is for us alone.
#[derive(Debug, Deserialize)]
pub(super) struct Described {
    #[serde(flatten)]
    pub(super) info: ContextInfo,
    /// The person put this tab at the agents' disposal (manual mode).
    #[serde(rename = "bowline:chosen")]
    pub(super) is_chosen: Option<bool>,
    #[serde(rename = "bowline:incognito")]
    pub(super) is_incognito: Option<bool>,
}

pub(super) struct Known {
    /// Without its children, which are known by themselves.
    pub(super) info: ContextInfo,
    is_chosen: bool,
    is_incognito: bool,
    /// A client made it, or a page that a client drives.
    pub(super) is_agents: bool,
    /// Clients have been told of it.
    pub(super) is_told: bool,
    realms: VecDeque<String>,
}

/// What clients are to be told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    Came(ContextInfo),
    Went(ContextInfo),
}

#[derive(Default)]
pub(super) struct Contexts(BTreeMap<String, Known>);

impl Contexts {
    pub(super) fn get(&self, context: &str) -> Option<&Known> {
        self.0.get(context)
    }

    pub(super) fn get_mut(&mut self, context: &str) -> Option<&mut Known> {
        self.0.get_mut(context)
    }

    /// One that is new, or as it is described now.
    pub(super) fn put(&mut self, described: Described) {
        let Described { info, is_chosen, is_incognito } = described;
        for child in info.children.iter().flatten() {
            let parent = child.parent.clone().or(Some(info.context.clone()));
            let info = ContextInfo { parent, ..child.clone() };
            self.put(Described { info, is_chosen: None, is_incognito: None });
        }
        let before = self.0.remove(&info.context);
        let known = Known {
            is_chosen: is_chosen.or(before.as_ref().map(|known| known.is_chosen)).unwrap_or(false),
            is_incognito: is_incognito.or(before.as_ref().map(|known| known.is_incognito)).unwrap_or(false),
            is_agents: before.as_ref().is_some_and(|known| known.is_agents),
            is_told: before.as_ref().is_some_and(|known| known.is_told),
            realms: before.map(|known| known.realms).unwrap_or_default(),
            info: ContextInfo { children: None, ..info },
        };
        self.0.insert(known.info.context.clone(), known);
    }

    /// The context and what is below it have gone. Gives those that clients knew, the deepest first.
    pub(super) fn remove(&mut self, context: &str) -> Vec<Change> {
        let below: Vec<String> = self.children_of(context);
        let mut gone: Vec<Change> = below.iter().flat_map(|child| self.remove(child)).collect();
        let known = self.0.remove(context).filter(|known| known.is_told);
        gone.extend(known.map(|known| Change::Went(known.info)));
        gone
    }

    /// What is not among these has gone.
    pub(super) fn keep(&mut self, present: &[String]) -> Vec<Change> {
        let gone: Vec<String> = self.0.keys().filter(|context| !present.contains(context)).cloned().collect();
        gone.iter().flat_map(|context| self.remove(context)).collect()
    }

    pub(super) fn navigated(&mut self, context: &str, url: &str) {
        if let Some(known) = self.0.get_mut(context) {
            known.info.url = url.to_owned();
        }
    }

    pub(super) fn choose(&mut self, context: &str, is_chosen: bool) {
        if let Some(known) = self.0.get_mut(context) {
            known.is_chosen = is_chosen;
        }
    }

    /// The tab that a context is in.
    pub(super) fn top<'a>(&'a self, context: &'a str) -> &'a str {
        let mut at = context;
        // No tree is deeper than it has nodes.
        for _ in 0..self.0.len() {
            match self.0.get(at).and_then(|known| known.info.parent.as_deref()) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        at
    }

    pub(super) fn realm_made(&mut self, context: &str, realm: &str) {
        let Some(known) = self.0.get_mut(context) else { return };
        if realm.is_empty() || known.realms.iter().any(|one| one == realm) {
            return;
        }
        known.realms.push_back(realm.to_owned());
        if known.realms.len() > REALMS {
            known.realms.pop_front();
        }
    }

    /// The contexts that a realm is known of.
    pub(super) fn of_realm(&self, realm: &str) -> Vec<String> {
        let has_it = |known: &Known| known.realms.iter().any(|one| one == realm);
        self.0.iter().filter(|(_, known)| has_it(known)).map(|(context, _)| context.clone()).collect()
    }

    /// Whether a context is there for clients: its tab is at their disposal, and no page on the way to it is closed to
    /// them. One that is not known is not.
    pub(super) fn is_shown(&self, policy: &Policy, context: &str) -> bool {
        let Some(known) = self.0.get(context) else { return false };
        match &known.info.parent {
            Some(parent) => {
                policy::allows_page(policy, &known.info.url, true) && self.is_shown(policy, parent)
            }
            None => {
                let is_chosen = policy.mode == Mode::Auto || known.is_chosen || known.is_agents;
                !known.is_incognito
                    && is_chosen
                    && policy::allows_page(policy, &known.info.url, known.is_agents)
            }
        }
    }

    /// What clients see otherwise than they were told: what went, the deepest first, then what came.
    pub(super) fn changes(&mut self, policy: &Policy) -> Vec<Change> {
        let mut changed: Vec<(usize, String, bool)> = self
            .0
            .iter()
            .map(|(context, known)| (context, known.is_told, self.is_shown(policy, context)))
            .filter(|(_, was, is)| was != is)
            .map(|(context, _, is)| (self.depth(context), context.clone(), is))
            .collect();
        changed.sort_by_key(
            |(depth, _, is_shown)| if *is_shown { (1, *depth) } else { (0, usize::MAX - depth) },
        );
        changed
            .into_iter()
            .filter_map(|(_, context, is_shown)| {
                let known = self.0.get_mut(&context)?;
                known.is_told = is_shown;
                let info = known.info.clone();
                Some(if is_shown { Change::Came(info) } else { Change::Went(info) })
            })
            .collect()
    }

    fn children_of(&self, context: &str) -> Vec<String> {
        let is_child = |known: &&Known| known.info.parent.as_deref() == Some(context);
        self.0.values().filter(is_child).map(|known| known.info.context.clone()).collect()
    }

    fn depth(&self, context: &str) -> usize {
        let mut depth = 0;
        let mut at = context;
        while let Some(parent) = self.0.get(at).and_then(|known| known.info.parent.as_deref())
            && depth < self.0.len()
        {
            depth += 1;
            at = parent;
        }
        depth
    }
}

/// Every context of a tree, also those below others.
pub(super) fn named_in(tree: &Value) -> Vec<String> {
    let contexts = tree["contexts"].as_array().or(tree["children"].as_array());
    let mut names = Vec::new();
    for context in contexts.into_iter().flatten() {
        names.extend(context["context"].as_str().map(str::to_owned));
        names.extend(named_in(context));
    }
    names
}
