//! What must not stay half done: a pressed button, a cover over the page, a load that nobody waits for any more.

use std::time::Duration;

use futures_util::future::BoxFuture;

/// For a page to take back what was begun; one with an open dialog does so when that is answered.
const PATIENCE: Duration = Duration::from_secs(60);

/// Takes something back unless it is told that all went well: also when the op is called off in the middle, since
/// its future is dropped then and this with it.
pub(crate) struct Undo(Option<BoxFuture<'static, ()>>);

impl Undo {
    pub(crate) fn with(undo: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Some(Box::pin(undo)))
    }

    /// There is nothing to take back.
    pub(crate) fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        if let Some(undo) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                let _ = tokio::time::timeout(PATIENCE, undo).await;
            });
        }
    }
}
