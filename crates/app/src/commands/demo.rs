//! `bowline demo`: a tour of a few seconds with a hub, a browser and a page of its own. Nothing of
//! the user's is touched, and nothing stays behind.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use hyper::Request;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

use super::Context;
use crate::cli::DemoArgs;
use crate::failure::{Failure, exit};
use crate::output::{FAINT, GOOD, Output};
use crate::tiny_cdp::TinyCdp;
use crate::{http, paths};

const PAGE: &str = "<!doctype html><title>Bowline demo</title>\
<button id=knot style='position:absolute;left:0;top:0;width:200px;height:100px' \
onclick='this.textContent=++window.clicks'>Tie</button><script>window.clicks=0</script>";

/// Variables that the demo's hub takes over, beside `BOWLINE_LAUNCH_*`.
const KEPT: [&str; 3] = ["BOWLINE_BROWSER", "BOWLINE_NO_SANDBOX", "BOWLINE_ARGS"];

#[derive(Serialize)]
struct Step {
    what: String,
    millis: u128,
}

struct Tour {
    output: Output,
    steps: Vec<Step>,
    begun: Instant,
}

impl Tour {
    /// Tells what has just been shown, and how long it took.
    fn shown(&mut self, what: impl Into<String>) {
        let (what, millis) = (what.into(), self.begun.elapsed().as_millis());
        if !self.output.is_json() {
            self.output.line(format!("{GOOD}✓{GOOD:#} {what} {FAINT}({millis} ms){FAINT:#}"));
        }
        self.steps.push(Step { what, millis });
        self.begun = Instant::now();
    }
}

pub(super) fn run(context: &Context<'_>, args: &DemoArgs) -> Result<(), Failure> {
    let home = paths::temp_dir()?.join(format!("bowline-demo-{}", std::process::id()));
    std::fs::create_dir(&home).map_err(|error| Failure::io("a directory for the demo", &error))?;
    let result = context.block_on(async {
        let mut tour = Tour { output: *context.output, steps: Vec::new(), begun: Instant::now() };
        let mut hub = start_hub(&home, args)?;
        let result = tell(&mut tour, &mut hub).await;
        end_hub(&mut hub).await?;
        result?;
        if left_behind(&home) {
            return Err(Failure::new(exit::FAILED, "demo", "the hub left a profile behind"));
        }
        tour.shown("The hub has left; no browser and no profile stay behind");
        Ok(tour.steps)
    });
    // Whatever happened, the demo's directory goes.
    let removed = std::fs::remove_dir_all(&home);
    let steps = result?;
    removed.map_err(|error| Failure::io("the demo's directory", &error))?;
    context.output.result(&steps, |_| String::new());
    Ok(())
}

async fn tell(tour: &mut Tour, hub: &mut Child) -> Result<(), Failure> {
    let port = announced_port(hub).await?;
    let endpoint = format!("http://127.0.0.1:{port}");
    tour.shown(format!("A hub is up at {endpoint}; no browser runs yet"));

    let version = get_json(port, "/json/version").await?;
    let socket_url = text(&version["webSocketDebuggerUrl"])?;
    tour.shown(format!("The first request launched {}", text(&version["Browser"])?));

    let page = serve_page().await?;
    let mut client = TinyCdp::connect(&socket_url).await?;
    let session = open_tab(&mut client, &page).await?;
    let title = client.evaluate(&session, "document.title").await?;
    ensure(title == "Bowline demo", "the page has its title")?;
    tour.shown(format!("A tab shows {page} (\"{}\")", text(&title)?));

    click(&mut client, &session).await?;
    let clicks = client.evaluate(&session, "window.clicks").await?;
    ensure(clicks == 1, "the page has counted one click")?;
    tour.shown("A real click reached the page; it counted 1");

    let endless = json!({"expression": "new Promise(() => {})", "awaitPromise": true});
    let pending = client.send(Some(&session), "Runtime.evaluate", endless).await?;
    client.send(None, "Browser.crash", json!({})).await?;
    let answer = client.answer(pending).await?;
    ensure(answer.get("error").is_some(), "the unanswered command got an error")?;
    let reason = client.closing_reason().await.unwrap_or_default();
    ensure(!reason.is_empty(), "the connection was closed with a reason")?;
    tour.shown(format!("The browser crashed: the open command was answered, the client told \"{reason}\""));

    let mut client = TinyCdp::connect(&socket_url).await?;
    let session = open_tab(&mut client, &page).await?;
    click(&mut client, &session).await?;
    ensure(client.evaluate(&session, "window.clicks").await? == 1, "the new browser works")?;
    let again = get_json(port, "/json/version").await?;
    ensure(again["webSocketDebuggerUrl"] == socket_url.as_str(), "the endpoint is unchanged")?;
    tour.shown("The same URL led to a new browser; the endpoint is unchanged");
    Ok(())
}

/// A hub apart from the user's own: its directories are below `home`, its port is the system's choice.
fn start_hub(home: &Path, args: &DemoArgs) -> Result<Child, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::io("our own program", &error))?;
    let mut command = Command::new(program);
    command.args(["serve", "--json", "--port", "0", "--idle-timeout", "0"]);
    if let Some(browser) = &args.browser {
        command.args(["--browser", browser]);
    }
    // What the user has set for their own hub is not for this one, but a browser that needs help to
    // start needs it here too.
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if name.starts_with("BOWLINE_") && !name.starts_with("BOWLINE_LAUNCH_") && !KEPT.contains(&&*name) {
            command.env_remove(&variable);
        }
    }
    for (variable, dir) in [
        ("BOWLINE_RUNTIME_DIR", "runtime"),
        ("BOWLINE_STATE_DIR", "state"),
        ("BOWLINE_DATA_DIR", "data"),
        ("TMPDIR", "tmp"),
        // It does not exist: the user's own file is not read.
        ("BOWLINE_CONFIG", "config.toml"),
    ] {
        command.env(variable, home.join(dir));
    }
    command.env("BOWLINE_LOG", "warn");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    command.spawn().map_err(|error| Failure::io("the demo's hub", &error))
}

async fn announced_port(hub: &mut Child) -> Result<u16, Failure> {
    let stdout =
        hub.stdout.take().ok_or_else(|| Failure::new(exit::FAILED, "demo", "the hub has no output"))?;
    let mut line = String::new();
    BufReader::new(stdout)
        .read_line(&mut line)
        .await
        .map_err(|error| Failure::io("the hub's announcement", &error))?;
    let ready: Value = serde_json::from_str(&line).unwrap_or_default();
    match ready["port"].as_u64().and_then(|port| u16::try_from(port).ok()) {
        Some(port) => Ok(port),
        None => {
            let message = ready["error"]["message"].as_str().unwrap_or("the demo's hub did not start");
            Err(Failure::new(exit::NO_HUB, "no_hub", message).hint("run `bowline doctor`"))
        }
    }
}

async fn end_hub(hub: &mut Child) -> Result<(), Failure> {
    #[cfg(unix)]
    if let Some(pid) =
        hub.id().and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw)
    {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    #[cfg(not(unix))]
    let _ = hub.start_kill();
    match tokio::time::timeout(Duration::from_secs(15), hub.wait()).await {
        Ok(Ok(_)) => Ok(()),
        _ => Err(Failure::new(exit::FAILED, "demo", "the demo's hub did not leave")),
    }
}

fn left_behind(home: &Path) -> bool {
    fn any_profile(dir: &Path) -> bool {
        std::fs::read_dir(dir).is_ok_and(|entries| {
            entries.flatten().any(|entry| {
                entry.file_name().to_string_lossy().starts_with("profile-") || any_profile(&entry.path())
            })
        })
    }
    any_profile(&home.join("tmp"))
}

async fn open_tab(client: &mut TinyCdp, page: &str) -> Result<String, Failure> {
    let target = client.call(None, "Target.createTarget", json!({"url": page})).await?;
    let params = json!({"targetId": target["targetId"], "flatten": true});
    let session = text(&client.call(None, "Target.attachToTarget", params).await?["sessionId"])?;
    let loaded = "new Promise(done => document.readyState === 'complete' && window.clicks === 0 ? done(true) \
                  : addEventListener('load', () => done(true)))";
    // The first page may be replaced while it is asked, so the question is put again.
    for _ in 0..50 {
        if client.evaluate(&session, loaded).await.is_ok_and(|loaded| loaded == true)
            && client.evaluate(&session, "location.href").await? == page
        {
            return Ok(session);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(Failure::new(exit::FAILED, "demo", "the page did not load"))
}

async fn click(client: &mut TinyCdp, session: &str) -> Result<(), Failure> {
    for kind in ["mousePressed", "mouseReleased"] {
        let params = json!({"type": kind, "x": 50, "y": 50, "button": "left", "clickCount": 1});
        client.call(Some(session), "Input.dispatchMouseEvent", params).await?;
    }
    Ok(())
}

/// Serves the demo's page on loopback for as long as the demo runs.
async fn serve_page() -> Result<String, Failure> {
    let fail = |error: std::io::Error| Failure::io("the demo's page", &error);
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(fail)?;
    let url = format!("http://{}/", listener.local_addr().map_err(fail)?);
    // Ends with the runtime, which lives as long as the demo.
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let length = PAGE.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all(format!("{head}{PAGE}").as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    Ok(url)
}

async fn get_json(port: u16, path: &str) -> Result<Value, Failure> {
    let (status, body) = http::exchange(&format!("127.0.0.1:{port}"), Request::get(path), Vec::new())
        .await
        .map_err(|error| Failure::io("the endpoint", &error))?;
    if status.is_success() {
        return serde_json::from_slice(&body)
            .map_err(|error| Failure::new(exit::FAILED, "demo", error.to_string()));
    }
    let body = String::from_utf8_lossy(&body);
    let (message, hint) = body.split_once("\nHint: ").unwrap_or((&body, ""));
    Err(Failure::new(exit::NOT_STARTED, "not_started", message).hint(hint.trim()))
}

fn text(value: &Value) -> Result<String, Failure> {
    value
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| Failure::new(exit::FAILED, "demo", format!("{value} is no text")))
}

fn ensure(holds: bool, what: &str) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::new(exit::FAILED, "demo", format!("this did not hold: {what}"))) }
}
