//! One client of a browser, as a door sees it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bowline_wire::{Command, TargetId, reply};
use bytes::Bytes;

use super::release::Hold;
use super::table::Decision;
use super::{Outbox, Router};
use crate::backend::Outgoing;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub(super) u64);

/// A connection that behaves like a WebSocket of its own to the browser. Dropping it leaves the browser
/// as Chromium leaves a closed connection: its sessions end, what it paused goes on.
pub struct CdpClient {
    router: Router,
    id: ClientId,
    outbox: Arc<Outbox>,
}

impl CdpClient {
    pub(super) fn new(router: Router, id: ClientId, outbox: Arc<Outbox>) -> Self {
        Self { router, id, outbox }
    }

    pub fn id(&self) -> ClientId {
        self.id
    }

    /// Whether others work with a target, too.
    pub fn shares(&self, target: &TargetId) -> bool {
        self.router.table().has_others(target, self.id)
    }

    pub fn outbox(&self) -> Arc<Outbox> {
        self.outbox.clone()
    }

    /// Sends one message to the browser. Waits while the browser is behind. A message that is no
    /// command, or not this client's to send, is answered at once.
    pub async fn send(&self, text: Bytes) {
        let Ok(message) = std::str::from_utf8(&text) else { return };
        let command = match Command::parse(message) {
            Ok(command) => command,
            Err(malformed) => return self.outbox.push(Bytes::from(malformed.reply())),
        };
        let body = command.body(&text);
        self.router.0.last_command.store(self.router.0.now(), Ordering::Relaxed);
        let budget = self.router.0.upstream.reserve(body.len()).await;
        if matches!(&*command.method, "Browser.close" | "Browser.crash") {
            if !self.router.0.may_be_closed {
                let text = format!("{} is not allowed: this browser is somebody else's", command.method);
                let answer =
                    reply::error(Some(command.id), command.session.as_deref(), reply::SERVER_ERROR, &text);
                return self.outbox.push(Bytes::from(answer));
            }
            if command.method == "Browser.close" {
                // Zero means never.
                let now = self.router.0.now().max(1);
                self.router.0.close_requested.store(now, Ordering::Relaxed);
            }
        }
        // Decided and queued under one lock: the order of commands is the order of bookkeeping.
        let mut table = self.router.table();
        match table.command(self.id, &command, body, self.router.0.max_outgoing) {
            Decision::Send(messages) => {
                let mut budget = Some(budget);
                for message in messages {
                    self.forward(message, budget.take());
                }
            }
            Decision::Answered => {}
            Decision::Held(hold) => {
                drop(table);
                self.release_later(hold);
            }
        }
    }

    /// Sends a command of the hub itself: without waiting, and without waking anybody for its answer.
    pub fn post(&self, text: &str) {
        let Ok(command) = Command::parse(text) else { return };
        let body = Bytes::copy_from_slice(text.as_bytes());
        let mut table = self.router.table();
        match table.command(self.id, &command, body, self.router.0.max_outgoing) {
            Decision::Send(messages) => {
                for message in messages {
                    self.router.0.upstream.push_own(message);
                }
            }
            Decision::Answered => {}
            Decision::Held(hold) => {
                drop(table);
                self.release_later(hold);
            }
        }
    }

    fn forward(&self, message: Outgoing, budget: Option<tokio::sync::OwnedSemaphorePermit>) {
        match budget {
            Some(budget) => self.router.0.upstream.push(message, budget),
            None => self.router.0.upstream.push_own(message),
        }
    }

    /// A client that never releases must not hold the target for the others for ever.
    fn release_later(&self, hold: Hold) {
        let shared = self.router.0.clone();
        self.router.0.tasks.spawn(async move {
            tokio::select! {
                () = shared.stop.cancelled() => {}
                () = tokio::time::sleep(shared.limits.longest_hold) => {
                    for message in shared.table().give_up_waiting(&hold) {
                        shared.upstream.push_own(message);
                    }
                }
            }
        });
    }
}

impl Drop for CdpClient {
    fn drop(&mut self) {
        let (root, released) = self.router.table().leave(self.id);
        for message in released {
            self.router.0.upstream.push_own(message);
        }
        if let Some(root) = root {
            let params = serde_json::json!({ "sessionId": root });
            self.router.send_own("Target.detachFromTarget", &params, super::table::OwnCall::Ignore);
        }
    }
}
