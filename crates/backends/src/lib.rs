//! How the hub reaches browsers: Chromium and Firefox that it launches, and browsers that somebody else
//! runs.
//!
//! Nothing here knows about clients or doors.

pub mod attach;
pub mod detect;
mod explain;
mod extension;
mod firefox;
mod flags;
mod http;
mod launch;
mod pipe;
mod process;
pub mod profiles;
mod protocol;
pub mod running;
mod socket;

use std::path::PathBuf;
use std::time::Duration;

use bowline_hub::backend::{Backend, LaunchSpec, Protocol, Spec, StartError, Started};
use bowline_hub::extensions::Extensions;
use bowline_wire::origins::Sites;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use tokio_util::task::TaskTracker;

use crate::profiles::Profiles;

/// How a launched browser is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// The pipe, where the platform and the browser's packaging let file descriptors through.
    #[default]
    Auto,
    Pipe,
    Port,
}

/// What a launch uses where its spec is silent.
#[derive(Debug, Clone)]
pub struct Defaults {
    pub browser: Option<String>,
    pub headless: bool,
    /// `None` means only when running as root.
    pub no_sandbox: Option<bool>,
    pub args: Vec<String>,
    pub transport: Transport,
    pub launch_timeout: Duration,
    /// Where protocol descriptions are kept, one per browser version.
    pub cache_dir: PathBuf,
}

/// The backend for every spec that this version knows.
pub struct Backends {
    defaults: Defaults,
    profiles: Profiles,
    tasks: TaskTracker,
    extensions: Extensions,
    sites: Sites,
    /// Held while a protocol description is fetched, so that a second asker finds it.
    fetching_protocol: tokio::sync::Mutex<()>,
}

impl Backends {
    pub fn new(defaults: Defaults, profiles: Profiles, extensions: Extensions, sites: Sites) -> Self {
        Self {
            defaults,
            profiles,
            tasks: TaskTracker::new(),
            extensions,
            sites,
            fetching_protocol: tokio::sync::Mutex::default(),
        }
    }

    /// Where a door hands over the extensions that it has let in.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Removes the directory of temporary profiles. Called when every browser has ended.
    pub fn close(&self) {
        self.profiles.close();
    }

    fn is_headless(&self, spec: &LaunchSpec) -> bool {
        spec.headless.unwrap_or(self.defaults.headless)
    }
}

impl Backend for Backends {
    fn start<'a>(&'a self, name: &'a str, spec: &'a Spec) -> BoxFuture<'a, Result<Started, StartError>> {
        Box::pin(async move {
            match spec {
                Spec::Launched(spec) => self.launch(name, spec).await,
                Spec::Attached(spec) => attach::start(spec).await,
                Spec::Extension(spec) => {
                    extension::start(&self.extensions, name, spec, self.sites.of(name), &self.tasks).await
                }
            }
        })
    }

    fn check<'a>(&'a self, spec: &'a Spec) -> BoxFuture<'a, Result<(), StartError>> {
        Box::pin(async move {
            match spec {
                Spec::Launched(spec) => self.check_launch(spec).await.map(|_| ()),
                Spec::Attached(spec) => attach::check(spec).await,
                // Whether it is there is known only by waiting for it.
                Spec::Extension(_) => Ok(()),
            }
        })
    }

    fn is_headed(&self, spec: &Spec) -> bool {
        match spec {
            Spec::Launched(spec) => !self.is_headless(spec),
            Spec::Attached(_) => false,
            Spec::Extension(_) => true,
        }
    }

    fn spec_named(&self, name: &str) -> Spec {
        let browser = detect::BrowserKind::named(name).map(|kind| kind.to_string());
        Spec::Launched(LaunchSpec { browser, ..LaunchSpec::default() })
    }

    fn speaks(&self, spec: &Spec) -> Protocol {
        let wanted = match spec {
            Spec::Launched(spec) => spec.browser.as_deref().or(self.defaults.browser.as_deref()),
            Spec::Attached(_) => None,
            Spec::Extension(spec) => return spec.speaks,
        };
        wanted.and_then(detect::kind_meant).map_or(Protocol::Cdp, detect::BrowserKind::protocol)
    }

    fn protocol<'a>(&'a self, spec: &'a Spec, product: &'a str) -> BoxFuture<'a, Result<Bytes, StartError>> {
        Box::pin(async move {
            match spec {
                Spec::Launched(spec) => self.launched_protocol(spec, product).await,
                Spec::Attached(spec) => attach::protocol(spec).await,
                Spec::Extension(_) => Err(extension::no_protocol()),
            }
        })
    }
}
