//! Launching Firefox: its command line, its surroundings, and its way in, which is WebDriver BiDi over a
//! WebSocket. It has no debugging pipe.

mod profile;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bowline_hub::backend::{DISPLAY_VARIABLES, LaunchSpec, Link, Process, Protocol, StartError, Started};
use bowline_hub::files;
use tokio::process::Command;

use crate::detect::{Installed, Platform};
use crate::launch::{failed, is_boxed, not_spawned};
use crate::process::BrowserProcess;
use crate::{Backends, explain, socket};
use profile::OwnPlaces;

impl Backends {
    pub(crate) async fn launch_firefox(
        &self,
        name: &str,
        installed: &Installed,
        spec: &LaunchSpec,
    ) -> Result<Started, StartError> {
        let (dir, throw_away) = self.profile_for(spec)?;
        let profile = if throw_away { dir } else { beside_chromium(&dir)? };
        if profile::is_locked(&profile) {
            return Err(explain::profile_locked(&profile.display().to_string()));
        }
        let unwritable = |error: std::io::Error| {
            failed("bad_profile", format!("the profile {} could not be written: {error}", profile.display()))
        };
        let keeps_sites = !self.sites.of(name).is_empty();
        profile::prepare(&profile, keeps_sites).map_err(unwritable)?;
        let mut command = self.firefox_command(&installed.path, spec, &profile).map_err(unwritable)?;
        tracing::debug!(browser = name, program = %installed.path.display(), "spawning");
        let program = installed.path.display().to_string();
        let child = command.spawn().map_err(|error| not_spawned(&program, &error))?;
        let mut process = BrowserProcess::new(child, program, profile.clone(), throw_away, &self.tasks);
        process.note(&self.profiles);
        match self.dial_firefox(&mut process, &profile).await {
            Ok(link) => Ok(Started { link, protocol: Protocol::Bidi, process: Some(Box::new(process)) }),
            Err(error) => {
                process.kill();
                process.exited().await;
                process.clean_up().await;
                Err(error)
            }
        }
    }

    fn firefox_command(&self, program: &Path, spec: &LaunchSpec, profile: &Path) -> std::io::Result<Command> {
        let mut command = Command::new(program);
        let extra = self.defaults.args.iter().chain(&spec.args).map(String::as_str);
        command.args(flags(Platform::current(), profile, self.is_headless(spec), extra));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        #[cfg(unix)]
        command.process_group(0);
        command.envs(spec.display.iter().filter(|(name, _)| DISPLAY_VARIABLES.contains(&name.as_str())));
        // No dialog after a crash, and nothing sent. See user.js for the other.
        command.env("MOZ_CRASHREPORTER_DISABLE", "1").env("MOZ_REMOTE_SETTINGS_DEVTOOLS", "1");
        // Unlike Chromium it needs no such thing as root, so only who asks for it gets it.
        if spec.no_sandbox.or(self.defaults.no_sandbox).unwrap_or(false) {
            for process in ["CONTENT", "GMP", "RDD", "SOCKET_PROCESS", "UTILITY"] {
                command.env(format!("MOZ_DISABLE_{process}_SANDBOX"), "1");
            }
        }
        // Snap and Flatpak give it places of its own, and insist on them.
        if spec.profile.is_none() && !is_boxed(program) {
            live_in(&mut command, spec, &OwnPlaces::make(profile)?);
        }
        Ok(command)
    }

    /// Waits for the port that Firefox writes into its profile, and connects to it.
    async fn dial_firefox(&self, process: &mut BrowserProcess, profile: &Path) -> Result<Link, StartError> {
        let find = async {
            loop {
                if let Some(url) = profile::way_in(profile) {
                    return url;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let patience = self.defaults.launch_timeout;
        let url = tokio::select! {
            url = find => url,
            exit = process.exited() => return Err(process.explain(&exit)),
            () = tokio::time::sleep(patience) => {
                let (seconds, said) = (patience.as_secs(), process.last_words());
                let message = format!("Firefox did not listen within {seconds}s; it said:\n{said}");
                return Err(failed("not_ready", message));
            }
        };
        // Without an Origin: Firefox refuses every one that it was not told of.
        let dialled = socket::dial(&url, patience).await;
        let link = dialled.map_err(|error| failed("not_ready", error.to_string()))?;
        Ok(Link { may_be_closed: true, ..link })
    }
}

/// A kept profile's name may stand for one of Chromium's and one of Firefox's, which know nothing of each
/// other.
fn beside_chromium(dir: &Path) -> Result<PathBuf, StartError> {
    let profile = dir.join("firefox");
    let made = files::private_dir(&profile);
    made.map_err(|error| failed("bad_profile", format!("{}: {error}", profile.display())))?;
    Ok(profile)
}

/// Everything that it would put below the user's home goes into the profile, which is thrown away: caches,
/// crash reports, pings, downloads. On other platforms it does not ask the environment where that is.
fn live_in(command: &mut Command, spec: &LaunchSpec, places: &OwnPlaces) {
    command.env("TMPDIR", &places.temporary);
    if Platform::current() != Platform::Linux {
        return;
    }
    // The key to the display lies in the home that it no longer has.
    let key = std::env::home_dir().map(|home| home.join(".Xauthority")).filter(|file| file.is_file());
    if let Some(key) = key
        && std::env::var_os("XAUTHORITY").is_none()
        && !spec.display.contains_key("XAUTHORITY")
    {
        command.env("XAUTHORITY", key);
    }
    command.env("HOME", &places.home);
    for variable in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
        command.env_remove(variable);
    }
    // GTK's settings would leave a file in the runtime directory.
    command.env("GSETTINGS_BACKEND", "memory");
}

fn flags<'a>(
    platform: Platform,
    profile: &Path,
    headless: bool,
    extra: impl Iterator<Item = &'a str>,
) -> Vec<OsString> {
    // A port of 0 lets the system choose. Without the second a Firefox that runs already would be told to
    // open a window, and ours would leave.
    let mut flags: Vec<OsString> = vec!["--remote-debugging-port=0".into(), "--no-remote".into()];
    match platform {
        Platform::Linux => flags.push("--new-instance".into()),
        // There firefox.exe starts the browser and leaves, unless it is told to wait.
        Platform::Windows => flags.extend(["--new-instance".into(), "--wait-for-browser".into()]),
        Platform::MacOs => {}
    }
    if headless {
        flags.push("--headless".into());
    }
    flags.extend(["--profile".into(), profile.as_os_str().to_owned()]);
    flags.extend(extra.map(OsString::from));
    flags
}

/// Whether a flag would take Firefox to another profile. It takes one dash or two, in any case.
pub(crate) fn chooses_profile(flag: &str) -> bool {
    let name = flag.trim_start_matches('-').split('=').next().unwrap_or_default().to_lowercase();
    flag.starts_with('-') && matches!(name.as_str(), "profile" | "p" | "profilemanager" | "createprofile")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(platform: Platform, headless: bool, extra: &[&str]) -> Vec<String> {
        let flags = flags(platform, Path::new("p q"), headless, extra.iter().copied());
        flags.into_iter().map(|flag| flag.into_string().unwrap()).collect()
    }

    #[test]
    fn a_plain_launch_has_a_port_a_profile_and_nothing_to_do_with_other_firefoxes() {
        assert_eq!(
            build(Platform::Linux, true, &[]),
            ["--remote-debugging-port=0", "--no-remote", "--new-instance", "--headless", "--profile", "p q"]
        );
        assert!(!build(Platform::Linux, false, &[]).contains(&"--headless".to_owned()));
        assert!(!build(Platform::MacOs, false, &[]).contains(&"--new-instance".to_owned()));
        assert!(build(Platform::Windows, false, &[]).contains(&"--wait-for-browser".to_owned()));
    }

    #[test]
    fn the_users_flags_come_last() {
        let flags = build(Platform::Linux, true, &["-width", "800"]);
        assert!(flags.ends_with(&["-width".to_owned(), "800".to_owned()]));
    }

    #[test]
    fn a_flag_for_another_profile_is_recognised_however_it_is_written() {
        for flag in
            ["-profile", "--profile", "--profile=/x", "-P", "--p", "-ProfileManager", "--CreateProfile"]
        {
            assert!(chooses_profile(flag), "{flag}");
        }
        for flag in ["--private-window", "-width", "profile", "--proxy"] {
            assert!(!chooses_profile(flag), "{flag}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_throw_away_browser_has_a_home_and_a_temporary_directory_in_its_profile() {
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new("firefox");
        live_in(&mut command, &LaunchSpec::default(), &OwnPlaces::make(profile.path()).unwrap());
        let set = |name: &str| {
            let mut all = command.as_std().get_envs();
            all.find(|(key, _)| *key == name).map(|(_, value)| value.map(PathBuf::from))
        };
        assert_eq!(set("HOME"), Some(Some(profile.path().join("home"))));
        assert_eq!(set("TMPDIR"), Some(Some(profile.path().join("tmp"))));
        assert_eq!(set("XDG_CONFIG_HOME"), Some(None));
        assert_eq!(set("XDG_RUNTIME_DIR"), None, "where the display and the sound are");
    }
}
