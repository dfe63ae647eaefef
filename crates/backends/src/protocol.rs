//! Chromium's `/json/protocol` for a browser that we reach over a pipe.
//!
//! The pipe does not offer it. So a second, short-lived process of the same browser is asked over its
//! HTTP port, and what it says is kept per version.

use std::path::PathBuf;
use std::time::Duration;

use bowline_hub::backend::{LaunchSpec, Process, StartError};
use bowline_hub::files;
use bytes::Bytes;

use crate::launch::{self, PORT_FLAG, failed};
use crate::process::BrowserProcess;
use crate::{Backends, http, socket};

const PATIENCE: Duration = Duration::from_secs(20);

impl Backends {
    pub(crate) async fn launched_protocol(
        &self,
        spec: &LaunchSpec,
        product: &str,
    ) -> Result<Bytes, StartError> {
        let cached = self.cached_protocol(product);
        let _alone = self.fetching_protocol.lock().await;
        if let Ok(text) = std::fs::read(&cached) {
            return Ok(Bytes::from(text));
        }
        // Of the launch only the program matters; its flags may open pages.
        let plain = LaunchSpec {
            browser: spec.browser.clone(),
            no_sandbox: spec.no_sandbox,
            ..LaunchSpec::default()
        };
        let text = self.ask_a_second_process(&plain).await?;
        let kept =
            files::private_dir(&self.defaults.cache_dir).and_then(|()| files::write_private(&cached, &text));
        if let Err(error) = kept {
            tracing::warn!(%error, "the protocol description could not be kept");
        }
        Ok(text)
    }

    fn cached_protocol(&self, product: &str) -> PathBuf {
        let plain: String =
            product.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
        self.defaults.cache_dir.join(format!("protocol-{plain}.json"))
    }

    async fn ask_a_second_process(&self, spec: &LaunchSpec) -> Result<Bytes, StartError> {
        let installed = self.choose(spec).await?;
        let profile = self.profiles.temporary().map_err(|error| failed("bad_profile", error.to_string()))?;
        let mut command = self.command(&installed.path, spec, PORT_FLAG, &profile, true);
        let program = installed.path.display().to_string();
        let child = command.spawn().map_err(|error| failed("not_executable", error.to_string()))?;
        let mut process = BrowserProcess::new(child, program, profile.clone(), true, &self.tasks);
        process.note(&self.profiles);
        let ask = async {
            loop {
                if let Some(url) = launch::active_port_url(&profile) {
                    let authority = socket::authority(&url);
                    let answer = http::get(&authority, "/json/protocol", PATIENCE).await;
                    return answer.map_err(|error| failed("not_ready", error.to_string()));
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let result = tokio::select! {
            answer = ask => answer.map(|answer| answer.body),
            exit = process.exited() => Err(process.explain(&exit)),
            () = tokio::time::sleep(PATIENCE) => Err(failed("not_ready", "the browser opened no port".to_owned())),
        };
        process.kill();
        process.exited().await;
        process.clean_up().await;
        result
    }
}
