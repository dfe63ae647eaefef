//! What the routes of the extension take and answer.

use bowline_hub::pairing::{PairingState, Refusal, Stage};
use bowline_wire::pairing::{BrowserInfo, RefusalCode};
use serde::{Deserialize, Serialize};

/// Every extension that is paired, as `bowline extension status` shows them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExtensionsStatus {
    /// The version of the relay protocol that the hub speaks.
    pub protocol: u32,
    pub extensions: Vec<ExtensionStatus>,
    /// Why the last one that is not paired was turned away.
    pub stranger: Option<RefusalStatus>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExtensionStatus {
    /// The browser's name at the hub.
    pub name: String,
    pub instance: String,
    pub browser: BrowserInfo,
    /// The extension's own version; empty if it was never here.
    pub version: String,
    pub connected: bool,
    /// Since when it is connected, in milliseconds since 1970.
    pub since: Option<u64>,
    pub paired_at: u64,
    pub last_seen: u64,
    /// Why it was turned away since it was last here.
    pub last_refusal: Option<RefusalStatus>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RefusalStatus {
    pub code: RefusalCode,
    pub message: String,
    /// Milliseconds since 1970.
    pub at: u64,
}

impl From<Refusal> for RefusalStatus {
    fn from(Refusal { code, message, at }: Refusal) -> Self {
        Self { code, message, at }
    }
}

/// What opens a pairing.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PairingRequest {
    /// For the browser; absent means one after its product.
    pub name: Option<String>,
    /// How long it stays open, at most two minutes.
    pub seconds: Option<u64>,
}

/// The yes of the terminal, to the code that it has shown.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmRequest {
    pub code: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PairingStatus {
    /// Absent if no pairing was opened since the hub came up.
    pub state: Option<Stage>,
    pub code: Option<String>,
    pub browser: Option<BrowserInfo>,
    /// Whether the terminal has said yes to this code.
    pub confirmed: bool,
    /// Of the browser, once it is paired.
    pub name: Option<String>,
    pub reason: Option<String>,
    pub seconds_left: u64,
}

impl From<Option<PairingState>> for PairingStatus {
    fn from(state: Option<PairingState>) -> Self {
        match state {
            None => Self {
                state: None,
                code: None,
                browser: None,
                confirmed: false,
                name: None,
                reason: None,
                seconds_left: 0,
            },
            Some(PairingState { stage, code, browser, confirmed, name, reason, seconds_left }) => {
                Self { state: Some(stage), code, browser, confirmed, name, reason, seconds_left }
            }
        }
    }
}

impl PairingStatus {
    /// Whether something can still happen to it.
    pub fn is_open(&self) -> bool {
        matches!(self.state, Some(Stage::Waiting | Stage::CodeShown | Stage::ConfirmedByExtension))
    }
}

/// What the native messaging host asks for: the browser has vouched for the extension.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NativeRequest {
    pub instance: String,
    #[serde(default)]
    pub browser: BrowserInfo,
    #[serde(default)]
    pub name: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub struct NativeStatus {
    pub name: String,
    /// In base64url. A secret.
    pub key: String,
    /// The hub's.
    pub port: u16,
}
