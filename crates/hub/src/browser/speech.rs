//! How a running browser is spoken to: CDP, or WebDriver BiDi.

use std::time::Duration;

use bowline_wire::TargetId;
use bowline_wire::cdp::{BrowserVersion, TargetInfo, TargetInfos};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::backend::Protocol;
use crate::bidi::{self, BidiError, Capabilities};
use crate::hands::{EvaluateError, Evaluated, ExecuteError, Hands};
use crate::router::{CallError, Router};

#[derive(Clone)]
pub enum Speech {
    Cdp {
        router: Router,
        /// For commands of the hub's own on its tabs.
        hands: Hands,
    },
    Bidi {
        session: bidi::Session,
        hands: bidi::Hands,
    },
}

/// Somebody has asked for the other protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OtherSpeech {
    #[error("this is a Firefox, which speaks WebDriver BiDi and no CDP")]
    Bidi,
    #[error("this browser speaks CDP and no WebDriver BiDi")]
    Cdp,
}

/// Why a browser did not tell of its tabs.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    #[error("the browser is gone")]
    Gone,
    #[error("the browser did not answer in {}s", .0.as_secs())]
    TimedOut(Duration),
    #[error("{0}")]
    Other(String),
}

impl From<CallError> for Unanswered {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Closed => Self::Gone,
            CallError::TimedOut { after, .. } => Self::TimedOut(after),
            other => Self::Other(other.to_string()),
        }
    }
}

impl From<ExecuteError> for Unanswered {
    fn from(error: ExecuteError) -> Self {
        match error {
            ExecuteError::Gone => Self::Gone,
            ExecuteError::TimedOut { after, .. } => Self::TimedOut(after),
            other => Self::Other(other.to_string()),
        }
    }
}

impl Speech {
    pub fn router(&self) -> Result<&Router, OtherSpeech> {
        match self {
            Self::Cdp { router, .. } => Ok(router),
            Self::Bidi { .. } => Err(OtherSpeech::Bidi),
        }
    }

    pub fn bidi(&self) -> Result<&bidi::Session, OtherSpeech> {
        match self {
            Self::Bidi { session, .. } => Ok(session),
            Self::Cdp { .. } => Err(OtherSpeech::Cdp),
        }
    }

    /// Runs a command of its protocol on a tab, or on the browser itself, and gives the result as it came.
    pub async fn execute(
        &self,
        target: Option<&TargetId>,
        method: &str,
        params: Option<&RawValue>,
        within: Duration,
    ) -> Result<Box<RawValue>, ExecuteError> {
        match self {
            Self::Cdp { hands, .. } => hands.execute(target, method, params, within).await,
            Self::Bidi { hands, .. } => hands.execute(target, method, params, within).await,
        }
    }

    /// Evaluates an expression in a tab, as a person at a console types it.
    pub async fn evaluate(
        &self,
        target: &TargetId,
        expression: &str,
        within: Duration,
    ) -> Result<Evaluated, EvaluateError> {
        match self {
            Self::Cdp { hands, .. } => hands.evaluate(target, expression, within).await,
            Self::Bidi { hands, .. } => hands.evaluate(target, expression, within).await,
        }
    }

    /// The open tabs with addresses and titles, as the browser tells them now.
    pub async fn pages(&self, within: Duration) -> Result<Vec<TargetInfo>, Unanswered> {
        match self {
            Self::Cdp { router, .. } => {
                let params = json!({"filter": [{"type": "page"}]});
                let found: TargetInfos = router.call("Target.getTargets", params, within).await?;
                Ok(found.target_infos)
            }
            Self::Bidi { hands, .. } => Ok(hands.pages(within).await?),
        }
    }

    /// What a tab is at the moment; `None` if there is none of this id.
    pub async fn describe(
        &self,
        target: &TargetId,
        within: Duration,
    ) -> Result<Option<TargetInfo>, Unanswered> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer {
            target_info: TargetInfo,
        }
        match self {
            Self::Cdp { router, .. } => {
                let params = json!({ "targetId": target });
                match router.call::<Answer>("Target.getTargetInfo", params, within).await {
                    Ok(answer) => Ok(Some(answer.target_info)),
                    Err(CallError::Refused { .. }) => Ok(None),
                    Err(error) => Err(error.into()),
                }
            }
            Self::Bidi { hands, .. } => match tokio::time::timeout(within, hands.describe(target)).await {
                Ok(answer) => Ok(answer?),
                Err(_) => Err(Unanswered::TimedOut(within)),
            },
        }
    }

    pub fn protocol(&self) -> Protocol {
        match self {
            Self::Cdp { .. } => Protocol::Cdp,
            Self::Bidi { .. } => Protocol::Bidi,
        }
    }

    pub fn has_ended(&self) -> bool {
        match self {
            Self::Cdp { router, .. } => router.has_ended(),
            Self::Bidi { session, .. } => session.has_ended(),
        }
    }

    pub fn client_count(&self) -> usize {
        match self {
            Self::Cdp { router, .. } => router.client_count(),
            Self::Bidi { session, .. } => session.client_count(),
        }
    }

    pub(super) fn close_was_requested(&self) -> bool {
        match self {
            Self::Cdp { router, .. } => router.close_was_requested(),
            Self::Bidi { session, .. } => session.close_was_requested(),
        }
    }

    pub(super) async fn ended(&self) -> String {
        match self {
            Self::Cdp { router, .. } => router.ended().await,
            Self::Bidi { session, .. } => session.ended().await,
        }
    }

    pub(super) fn close(&self, reason: &str) {
        match self {
            Self::Cdp { router, .. } => router.close(reason),
            Self::Bidi { session, .. } => session.close(reason),
        }
    }

    pub(super) fn silence(&self) -> Duration {
        match self {
            Self::Cdp { router, .. } => router.silence(),
            Self::Bidi { session, .. } => session.silence(),
        }
    }

    /// Asks something that every living browser answers. Whether it has let the time pass.
    pub(super) async fn is_mute(&self, patience: Duration) -> bool {
        match self {
            Self::Cdp { router, .. } => {
                let probe = router.call::<Value>("Browser.getVersion", json!({}), patience).await;
                matches!(probe, Err(CallError::TimedOut { .. }))
            }
            Self::Bidi { session, .. } => {
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
            Self::Bidi { session, .. } => {
                session.call::<Value>("browser.close", &json!({}), patience).await.is_ok()
            }
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
