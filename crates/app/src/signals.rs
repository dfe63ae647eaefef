//! The signals that ask a process to leave. Only listens; what to do about one is for the caller.

use std::io;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Interrupt,
    #[cfg(unix)]
    Terminate,
    #[cfg(unix)]
    HangUp,
}

impl Asked {
    /// A terminal that closes may hang up more than once, so that never means "at once".
    pub(crate) fn is_urgent(self) -> bool {
        #[cfg(unix)]
        return self != Self::HangUp;
        #[cfg(not(unix))]
        return true;
    }
}

/// From the moment of `listen`, signals no longer end the process, and none is missed.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.interrupt.recv() => Asked::Interrupt,
            _ = self.terminate.recv() => Asked::Terminate,
            _ = self.hang_up.recv() => Asked::HangUp,
        }
    }
}

#[cfg(windows)]
pub(crate) struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    pub(crate) async fn next(&mut self) -> Asked {
        self.0.recv().await;
        Asked::Interrupt
    }
}
