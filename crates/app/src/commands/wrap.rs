//! `bowline wrap`: runs a command with the endpoint put into its arguments and environment.
//!
//! While the command runs, the hub is held: it does not leave for idleness, and one that died is
//! started again, so that the endpoint the command was given stays good.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use bowline_hub::statefile::State;
use futures_util::StreamExt;
use tokio::process::{Child, Command};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::Context;
use super::endpoint::{self, Endpoint};
use crate::cli::WrapArgs;
use crate::failure::{Failure, exit};
use crate::job;
use crate::signals::{Asked, Signals};

const PLACEHOLDERS: [&str; 3] = ["{cdp_port}", "{cdp_endpoint}", "{cdp_ws}"];

pub(super) fn run(context: &Context<'_>, args: WrapArgs) -> Result<ExitCode, Failure> {
    let state = context.hub()?;
    let endpoint = endpoint::of(context, &state, &args.browser)?;
    if endpoint.needs_token && args.command.iter().any(names_url) {
        return Err(Failure::new(
            exit::USAGE,
            "secret_in_arguments",
            format!(
                "the URL of `{}` has a secret in it, which other users could read in a command's arguments",
                args.browser
            ),
        )
        .hint(
            "put the placeholder into an environment variable instead: CDP={cdp_endpoint} bowline wrap ...",
        ));
    }
    let mut command = Command::new(replaced(&args.command[0], &endpoint));
    command.args(args.command[1..].iter().map(|word| replaced(word, &endpoint)));
    for (name, value) in std::env::vars_os() {
        let new = replaced(&value, &endpoint);
        if new != value {
            command.env(name, new);
        }
    }
    context.block_on(async {
        // Listened for first: a signal that comes right after the child would otherwise end us alone.
        let signals =
            Signals::listen().map_err(|error| Failure::io("signals cannot be listened for", &error))?;
        let child = command.spawn().map_err(|error| not_started(&args.command[0], &error))?;
        let status = tokio::select! {
            status = attend(child, signals) => status,
            never = hold(context, state) => match never {},
        };
        let status = status.map_err(|error| Failure::io("the command could not be waited for", &error))?;
        Ok(ExitCode::from(code_of(status)))
    })
}

/// Waits for the child, passing on the signals that we get.
async fn attend(mut child: Child, mut signals: Signals) -> io::Result<ExitStatus> {
    let from_terminal = job::is_in_foreground();
    loop {
        let asked = tokio::select! {
            status = child.wait() => return status,
            asked = signals.next() => asked,
        };
        // Ctrl-C has reached the child already; a second one would mean "at once" to many programs.
        if asked == Asked::Interrupt && from_terminal {
            continue;
        }
        pass_on(&child, asked);
    }
}

#[cfg(unix)]
fn pass_on(child: &Child, asked: Asked) {
    use rustix::process::{Pid, Signal, kill_process};
    let signal = match asked {
        Asked::Interrupt => Signal::INT,
        Asked::Terminate => Signal::TERM,
        Asked::HangUp => Signal::HUP,
    };
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// The console gives its Ctrl-C to the child as well.
#[cfg(not(unix))]
fn pass_on(_: &Child, _: Asked) {}

/// Keeps the hub for as long as this is polled. When the hub has left on purpose there is nothing to
/// hold any more, but it must not end the wait for the child.
async fn hold(context: &Context<'_>, mut state: State) -> Infallible {
    loop {
        match held_until_end(&state).await {
            End::OnPurpose => std::future::pending().await,
            End::Died => {}
        }
        match context.meanwhile(|context| context.hub()).await {
            Ok(new) => state = new,
            Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
        }
    }
}

enum End {
    OnPurpose,
    Died,
}

async fn held_until_end(state: &State) -> End {
    let Ok(mut request) = format!("ws://127.0.0.1:{}/api/hold", state.port).into_client_request() else {
        return End::Died;
    };
    if let Ok(value) = format!("Bearer {}", state.token).parse() {
        request.headers_mut().insert("Authorization", value);
    }
    let Ok(stream) = tokio::net::TcpStream::connect(("127.0.0.1", state.port)).await else {
        return End::Died;
    };
    let Ok((mut socket, _)) = tokio_tungstenite::client_async(request, stream).await else {
        return End::Died;
    };
    loop {
        match socket.next().await {
            Some(Ok(Message::Close(Some(_)))) => return End::OnPurpose,
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return End::Died,
        }
    }
}

fn names_url(word: &OsString) -> bool {
    word.to_str().is_some_and(|word| PLACEHOLDERS[1..].iter().any(|name| word.contains(name)))
}

fn replaced(word: &OsString, endpoint: &Endpoint) -> OsString {
    let Some(text) = word.to_str().filter(|text| text.contains("{cdp_")) else { return word.clone() };
    let values = [endpoint.port.to_string(), endpoint.endpoint.clone(), endpoint.ws_endpoint.clone()];
    PLACEHOLDERS
        .iter()
        .zip(values)
        .fold(text.to_owned(), |text, (name, value)| text.replace(name, &value))
        .into()
}

fn not_started(program: &OsString, error: &io::Error) -> Failure {
    let code = if error.kind() == io::ErrorKind::NotFound { exit::NOT_FOUND } else { exit::NOT_EXECUTABLE };
    Failure::new(
        code,
        "command_not_started",
        format!("{} could not be started: {error}", program.to_string_lossy()),
    )
}

fn code_of(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(exit::FAILED);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::FAILED)
}
