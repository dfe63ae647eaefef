//! Cancel on the browser's infobar, and how it goes on.

use bowline_wire::relay::TabId;

use super::machine::Machine;
use super::out::LINK;
use super::session::{Place, SessionKey};

impl Machine {
    /// Why this client may drive nothing at present.
    pub(super) fn cancelled_text(&self, session: &SessionKey) -> Option<String> {
        let root = &self.sessions.get(session)?.root;
        self.sessions.get(root).filter(|root| root.is_cancelled)?;
        Some(
            "The person cancelled debugging in the browser. Nothing is attached again until they resume it in the Bowline extension's popup, or a client connects anew.".to_owned(),
        )
    }

    /// The person pressed Cancel: every tab is let go, and nobody who is here now attaches one by himself.
    pub(super) fn cancelled(&mut self) {
        for tab in self.tabs.values_mut() {
            tab.returns = false;
        }
        let clients = self.keys(|session| session.parent.as_ref() == LINK && !session.is_own);
        for root in clients.iter().filter(|root| root.as_ref() != LINK) {
            let on_pages =
                self.keys(|session| session.root == *root && !matches!(session.place, Place::Browser));
            for session in on_pages {
                if self.sessions.contains_key(&session) {
                    self.end_session(&session, true);
                }
            }
            if let Some(root) = self.sessions.get_mut(root) {
                root.is_cancelled = true;
            }
        }
    }

    /// The person wants to go on.
    pub(super) fn resumed(&mut self) {
        self.policy.paused = false;
        let cancelled = self.keys(|session| session.is_cancelled);
        for key in cancelled {
            if let Some(root) = self.sessions.get_mut(&key) {
                root.is_cancelled = false;
            }
            let roots = self.keys(|session| {
                session.root == key && session.place == Place::Browser && session.auto_attach.is_some()
            });
            let tabs: Vec<TabId> =
                self.tabs.iter().filter(|(_, tab)| tab.is_announced).map(|(id, _)| *id).collect();
            for root in &roots {
                for tab in &tabs {
                    self.auto_attach_tab(root, *tab);
                }
            }
        }
    }
}
