//! Which browsing contexts there are: their parents, and whose user context they are in.

use std::collections::HashMap;

use bowline_wire::bidi::ContextInfo;

#[derive(Default)]
pub(super) struct Contexts(HashMap<String, ContextInfo>);

impl Contexts {
    /// One that was created, or its description as it is now.
    pub(super) fn put(&mut self, info: &ContextInfo) {
        let info = ContextInfo { children: None, ..info.clone() };
        self.0.insert(info.context.clone(), info);
    }

    /// A whole tree of `getTree`, where only the roots name no parent.
    pub(super) fn plant(&mut self, info: &ContextInfo, parent: Option<&str>) {
        for child in info.children.iter().flatten() {
            self.plant(child, Some(&info.context));
        }
        let parent = info.parent.clone().or(parent.map(str::to_owned));
        self.put(&ContextInfo { parent, ..info.clone() });
    }

    pub(super) fn remove(&mut self, context: &str) {
        let children: Vec<String> = self
            .0
            .values()
            .filter(|info| info.parent.as_deref() == Some(context))
            .map(|info| info.context.clone())
            .collect();
        for child in children {
            self.remove(&child);
        }
        self.0.remove(context);
    }

    pub(super) fn navigated(&mut self, context: &str, url: &str) {
        if let Some(info) = self.0.get_mut(context) {
            info.url = url.to_owned();
        }
    }

    pub(super) fn is_known(&self, context: &str) -> bool {
        self.0.contains_key(context)
    }

    /// The tab that a context is in.
    pub(super) fn top<'a>(&'a self, context: &'a str) -> &'a str {
        let mut at = context;
        // No tree is deeper than it has nodes.
        for _ in 0..self.0.len() {
            match self.0.get(at).and_then(|info| info.parent.as_deref()) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        at
    }

    /// The user context that a context is in; that of its tab.
    pub(super) fn user_context(&self, context: &str) -> Option<&str> {
        self.0.get(self.top(context)).map(|info| info.user_context.as_str())
    }

    /// All of them, parents before their children.
    pub(super) fn in_order(&self) -> Vec<&ContextInfo> {
        let mut all: Vec<&ContextInfo> = self.0.values().collect();
        all.sort_by_key(|info| (self.depth(&info.context), info.context.clone()));
        all
    }

    fn depth(&self, context: &str) -> usize {
        let mut depth = 0;
        let mut at = context;
        while let Some(parent) = self.0.get(at).and_then(|info| info.parent.as_deref())
            && depth < self.0.len()
        {
            depth += 1;
            at = parent;
        }
        depth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(context: &str, parent: Option<&str>, user_context: &str) -> ContextInfo {
        ContextInfo {
            context: context.to_owned(),
            url: String::new(),
            user_context: user_context.to_owned(),
            original_opener: None,
            parent: parent.map(str::to_owned),
            client_window: None,
            children: None,
        }
    }

    #[test]
    fn a_frame_belongs_to_its_tab_and_goes_with_it() {
        let mut contexts = Contexts::default();
        let child = ContextInfo { children: Some(vec![info("leaf", None, "u")]), ..info("frame", None, "u") };
        contexts.plant(&ContextInfo { children: Some(vec![child]), ..info("tab", None, "u") }, None);
        assert_eq!((contexts.top("leaf"), contexts.user_context("leaf")), ("tab", Some("u")));
        let order: Vec<&str> = contexts.in_order().iter().map(|info| info.context.as_str()).collect();
        assert_eq!(order, ["tab", "frame", "leaf"]);
        contexts.remove("frame");
        assert_eq!(contexts.in_order().len(), 1);
        assert_eq!(contexts.top("unknown"), "unknown");
    }
}
