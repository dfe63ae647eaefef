//! What a backend gives the hub: a link that carries the browser's raw messages, and, if the hub owns the
//! browser, its process.
//!
//! A link is message by message; framing (NUL bytes on a pipe, WebSocket frames) belongs to the backend.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use bowline_wire::SessionId;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{Sink, Stream};
use serde::{Deserialize, Serialize};

/// What is spoken over a link.
pub use bowline_wire::Protocol;

/// A message to the browser. With a session, the link puts it in front of the object's members, which
/// saves a copy of large bodies.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub session: Option<SessionId>,
    /// A JSON object, beginning with `{`.
    pub body: Bytes,
}

impl Outgoing {
    /// The bytes that stand before `body[1..]`.
    pub fn head(&self) -> String {
        match &self.session {
            Some(session) if self.body.as_ref() != b"{}" => format!("{{\"sessionId\":\"{session}\","),
            Some(session) => format!("{{\"sessionId\":\"{session}\""),
            None => "{".to_owned(),
        }
    }

    /// Size on the wire, nearly.
    pub fn len(&self) -> usize {
        self.body.len() + 64
    }

    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }
}

pub type LinkReader = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;
pub type LinkWriter = Pin<Box<dyn Sink<Outgoing, Error = io::Error> + Send>>;

/// A connection to a browser's root session.
pub struct Link {
    pub reader: LinkReader,
    pub writer: LinkWriter,
    /// The largest message that the browser takes; a larger one is answered with an error instead of
    /// being sent, because Chromium would end its pipe, and with it itself.
    pub max_outgoing: usize,
    /// Whether a client may close the browser. Not if it is somebody else's.
    pub may_be_closed: bool,
    /// The other side is ours: a browser that we play, or the keeper of a person's rules before their Firefox. It is
    /// told more than a browser: whose client asks, and where a blank tab will be sent.
    pub is_virtual: bool,
}

/// How a browser process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The last lines that it wrote to stderr.
    pub stderr: String,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (_, Some(signal)) => write!(f, "was killed by signal {signal}"),
            (Some(code), None) => write!(f, "exited with code {code}"),
            (None, None) => f.write_str("exited"),
        }
    }
}

/// A browser process that the hub owns.
pub trait Process: Send {
    fn pid(&self) -> u32;
    /// Resolves when the process has ended and was reaped. May be called again.
    fn exited(&mut self) -> BoxFuture<'_, Exit>;
    /// Asks the process to end.
    fn terminate(&mut self);
    /// Ends the process and all its children without asking.
    fn kill(&mut self);
    /// Removes what the launch put on disk for this run alone. Called after the exit.
    fn clean_up(&mut self) -> BoxFuture<'_, ()>;
    /// The last lines that it has written to stderr so far.
    fn last_words(&self) -> String;
    /// Turns an early exit into the reason that a user can act on.
    fn explain(&self, exit: &Exit) -> StartError;
}

pub struct Started {
    pub link: Link,
    pub protocol: Protocol,
    /// Absent for a browser that somebody else runs: such a one is never ended by the hub.
    pub process: Option<Box<dyn Process>>,
}

/// Why a browser could not be started or reached.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq, Serialize)]
#[error("{message}")]
pub struct StartError {
    /// A stable word for programs, such as `profile_locked`.
    pub code: &'static str,
    pub message: String,
    /// What to do next.
    pub hint: String,
}

/// What is behind a browser's name, as asked for by a user. Stored, so that the same browser is there
/// after a restart of the hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "backend", rename_all = "lowercase")]
pub enum Spec {
    Launched(LaunchSpec),
    Attached(AttachSpec),
    Extension(ExtensionSpec),
}

impl Spec {
    pub fn backend(&self) -> &'static str {
        match self {
            Self::Launched(_) => "launched",
            Self::Attached(_) => "attached",
            Self::Extension(_) => "extension",
        }
    }

    /// A profile that is thrown away holds nobody's logins; its plain port is as open as Chrome's own.
    pub fn is_throw_away(&self) -> bool {
        matches!(self, Self::Launched(LaunchSpec { profile: None, .. }))
    }
}

impl Default for Spec {
    fn default() -> Self {
        Self::Launched(LaunchSpec::default())
    }
}

/// What a launch was asked to be; what is absent follows the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchSpec {
    /// A kind (`chrome`, `chromium`, ...) or a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<String>,
    /// A profile that is kept in the data directory; absent means a temporary one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headless: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_sandbox: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The display of whoever asked for a window; the hub may have been started without one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub display: BTreeMap<String, String>,
}

/// What `LaunchSpec::display` may set.
pub const DISPLAY_VARIABLES: [&str; 4] = ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_SESSION_TYPE"];

/// A browser that somebody else started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttachSpec {
    /// `host:port`, `http://host:port` or a `ws://` URL. For a browser found through its profile this
    /// was true when it was found, and is looked up anew from `profile_dir` on each connection.
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_dir: Option<PathBuf>,
}

/// The browser that a person uses, reached through the extension in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtensionSpec {
    /// Which installation of the extension: one per profile.
    pub instance: String,
    /// What the extension speaks, as it said when it was here last.
    #[serde(default, skip_serializing_if = "Protocol::is_usual")]
    pub speaks: Protocol,
}

/// Starts or reaches browsers. The hub decides when.
pub trait Backend: Send + Sync {
    fn start<'a>(&'a self, name: &'a str, spec: &'a Spec) -> BoxFuture<'a, Result<Started, StartError>>;
    /// Whether a start of this spec has a chance, as far as that can be told without one. Asked before
    /// a running browser is given up for it.
    fn check<'a>(&'a self, spec: &'a Spec) -> BoxFuture<'a, Result<(), StartError>>;
    /// Whether windows are on a screen, where a person may be using them.
    fn is_headed(&self, spec: &Spec) -> bool;
    /// What a name stands for that nobody has said anything about.
    fn spec_named(&self, _name: &str) -> Spec {
        Spec::default()
    }
    /// What a browser of this spec will speak, as far as that can be told before it runs.
    fn speaks(&self, spec: &Spec) -> Protocol;
    /// The text of Chromium's `/json/protocol` for a browser of this spec and version.
    fn protocol<'a>(&'a self, spec: &'a Spec, product: &'a str) -> BoxFuture<'a, Result<Bytes, StartError>>;
}
