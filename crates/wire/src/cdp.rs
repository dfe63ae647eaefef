//! The few CDP messages that the hub interprets.

use serde::{Deserialize, Serialize};

use crate::ids::{SessionId, TargetId};

pub const ATTACHED_TO_TARGET: &str = "Target.attachedToTarget";
pub const DETACHED_FROM_TARGET: &str = "Target.detachedFromTarget";
pub const TARGET_CRASHED: &str = "Inspector.targetCrashed";
pub const RUN_IF_WAITING: &str = "Runtime.runIfWaitingForDebugger";

/// Parameters of `Target.attachedToTarget`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachedToTarget {
    pub session_id: SessionId,
    pub target_info: TargetInfo,
    #[serde(default)]
    pub waiting_for_debugger: bool,
}

/// Parameters of `Target.detachedFromTarget`, and the result of an attach command.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRef {
    pub session_id: SessionId,
}

#[derive(Debug, Clone, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TargetInfo {
    pub target_id: TargetId,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub url: String,
    #[serde(default)]
    pub attached: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<TargetId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_frame_id: Option<TargetId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opener_id: Option<TargetId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub can_access_opener: Option<bool>,
}

impl TargetInfo {
    /// A page that another one opened, and that does not know it (`noopener`, as links to `_blank` are).
    pub fn is_opened_without_opener(&self) -> bool {
        self.opener_id.is_some() && self.can_access_opener == Some(false)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetInfos {
    pub target_infos: Vec<TargetInfo>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreatedTarget {
    pub target_id: TargetId,
}

/// The result of `Browser.getVersion`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct BrowserVersion {
    pub protocol_version: String,
    pub product: String,
    pub revision: String,
    pub user_agent: String,
    pub js_version: String,
}

/// The `error` member of an answer.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
pub struct ErrorBody {
    pub code: i32,
    pub message: String,
}
