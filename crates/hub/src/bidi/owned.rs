//! What belongs to the client that made it, and goes with it.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    UserContext,
    Intercept,
    Preload,
    Collector,
}

impl Kind {
    /// The member of the answer and of the parameters that names one, and the command that removes it.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::UserContext => ("userContext", "browser.removeUserContext"),
            Self::Intercept => ("intercept", "network.removeIntercept"),
            Self::Preload => ("script", "script.removePreloadScript"),
            Self::Collector => ("collector", "network.removeDataCollector"),
        }
    }

    pub(super) fn missing(self) -> &'static str {
        match self {
            Self::UserContext => "no such user context",
            Self::Intercept => "no such intercept",
            Self::Preload => "no such script",
            Self::Collector => "no such network collector",
        }
    }

    pub(super) fn made_by(method: &str) -> Option<Self> {
        match method {
            "browser.createUserContext" => Some(Self::UserContext),
            "network.addIntercept" => Some(Self::Intercept),
            "script.addPreloadScript" => Some(Self::Preload),
            "network.addDataCollector" => Some(Self::Collector),
            _ => None,
        }
    }

    pub(super) fn removed_by(method: &str) -> Option<Self> {
        [Self::UserContext, Self::Intercept, Self::Preload, Self::Collector]
            .into_iter()
            .find(|kind| kind.names().1 == method)
    }
}
