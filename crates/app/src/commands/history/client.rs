//! Who looks. The hub remembers when a client first looked, and marks what is older as history, so two
//! runs in one terminal must be the same client.

/// The id to send, if there is one to be had.
pub(super) fn client() -> Option<String> {
    std::env::var("BOWLINE_CLIENT").ok().filter(|id| !id.is_empty()).or_else(session)
}

#[cfg(unix)]
fn session() -> Option<String> {
    rustix::process::getsid(None).ok().map(|id| format!("sid-{}", id.as_raw_nonzero()))
}

#[cfg(not(unix))]
fn session() -> Option<String> {
    None
}
