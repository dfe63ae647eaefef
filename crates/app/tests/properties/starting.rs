//! A command that finds no hub starts one, and several at once start one between them.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use crate::http;
use crate::hub::{Home, Ran, is_alive, kill};
use crate::peer::Peer;
use crate::runner::{SOON, check_in_lanes, fail, until};

/// What an earlier hub has left behind.
#[derive(Debug, Clone, Copy)]
enum Left {
    Nothing,
    /// The state of one that was killed: its port may be anybody's by now.
    State,
    /// No state at all, but something under its name.
    Junk,
    /// A hub did run, and was killed.
    Killed,
}

#[derive(Debug, Clone, Copy)]
enum Command {
    Status,
    Tabs,
    Endpoint,
    TabsOfChrome,
    ConsoleOfChrome,
    EvalInChrome,
}

impl Command {
    fn words(self, port: &str) -> Vec<&str> {
        let mut words = match self {
            Self::Status => vec!["status"],
            Self::Tabs => vec!["tabs"],
            Self::Endpoint => vec!["endpoint"],
            Self::TabsOfChrome => vec!["tabs", "--port", port],
            Self::ConsoleOfChrome => vec!["console", "--port", port],
            Self::EvalInChrome => vec!["eval", "1 + 1", "--port", port],
        };
        words.push("--json");
        words
    }
}

/// Whatever becomes of a case, its hub does not outlive it.
struct Guard<'a>(&'a Home);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if is_alive(self.0)
            && let Some(pid) = self.0.state().and_then(|state| state["pid"].as_i64())
        {
            kill(pid);
        }
    }
}

#[test]
fn property_04_proxy_server_auto_start_reliability() {
    let left = || prop_oneof![Just(Left::Nothing), Just(Left::State), Just(Left::Junk), Just(Left::Killed)];
    let commands = || {
        let all = [
            Command::Status,
            Command::Tabs,
            Command::Endpoint,
            Command::TabsOfChrome,
            Command::ConsoleOfChrome,
            Command::EvalInChrome,
        ];
        prop::collection::vec(prop::sample::select(all.to_vec()), 1..5)
    };
    let prepare = || {
        let peer = Peer::start();
        peer.open_tab();
        peer
    };
    check_in_lanes(
        2,
        prepare,
        || (left(), commands()),
        |peer, (left, commands)| {
            let home = Home::new();
            let _guard = Guard(&home);
            let mut hubs = 0;
            match left {
                Left::Nothing => {}
                Left::State => {
                    let state =
                        json!({"port": peer.port(), "pid": 1, "version": "0", "token": "x", "browsers": []});
                    leave(&home, &state.to_string());
                }
                Left::Junk => leave(&home, "{\"port\":"),
                Left::Killed => {
                    home.run(&["status", "--json"]).data()?;
                    let pid = home.state().and_then(|state| state["pid"].as_i64());
                    kill(pid.ok_or_else(|| fail("a hub without a state"))?);
                    until("the hub has died", SOON, || (!is_alive(&home)).then_some(()))?;
                    hubs += 1;
                }
            }
            let port = peer.port().to_string();
            let ran: Vec<Ran> = std::thread::scope(|scope| {
                let run = |command: &Command| {
                    let words = command.words(&port);
                    let home = &home;
                    scope.spawn(move || home.run(&words))
                };
                let running: Vec<_> = commands.iter().map(run).collect();
                running.into_iter().map(|ran| ran.join().expect("a thread")).collect()
            });
            for (command, ran) in commands.iter().zip(&ran) {
                let data = ran.data()?;
                prop_assert_eq!(&ran.stderr, "", "{:?}", command);
                fits(*command, &data, &home)?;
            }

            // It is there, it is ready, and it is one.
            let state = home.state().ok_or_else(|| fail("a hub without a state"))?;
            let token = format!("Bearer {}", state["token"].as_str().unwrap_or_default());
            let port = state["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or_default();
            let status = http::exchange(port, "GET", "/api/status", &[("Authorization", &token)], None);
            let status = status.map_err(|error| fail(error.to_string()))?.json().unwrap_or_default();
            prop_assert_eq!(&status["data"]["pid"], &state["pid"]);
            hubs += 1;
            let log = std::fs::read_to_string(home.path("state/bowline/hub.log")).unwrap_or_default();
            let ready = log.lines().filter(|line| line.contains("ready port=")).count();
            prop_assert_eq!(ready, hubs, "{}", log);
            let ended = home.run(&["shutdown", "--json"]).data()?;
            prop_assert_eq!(&ended["pid"], &state["pid"]);
            prop_assert!(!is_alive(&home));
            Ok(())
        },
    );
}

fn leave(home: &Home, state: &str) {
    let directory = home.path("run/bowline");
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("state.json"), state).expect("a file");
    // Ours are nobody else's; a hub refuses to use others.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(&directory, private).expect("permissions");
    }
}

fn fits(command: Command, data: &Value, home: &Home) -> TestCaseResult {
    let state = home.state().unwrap_or_default();
    match command {
        Command::Status => prop_assert_eq!(&data["pid"], &state["pid"]),
        Command::Endpoint => prop_assert_eq!(&data["port"], &state["port"]),
        Command::Tabs => prop_assert_eq!(&data["running"], &json!(false)),
        Command::TabsOfChrome => prop_assert_eq!(data["tabs"].as_array().map(Vec::len), Some(1)),
        Command::ConsoleOfChrome => prop_assert_eq!(&data["messages"], &json!([])),
        Command::EvalInChrome => prop_assert_eq!(&data["value"], &json!(2)),
    }
    Ok(())
}
