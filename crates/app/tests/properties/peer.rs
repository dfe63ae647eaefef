//! A scripted Chrome: its HTTP side and one WebSocket for many sessions, as far as Bowline speaks to it.
//! What it has and what it says is up to the test.

mod cdp;
mod server;

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use cdp::State;
pub(crate) use cdp::{Reply, Seen, Tab};

pub(crate) struct Peer {
    port: u16,
    state: Arc<Mutex<State>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What happens to those who come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    Open,
    /// Their connection is closed before they can ask.
    Slammed,
    /// Every question is answered with an error.
    Unwell,
    /// The browser is found, but its socket is refused.
    NoSocket,
}

impl Peer {
    pub(crate) fn start() -> Self {
        let (port, state, stop, thread) = server::start();
        Self { port, state, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics with it")
    }

    /// Opens a tab of which nothing matters but that it is new.
    pub(crate) fn open_tab(&self) -> String {
        self.state().open_new()
    }

    pub(crate) fn open(&self, tab: Tab) {
        self.state().open(tab);
    }

    pub(crate) fn close_tab(&self, id: &str) {
        self.state().close(id);
    }

    /// Whether a hub hears all that this tab says.
    pub(crate) fn is_watched(&self, tab: &str) -> bool {
        self.state().is_watched(tab)
    }

    /// An event of a tab, told to every session that has asked for such. What is logged is also
    /// remembered for those who ask later.
    pub(crate) fn emit(&self, tab: &str, method: &str, params: impl Display) {
        self.state().emit(tab, method, &params.to_string());
    }

    /// From now on this is the answer to such a command.
    pub(crate) fn script(&self, method: &str, reply: Reply) {
        self.state().script.insert(method.to_owned(), reply);
    }

    /// The body of a request's answer, and whether it is base64.
    pub(crate) fn put_body(&self, request: &str, body: &str, base64: bool) {
        self.state().bodies.insert(request.to_owned(), (body.to_owned(), base64));
    }

    /// Every connection ends, as when a process dies.
    pub(crate) fn drop_links(&self) {
        self.state().drop_links();
    }

    pub(crate) fn set_door(&self, door: Door) {
        self.state().door = door;
    }

    /// Whether it leaves all commands unanswered, as one that hangs does.
    pub(crate) fn set_silent(&self, is_silent: bool) {
        self.state().is_silent = is_silent;
    }

    /// WebSockets that were ever opened.
    pub(crate) fn links_so_far(&self) -> usize {
        self.state().links_so_far
    }

    /// Connections that came while the door was not open.
    pub(crate) fn turned_away(&self) -> usize {
        self.state().turned_away
    }

    /// Commands that came, as far as they fit.
    pub(crate) fn seen(&self, fits: impl Fn(&Seen) -> bool) -> Vec<Seen> {
        self.state().seen.iter().filter(|seen| fits(seen)).cloned().collect()
    }

    pub(crate) fn forget_seen(&self) {
        self.state().seen.clear();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers a command only after a while.
pub(crate) fn late(after: Duration, result: &str) -> Reply {
    Reply::Late(after, result.to_owned())
}
