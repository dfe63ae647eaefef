//! What a browser is spoken to in.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    #[default]
    Cdp,
    /// WebDriver BiDi.
    Bidi,
}

impl Protocol {
    /// For what is written down only where it is not the usual one.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}
