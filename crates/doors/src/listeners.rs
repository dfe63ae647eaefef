//! The listening sockets: one for the hub and its default browser, one more for every further browser.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::middleware;
use axum::routing::{any, get};
use axum::serve::ListenerExt;
use bowline_hub::Hub;
use bowline_hub::hub::HubError;
use bowline_hub::registry::DEFAULT;
use bowline_ops::Ops;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent::Desk;
use crate::control::Control;
use crate::guard::Gate;
use crate::slot::{ClientMode, Slots};
use crate::{agent, cdp, control, debug, extension, guard, mcp, metrics};

/// How the doors are set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The largest message that is taken from a client.
    pub max_message: usize,
    /// How many requests of the API one client may send in a second.
    pub rate_limit: NonZeroU32,
    /// The extensions that may knock at all.
    pub extension_ids: Vec<String>,
    pub client_mode: ClientMode,
    /// Browsers that have a mode of their own.
    pub client_modes: BTreeMap<String, ClientMode>,
    /// Whether browser actions are taken as plain HTTP, for trying them out.
    pub debug_http: bool,
}

/// What a door knows: the hub, and which browser a path without a name means.
pub(crate) struct Door {
    pub(crate) hub: Arc<Hub>,
    pub(crate) browser: String,
    pub(crate) max_message: usize,
    pub(crate) slots: Arc<Slots>,
    pub(crate) tasks: TaskTracker,
}

#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("port {port} is taken")]
    Taken { port: u16 },
    #[error("port {port} cannot be listened on: {source}")]
    Failed { port: u16, source: io::Error },
}

/// Why a browser has no port.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Hub(#[from] HubError),
}

/// All sockets of a hub. They end with the hub.
pub struct Listeners {
    hub: Arc<Hub>,
    ops: Ops,
    max_message: usize,
    rate_limit: NonZeroU32,
    extension_ids: Arc<[String]>,
    slots: Arc<Slots>,
    desk: Arc<Desk>,
    debug_http: bool,
    tasks: TaskTracker,
    open: Mutex<HashMap<String, CancellationToken>>,
}

impl Listeners {
    pub fn new(hub: Arc<Hub>, ops: Ops, settings: Settings) -> Arc<Self> {
        let Settings { max_message, rate_limit, extension_ids, client_mode, client_modes, debug_http } =
            settings;
        let slots = Slots::new(client_mode, client_modes);
        let tasks = TaskTracker::new();
        let desk = Desk::new(ops.clone(), slots.clone(), tasks.clone(), max_message);
        Arc::new(Self {
            hub,
            ops,
            max_message,
            rate_limit,
            extension_ids: extension_ids.into(),
            slots,
            desk,
            tasks,
            debug_http,
            open: Mutex::default(),
        })
    }

    /// Listens for a browser on `port`, or on one that the system chooses if it is zero.
    pub async fn open(self: &Arc<Self>, browser: &str, port: u16) -> Result<u16, ListenError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = TcpListener::bind(address).await.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => ListenError::Taken { port },
            _ => ListenError::Failed { port, source },
        })?;
        let port = listener.local_addr().map_err(|source| ListenError::Failed { port, source })?.port();
        let known = self.hub.browser(browser);
        let stop = known.map_or_else(|_| self.hub.shutdown_token(), |browser| browser.forgotten().clone());
        let stop = stop.child_token();
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(browser.to_owned(), stop.clone());
        let service = self.service(browser, port);
        if browser == DEFAULT {
            self.tasks.spawn(self.desk.clone().sweep(stop.clone()));
        }
        let listener = listener.tap_io(|stream| {
            // Commands are small and wait for their answers.
            let _ = stream.set_nodelay(true);
        });
        self.tasks.spawn(async move {
            let served = axum::serve(listener, service).with_graceful_shutdown(stop.cancelled_owned());
            if let Err(error) = served.await {
                tracing::error!(%error, port, "listening ended");
            }
        });
        Ok(port)
    }

    /// Listens for a browser on the best port that is free, and remembers it.
    pub async fn open_any(self: &Arc<Self>, browser: &str) -> Result<u16, OpenError> {
        let candidates = self.hub.port_candidates(browser);
        let wanted = candidates.first().copied().unwrap_or_default();
        for port in candidates {
            match self.open(browser, port).await {
                Ok(port) => {
                    if wanted != 0 && port != wanted {
                        tracing::debug!(browser, wanted, port, "the port is taken; another one");
                    }
                    self.hub.listens(browser, port)?;
                    return Ok(port);
                }
                Err(ListenError::Taken { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(ListenError::Taken { port: wanted }.into())
    }

    /// Stops listening for a browser that is no longer known.
    pub fn close(&self, browser: &str) {
        if let Some(stop) = self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(browser) {
            stop.cancel();
        }
    }

    pub fn is_open(&self, browser: &str) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(browser).is_some_and(|stop| !stop.is_cancelled())
    }

    /// Waits until every connection has ended. Called after the hub has.
    pub async fn drain(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    pub(crate) fn max_message(&self) -> usize {
        self.max_message
    }

    pub(crate) fn rate_limit(&self) -> NonZeroU32 {
        self.rate_limit
    }

    pub(crate) fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    pub(crate) fn ops(&self) -> &Ops {
        &self.ops
    }

    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    fn service(self: &Arc<Self>, browser: &str, port: u16) -> Router {
        let door = Arc::new(Door {
            hub: self.hub.clone(),
            browser: browser.to_owned(),
            max_message: self.max_message,
            slots: self.slots.clone(),
            tasks: self.tasks.clone(),
        });
        let mut service = Router::new().route("/healthz", get(async || "ok\n")).fallback(cdp::handle);
        if browser == DEFAULT {
            service = service.route("/metrics", get(metrics::metrics));
        }
        let mut service = service.with_state(door);
        if browser == DEFAULT {
            let control = Control { hub: self.hub.clone(), listeners: self.clone() };
            let knock = any(move |control, request| extension::handle(control, port, request));
            let knock = Router::new().route(extension::PATH, knock).with_state(control);
            service = service.merge(knock).merge(control::routes(self.hub.clone(), self.clone()));
            service =
                service.merge(agent::routes(self.desk.clone())).merge(mcp::routes(self.desk.clone(), port));
            if self.debug_http {
                service = service.merge(debug::routes(self.hub.clone(), self.clone()));
            }
        }
        let extension_ids = (browser == DEFAULT).then(|| self.extension_ids.clone());
        service.layer(middleware::from_fn_with_state(Gate { port, extension_ids }, guard::check))
    }
}
