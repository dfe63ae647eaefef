//! How a running browser is spoken to: CDP, or WebDriver BiDi.

use std::time::Duration;

use bowline_wire::cdp::BrowserVersion;
use serde_json::{Value, json};

use crate::backend::Protocol;
use crate::bidi::{self, BidiError, Capabilities};
use crate::hands::Hands;
use crate::router::{CallError, Router};

#[derive(Clone)]
pub enum Speech {
    Cdp {
        router: Router,
        /// For commands of the hub's own on its tabs.
        hands: Hands,
    },
    Bidi(bidi::Session),
}

/// Somebody has asked for the other protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OtherSpeech {
    #[error("this is a Firefox, which speaks WebDriver BiDi and no CDP")]
    Bidi,
    #[error("this browser speaks CDP and no WebDriver BiDi")]
    Cdp,
}

impl Speech {
    pub fn router(&self) -> Result<&Router, OtherSpeech> {
        match self {
            Self::Cdp { router, .. } => Ok(router),
            Self::Bidi(_) => Err(OtherSpeech::Bidi),
        }
    }

    pub fn hands(&self) -> Result<&Hands, OtherSpeech> {
        match self {
            Self::Cdp { hands, .. } => Ok(hands),
            Self::Bidi(_) => Err(OtherSpeech::Bidi),
        }
    }

    pub fn bidi(&self) -> Result<&bidi::Session, OtherSpeech> {
        match self {
            Self::Bidi(session) => Ok(session),
            Self::Cdp { .. } => Err(OtherSpeech::Cdp),
        }
    }

    pub fn protocol(&self) -> Protocol {
        match self {
            Self::Cdp { .. } => Protocol::Cdp,
            Self::Bidi(_) => Protocol::Bidi,
        }
    }

    pub fn has_ended(&self) -> bool {
        match self {
            Self::Cdp { router, .. } => router.has_ended(),
            Self::Bidi(session) => session.has_ended(),
        }
    }

    pub fn client_count(&self) -> usize {
        match self {
            Self::Cdp { router, .. } => router.client_count(),
            Self::Bidi(session) => session.client_count(),
        }
    }

    pub(super) fn close_was_requested(&self) -> bool {
        match self {
            Self::Cdp { router, .. } => router.close_was_requested(),
            Self::Bidi(session) => session.close_was_requested(),
        }
    }

    pub(super) async fn ended(&self) -> String {
        match self {
            Self::Cdp { router, .. } => router.ended().await,
            Self::Bidi(session) => session.ended().await,
        }
    }

    pub(super) fn close(&self, reason: &str) {
        match self {
            Self::Cdp { router, .. } => router.close(reason),
            Self::Bidi(session) => session.close(reason),
        }
    }

    pub(super) fn silence(&self) -> Duration {
        match self {
            Self::Cdp { router, .. } => router.silence(),
            Self::Bidi(session) => session.silence(),
        }
    }

    /// Asks something that every living browser answers. Whether it has let the time pass.
    pub(super) async fn is_mute(&self, patience: Duration) -> bool {
        match self {
            Self::Cdp { router, .. } => {
                let probe = router.call::<Value>("Browser.getVersion", json!({}), patience).await;
                matches!(probe, Err(CallError::TimedOut { .. }))
            }
            Self::Bidi(session) => {
                let probe = session.call::<Value>("session.status", &json!({}), patience).await;
                matches!(probe, Err(BidiError::TimedOut { .. }))
            }
        }
    }

    /// Asks the browser to end. Whether it has agreed.
    pub(super) async fn ask_to_end(&self, patience: Duration) -> bool {
        match self {
            Self::Cdp { router, .. } => {
                router.call::<Value>("Browser.close", json!({}), patience).await.is_ok()
            }
            Self::Bidi(session) => session.call::<Value>("browser.close", &json!({}), patience).await.is_ok(),
        }
    }
}

/// What a browser that speaks BiDi says of itself, in the words that others use.
pub(super) fn version_of(capabilities: &Capabilities) -> BrowserVersion {
    let name = match capabilities.browser_name.as_str() {
        "firefox" => "Firefox",
        other => other,
    };
    BrowserVersion {
        product: format!("{name}/{}", capabilities.browser_version),
        user_agent: capabilities.user_agent.clone(),
        ..BrowserVersion::default()
    }
}
