//! Launching a browser: what all launches have in common, and Chromium's.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bowline_hub::backend::{DISPLAY_VARIABLES, LaunchSpec, Link, Process, Protocol, StartError, Started};
use bowline_hub::registry;
use tokio::process::{Child, Command};

use crate::detect::{self, Installed, Machine, ThisMachine};
use crate::flags::Flags;
use crate::process::BrowserProcess;
use crate::{Backends, Transport, firefox, running, socket};

/// A smaller `/dev/shm` makes tabs crash.
#[cfg(target_os = "linux")]
const ENOUGH_SHARED_MEMORY: u64 = 256 << 20;

/// `/org.chromium.Chromium.AbCdEf/SingletonSocket`, and what a path of a socket may have in all.
const SOCKET_BELOW: usize = 45;
const LONGEST_SOCKET: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

pub(crate) const PIPE_FLAG: &str = "--remote-debugging-pipe";
pub(crate) const PORT_FLAG: &str = "--remote-debugging-port=0";
const ACTIVE_PORT: &str = "DevToolsActivePort";

impl Backends {
    pub(crate) async fn launch(&self, name: &str, spec: &LaunchSpec) -> Result<Started, StartError> {
        let installed = self.check_launch(spec).await?;
        if installed.kind.is_firefox() {
            return self.launch_firefox(name, &installed, spec).await;
        }
        let (profile, throw_away) = self.profile_for(spec)?;
        let over_pipe = self.uses_pipe(&installed.path);
        let transport = if over_pipe { PIPE_FLAG } else { PORT_FLAG };
        let command = self.command(&installed.path, spec, transport, &profile, self.is_headless(spec));
        tracing::debug!(browser = name, program = %installed.path.display(), "spawning");
        let program = installed.path.display().to_string();
        let spawned = if over_pipe { spawn_with_pipe(command) } else { spawn_with_port(command, &profile) };
        let (child, link) = spawned.map_err(|error| not_spawned(&program, &error))?;
        let mut process = BrowserProcess::new(child, program, profile.clone(), throw_away, &self.tasks);
        process.note(&self.profiles);
        let link = match link {
            Some(link) => link,
            None => match self.dial_port(&mut process, &profile).await {
                Ok(link) => link,
                Err(error) => {
                    process.kill();
                    process.exited().await;
                    process.clean_up().await;
                    return Err(error);
                }
            },
        };
        Ok(Started { link, protocol: Protocol::Cdp, process: Some(Box::new(process)) })
    }

    /// What can be known before anything is started. Gives the program to start.
    pub(crate) async fn check_launch(&self, spec: &LaunchSpec) -> Result<Installed, StartError> {
        if let Some(name) = spec.profile.as_deref().filter(|name| registry::check_name(name).is_err()) {
            return Err(StartError {
                code: "bad_profile",
                message: format!("`{name}` is not a name for a profile"),
                hint: "use lower-case letters, digits, `-` and `_`".to_owned(),
            });
        }
        if !self.is_headless(spec) {
            check_display(spec)?;
        }
        let installed = self.choose(spec).await?;
        let takes_elsewhere = |flag: &&String| {
            let is_firefoxes = installed.kind.is_firefox() && firefox::chooses_profile(flag);
            flag.starts_with("--user-data-dir") || is_firefoxes
        };
        match self.defaults.args.iter().chain(&spec.args).find(takes_elsewhere) {
            // Such a profile would pass for a throw-away one, and its endpoint be open to everybody.
            Some(flag) => Err(StartError {
                code: "bad_profile",
                message: format!("{flag} is not taken: Bowline chooses the profile's directory"),
                hint: "use --profile NAME for a profile that is kept".to_owned(),
            }),
            None => Ok(installed),
        }
    }

    /// The command line for one run, in a process group of its own.
    pub(crate) fn command(
        &self,
        program: &Path,
        spec: &LaunchSpec,
        transport: &str,
        profile: &Path,
        headless: bool,
    ) -> Command {
        let flags = Flags {
            headless,
            no_sandbox: spec.no_sandbox.or(self.defaults.no_sandbox).unwrap_or_else(is_root),
            throw_away: spec.profile.is_none(),
            small_shared_memory: has_small_shared_memory(),
            transport,
            profile,
            extra: self.defaults.args.iter().chain(&spec.args).map(String::as_str).collect(),
        };
        let mut command = Command::new(program);
        command.args(flags.build()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        #[cfg(unix)]
        command.process_group(0);
        command.envs(spec.display.iter().filter(|(name, _)| DISPLAY_VARIABLES.contains(&name.as_str())));
        if spec.profile.is_none() {
            // Crash reports of a throw-away browser have no business in the user's own configuration.
            command.env("CHROME_CONFIG_HOME", profile);
        }
        // What it leaves in its temporary directory after a crash then goes with the profile.
        let own = profile.to_owned();
        let dirs =
            [spec.profile.is_none().then_some(own), Some(std::env::temp_dir()), Some(PathBuf::from("/tmp"))];
        if let Some(dir) = dirs.into_iter().flatten().find(|dir| has_room_for_socket(dir)) {
            command.env("TMPDIR", dir);
        }
        command
    }

    pub(crate) async fn choose(&self, spec: &LaunchSpec) -> Result<Installed, StartError> {
        let wanted = spec.browser.clone().or_else(|| self.defaults.browser.clone());
        let choice =
            tokio::task::spawn_blocking(move || detect::choose(&ThisMachine, wanted.as_deref())).await;
        match choice {
            Ok(Ok(installed)) => Ok(installed),
            Ok(Err(error)) => Err(StartError {
                code: "no_browser",
                message: error.to_string(),
                hint: error.hint(ThisMachine.platform()),
            }),
            Err(error) => Err(failed("no_browser", format!("browsers could not be looked for: {error}"))),
        }
    }

    pub(crate) fn profile_for(&self, spec: &LaunchSpec) -> Result<(PathBuf, bool), StartError> {
        let Some(name) = &spec.profile else {
            let dir = self.profiles.temporary();
            return dir.map(|dir| (dir, true)).map_err(|error| {
                failed("bad_profile", format!("a temporary profile could not be made: {error}"))
            });
        };
        let dir = self.profiles.named(name);
        dir.map(|dir| (dir, false)).map_err(|error| {
            failed("bad_profile", format!("the profile `{name}` could not be opened: {error}"))
        })
    }

    fn uses_pipe(&self, program: &Path) -> bool {
        match self.defaults.transport {
            Transport::Port => false,
            Transport::Pipe => cfg!(unix),
            // Flatpak and Snap start the browser elsewhere, without our descriptors.
            Transport::Auto => cfg!(unix) && !is_boxed(program),
        }
    }

    /// Waits for the port that the browser writes into its profile, and connects to it.
    async fn dial_port(&self, process: &mut BrowserProcess, profile: &Path) -> Result<Link, StartError> {
        let find = async {
            loop {
                if let Some(url) = active_port_url(profile) {
                    return url;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let url = tokio::select! {
            url = find => url,
            exit = process.exited() => return Err(process.explain(&exit)),
            () = tokio::time::sleep(self.defaults.launch_timeout) => {
                let seconds = self.defaults.launch_timeout.as_secs();
                let said = process.last_words();
                return Err(failed("not_ready", format!("the browser opened no debugging port within {seconds}s; it said:\n{said}")));
            }
        };
        let dialled = socket::dial(&url, self.defaults.launch_timeout).await;
        let link = dialled.map_err(|error| failed("not_ready", error.to_string()))?;
        Ok(Link { may_be_closed: true, ..link })
    }
}

/// Whether Flatpak or Snap starts this program.
pub(crate) fn is_boxed(program: &Path) -> bool {
    let boxed = |part: std::path::Component<'_>| {
        ["flatpak", "snap", "snapd"].iter().any(|name| part.as_os_str() == *name)
    };
    program.components().any(boxed)
}

#[cfg(unix)]
fn spawn_with_pipe(mut command: Command) -> io::Result<(Child, Option<Link>)> {
    use command_fds::{CommandFdExt, FdMapping};
    let (link, ends) = crate::pipe::open()?;
    command
        .fd_mappings(vec![
            FdMapping { parent_fd: ends.reads, child_fd: 3 },
            FdMapping { parent_fd: ends.writes, child_fd: 4 },
        ])
        .map_err(io::Error::other)?;
    // Our copies of the browser's ends go with the command, so that its exit is seen as an end of file.
    let child = command.spawn()?;
    drop(command);
    Ok((child, Some(link)))
}

#[cfg(not(unix))]
fn spawn_with_pipe(_: Command) -> io::Result<(Child, Option<Link>)> {
    Err(io::Error::other("the debugging pipe is not supported on this platform"))
}

fn spawn_with_port(mut command: Command, profile: &Path) -> io::Result<(Child, Option<Link>)> {
    // The file of an earlier run survives it and would name a port that is now somebody else's.
    match std::fs::remove_file(profile.join(ACTIVE_PORT)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    Ok((command.spawn()?, None))
}

/// The WebSocket URL from a profile's `DevToolsActivePort`, once both of its lines are there.
pub(crate) fn active_port_url(profile: &Path) -> Option<String> {
    let (port, path) = running::read_active_port(&ThisMachine, profile)?;
    path.map(|path| format!("ws://127.0.0.1:{port}{path}"))
}

fn has_room_for_socket(dir: &Path) -> bool {
    dir.is_dir() && dir.as_os_str().len() + SOCKET_BELOW <= LONGEST_SOCKET
}

pub(crate) fn not_spawned(program: &str, error: &io::Error) -> StartError {
    StartError {
        code: "not_executable",
        message: format!("{program} could not be started: {error}"),
        hint: "choose another browser with --browser KIND or --browser PATH".to_owned(),
    }
}

pub(crate) fn failed(code: &'static str, message: String) -> StartError {
    StartError { code, message, hint: "run `bowline doctor` for what is missing".to_owned() }
}

#[cfg(target_os = "linux")]
fn check_display(spec: &LaunchSpec) -> Result<(), StartError> {
    let ours = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let given = |name| spec.display.get(name).is_some_and(|value| !value.is_empty());
    if ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(|name| ours(name) || given(name)) {
        return Ok(());
    }
    Err(StartError {
        code: "no_display",
        message: "there is no display to open a window on (DISPLAY and WAYLAND_DISPLAY are not set)"
            .to_owned(),
        hint: "launch without --headed, or where there is a display (for example below xvfb-run)".to_owned(),
    })
}

#[cfg(not(target_os = "linux"))]
fn check_display(_: &LaunchSpec) -> Result<(), StartError> {
    Ok(())
}

fn is_root() -> bool {
    #[cfg(unix)]
    return rustix::process::geteuid().is_root();
    #[cfg(not(unix))]
    return false;
}

fn has_small_shared_memory() -> bool {
    #[cfg(target_os = "linux")]
    return rustix::fs::statvfs("/dev/shm").is_ok_and(|fs| fs.f_blocks * fs.f_frsize < ENOUGH_SHARED_MEMORY);
    #[cfg(not(target_os = "linux"))]
    return false;
}
