//! What a client wants to hear.

use serde::Deserialize;

/// One `session.subscribe` of a client. Events are named whole, or by their module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subscription {
    pub(super) id: String,
    pub(super) events: Vec<String>,
    /// Tabs; none means all.
    pub(super) contexts: Vec<String>,
    pub(super) user_contexts: Vec<String>,
}

/// The parameters of `session.subscribe`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Subscribe {
    #[serde(default)]
    pub(super) events: Vec<String>,
    #[serde(default)]
    pub(super) contexts: Vec<String>,
    #[serde(default)]
    pub(super) user_contexts: Vec<String>,
}

/// The parameters of `session.unsubscribe`: subscriptions by id, or events that were subscribed to without a context.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Unsubscribe {
    #[serde(default)]
    pub(super) subscriptions: Option<Vec<String>>,
    #[serde(default)]
    pub(super) events: Vec<String>,
}

impl Subscription {
    pub(super) fn hears(&self, method: &str) -> bool {
        self.events.iter().any(|event| covers(event, method))
    }

    /// Whether something of a tab is meant; what belongs to no tab is meant by all.
    pub(super) fn covers_tab(&self, tab: Option<&str>, user_context: Option<&str>) -> bool {
        if self.contexts.is_empty() && self.user_contexts.is_empty() {
            return true;
        }
        let is_named = |list: &[String], wanted: Option<&str>| {
            wanted.is_some_and(|wanted| list.iter().any(|one| one == wanted))
        };
        is_named(&self.contexts, tab) || is_named(&self.user_contexts, user_context)
    }

    pub(super) fn is_global(&self) -> bool {
        self.contexts.is_empty() && self.user_contexts.is_empty()
    }
}

/// `network` covers `network.beforeRequestSent`.
pub(super) fn covers(event: &str, method: &str) -> bool {
    event == method || method.split_once('.').is_some_and(|(module, _)| module == event)
}

/// Takes events out of global subscriptions, as `session.unsubscribe` with events does. The events that were not
/// subscribed to are an error, and then nothing changes.
pub(super) fn without(subscriptions: &[Subscription], events: &[String]) -> Option<Vec<Subscription>> {
    let is_there = |event: &String| {
        subscriptions.iter().any(|one| one.is_global() && one.events.iter().any(|known| known == event))
    };
    if !events.iter().all(is_there) {
        return None;
    }
    let mut left = subscriptions.to_vec();
    for subscription in left.iter_mut().filter(|subscription| subscription.is_global()) {
        subscription.events.retain(|event| !events.contains(event));
    }
    left.retain(|subscription| !subscription.events.is_empty());
    Some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(events: &[&str], contexts: &[&str]) -> Subscription {
        Subscription {
            id: "s".to_owned(),
            events: events.iter().map(|&event| event.to_owned()).collect(),
            contexts: contexts.iter().map(|&context| context.to_owned()).collect(),
            user_contexts: Vec::new(),
        }
    }

    #[test]
    fn a_module_stands_for_its_events() {
        let all = subscription(&["network", "log.entryAdded"], &[]);
        assert!(all.hears("network.beforeRequestSent") && all.hears("log.entryAdded"));
        assert!(!all.hears("networking.x") && !all.hears("script.message"));
        assert!(all.covers_tab(None, None) && all.covers_tab(Some("t"), Some("u")));
        let one = subscription(&["log"], &["t"]);
        assert!(
            one.covers_tab(Some("t"), None)
                && !one.covers_tab(Some("other"), None)
                && !one.covers_tab(None, None)
        );
    }

    #[test]
    fn events_are_taken_back_only_if_all_were_wanted() {
        let known = [subscription(&["log", "network"], &[]), subscription(&["log"], &["t"])];
        assert!(without(&known, &["script".to_owned()]).is_none());
        let left = without(&known, &["log".to_owned()]).unwrap();
        assert_eq!(left, [subscription(&["network"], &[]), subscription(&["log"], &["t"])]);
        assert_eq!(without(&left, &["network".to_owned()]).unwrap(), [subscription(&["log"], &["t"])]);
    }
}
