//! What stands behind the tools: something that does what one agent asks for.

use bowline_ops::Progress;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::sets::Sets;
use crate::problem::Problem;

/// An action of the agents' door (`/agent`), with its input.
pub struct Call {
    pub action: String,
    pub payload: Value,
    pub browser: Option<String>,
    /// Whether doing it twice does no harm.
    pub is_repeatable: bool,
    pub cancel: CancellationToken,
    pub progress: Option<Progress>,
}

/// Who has come, as far as is known after `initialize`.
#[derive(Debug, Clone)]
pub struct Newcomer {
    /// What the client calls itself.
    pub client: String,
    /// The name that was chosen for it.
    pub session: Option<String>,
    pub browser: Option<String>,
    /// Whether more requests come over the same connection.
    pub is_connected: bool,
}

/// Behind a pointer: one server is compiled for both kinds.
pub trait Caller: Send + Sync + 'static {
    /// Called once, before the first call.
    fn arrive(&self, newcomer: Newcomer);

    /// The sets that were switched on by requests before this one, where each stands for itself.
    fn remembered(&self) -> Sets {
        Sets::default()
    }

    /// Keeps sets for the requests after this one, where each stands for itself.
    fn remember(&self, _sets: &Sets) {}

    fn call(&self, call: Call) -> BoxFuture<'_, Result<Value, Problem>>;
}

/// A name for an agent: what its client calls itself, and something that tells it from others of its kind.
pub(super) fn agent_name(client: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let client: String =
        client.chars().map(|c| if c == ' ' { '-' } else { c }).filter(is_plain).take(40).collect();
    let client = if client.is_empty() { "mcp" } else { client.as_str() };
    format!("{}-{}", client.to_lowercase(), crate::agent::random_name::<8>())
}

impl Newcomer {
    /// The agent's name: the chosen one, or one made of the client's.
    pub fn agent_name(&self) -> String {
        self.session.clone().unwrap_or_else(|| agent_name(&self.client))
    }
}

/// The output of an op, as it travels.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Answer {
    pub(super) data: Value,
    pub(super) text: String,
    pub(super) page: Option<String>,
    pub(super) media: Vec<Picture>,
    pub(super) changes: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Picture {
    pub(super) mime: String,
    /// Base64.
    pub(super) data: String,
}
