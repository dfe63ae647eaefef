//! A hub of one command's own: in its process, in memory alone, and gone with it. It looks into a Chrome
//! that somebody else runs, where the user's hub cannot be had.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use bowline_backends::attach;
use bowline_hub::Hub;
use bowline_hub::auth::Token;
use bowline_hub::backend::{Backend, Protocol, Spec, StartError, Started};
use bowline_hub::files;
use bowline_hub::registry::{DEFAULT, Registry};
use bowline_hub::statefile::State;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::failure::Failure;
use crate::paths::Paths;
use crate::serve;

pub(crate) struct OwnHub {
    state: State,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
    directory: PathBuf,
}

impl OwnHub {
    pub(crate) fn start(config: &Config, paths: &Paths) -> Result<Self, Failure> {
        let fail = |error: &std::io::Error| Failure::io("a hub for this command", error);
        let temporary = paths.temporary.parent().unwrap_or(&paths.temporary);
        let directory = temporary.join(format!("command-{}", std::process::id()));
        files::private_dir(temporary)
            .and_then(|()| files::private_dir(&directory))
            .map_err(|error| fail(&error))?;
        let token = Token::generate().map_err(|error| fail(&error))?;
        let stop = CancellationToken::new();
        let (opened, port) = oneshot::channel();
        let (config, token_text) = (config.clone(), token.as_str().to_owned());
        let (place, told) = (directory.clone(), stop.clone());
        let thread = std::thread::Builder::new().name("hub".to_owned()).spawn(move || {
            match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime.block_on(serve_alone(config, place, token, told, opened)),
                // The answer that never comes tells.
                Err(error) => tracing::warn!(%error, "no runtime"),
            }
        });
        let mut own = Self {
            state: State {
                port: 0,
                pid: std::process::id(),
                version: String::new(),
                token: token_text,
                browsers: Vec::new(),
            },
            stop,
            thread: Some(thread.map_err(|error| fail(&error))?),
            directory,
        };
        let closed = std::io::Error::other("it did not start");
        own.state.port = port.blocking_recv().map_err(|_| fail(&closed))?;
        Ok(own)
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }
}

impl Drop for OwnHub {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // What cannot be removed is in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

async fn serve_alone(
    config: Config,
    directory: PathBuf,
    token: Token,
    stop: CancellationToken,
    opened: oneshot::Sender<u16>,
) {
    let Ok(registry) = Registry::load(&directory.join("browsers.json")) else { return };
    let state_file = directory.join("state.json");
    let config_of_hub = serve::hub_config(&config, Arc::new(OnlyAttached), token, state_file, None);
    let hub = Hub::new(config_of_hub, registry);
    let ops = bowline_ops::Ops::new(hub.clone(), serve::ops_settings(&config, directory.join("files")));
    let listeners = serve::listeners(&config, &hub, ops);
    let listening = async {
        hub.define(DEFAULT, None).ok()?;
        listeners.open_any(DEFAULT).await.ok()
    };
    let Some(port) = listening.await else { return };
    // Whoever waits for it may have been interrupted.
    let _ = opened.send(port);
    let told = async {
        stop.cancelled().await;
        hub.shutdown();
    };
    tokio::join!(hub.run(), told);
}

/// Reaches browsers that run, and starts none.
struct OnlyAttached;

fn not_launched() -> StartError {
    StartError {
        code: "no_hub",
        message: "without a hub no browser is launched".to_owned(),
        hint: "name a Chrome that runs with --port or --connect".to_owned(),
    }
}

impl Backend for OnlyAttached {
    fn start<'a>(&'a self, _: &'a str, spec: &'a Spec) -> BoxFuture<'a, Result<Started, StartError>> {
        Box::pin(async move {
            match spec {
                Spec::Launched(_) | Spec::Extension(_) => Err(not_launched()),
                Spec::Attached(spec) => attach::start(spec).await,
            }
        })
    }

    fn check<'a>(&'a self, spec: &'a Spec) -> BoxFuture<'a, Result<(), StartError>> {
        Box::pin(async move {
            match spec {
                Spec::Launched(_) | Spec::Extension(_) => Err(not_launched()),
                Spec::Attached(spec) => attach::check(spec).await,
            }
        })
    }

    fn is_headed(&self, _: &Spec) -> bool {
        false
    }

    fn speaks(&self, _: &Spec) -> Protocol {
        Protocol::Cdp
    }

    fn protocol<'a>(&'a self, spec: &'a Spec, _: &'a str) -> BoxFuture<'a, Result<Bytes, StartError>> {
        Box::pin(async move {
            match spec {
                Spec::Launched(_) | Spec::Extension(_) => Err(not_launched()),
                Spec::Attached(spec) => attach::protocol(spec).await,
            }
        })
    }
}
