//! What a hub does because of its settings, seen from outside.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::Settings;
use crate::http::{Answer, exchange};
use crate::hub::{Connected, Hub, connected};
use crate::peer::{Door, Peer};
use crate::runner::{SOON, fail, until};
use crate::stage::{logged, now, sent, string, texts};

/// More than is kept where little is, less than is kept where nothing was said.
const MANY: usize = 40;
/// Longer than any limit of a text that is said, shorter than that which is so without.
const LONG: usize = 5_000;

pub(super) struct Effects<'a> {
    hub: &'a Hub,
    settings: &'a Settings,
    peer: Peer,
    tab: Connected,
    /// When it was connected to.
    since: Instant,
}

impl<'a> Effects<'a> {
    pub(super) fn new(hub: &'a Hub, settings: &'a Settings) -> Result<Self, TestCaseError> {
        let peer = Peer::start();
        let target = peer.open_tab();
        let tab = Asking(hub).connect(&peer, &target)?;
        Ok(Self { hub, settings, peer, tab, since: Instant::now() })
    }

    /// What takes time is begun first and looked at last.
    pub(super) fn check(self) -> TestCaseResult {
        let asking = Asking(self.hub);
        let doomed = self.peer.open_tab();
        let doomed = asking.connect(&self.peer, &doomed)?;
        // To connect, the hub asks what it also asks to probe.
        self.peer.forget_seen();
        self.peer.close_tab(&doomed.tab);
        let closed = Instant::now();
        let dialog = self.open_dialog(&asking)?;
        self.counts(&asking)?;
        self.body(&asking)?;
        self.status(&asking)?;
        self.dialog(dialog)?;
        self.probes()?;
        self.rate_limit()?;
        self.closed_tab(&asking, &doomed, closed)?;
        self.attempts(&asking)
    }

    fn counts(&self, asking: &Asking<'_>) -> TestCaseResult {
        let settings = self.settings;
        let socket = json!({"requestId": "socket", "url": "ws://a.test/"});
        for number in 0..MANY {
            let params = logged("log", &[string(&number.to_string())]);
            self.peer.emit(&self.tab.tab, "Runtime.consoleAPICalled", params);
            let params = sent(&number.to_string(), &format!("http://a.test/{number}"));
            self.peer.emit(&self.tab.tab, "Network.requestWillBeSent", params);
        }
        self.peer.emit(&self.tab.tab, "Network.webSocketCreated", socket);
        for number in 0..MANY {
            let frame = json!({"requestId": "socket", "timestamp": 1.0,
                "response": {"opcode": 1, "payloadData": number.to_string()}});
            self.peer.emit(&self.tab.tab, "Network.webSocketFrameReceived", frame);
        }
        let long = "x".repeat(LONG);
        self.peer.emit(&self.tab.tab, "Runtime.consoleAPICalled", logged("error", &[string(&long)]));

        let path = format!("/api/console/{}", self.tab.id);
        let console = until("the last is known", SOON, || {
            let data = asking.data(&path).ok()?;
            texts(&data).last().is_some_and(|text| text.starts_with("xxx")).then_some(data)
        })?;
        let kept = settings.max_console.value().map_or(MANY + 1, |most| (*most).min(MANY + 1));
        prop_assert_eq!(texts(&console).len(), kept, "max_console");
        let length = settings.max_text.value().map_or(LONG, |most| most.0);
        prop_assert_eq!(texts(&console).last().map(String::len), Some(length), "max_text");

        let network = asking.data(&format!("/api/network/{}", self.tab.id))?;
        let requests = network["requests"].as_array().cloned().unwrap_or_default();
        let kept = settings.max_requests.value().map_or(MANY + 1, |most| (*most).min(MANY + 1));
        prop_assert_eq!(requests.len(), kept, "max_requests");
        let frames = requests.last().and_then(|socket| socket["messages"].as_array()).map_or(0, Vec::len);
        prop_assert_eq!(frames, settings.max_frames.value().copied().unwrap_or(MANY), "max_frames");
        Ok(())
    }

    fn body(&self, asking: &Asking<'_>) -> TestCaseResult {
        self.peer.put_body("page", &"x".repeat(LONG), false);
        self.peer.emit(&self.tab.tab, "Network.requestWillBeSent", sent("page", "http://a.test/page"));
        let response = json!({"requestId": "page", "timestamp": 2.0, "type": "Fetch",
            "response": {"status": 200, "headers": {}}});
        self.peer.emit(&self.tab.tab, "Network.responseReceived", response);
        let path = format!("/api/network/{}/page/body", self.tab.id);
        let body = until("the body is there", SOON, || asking.data(&path).ok())?;
        let length = self.settings.max_body.value().map_or(LONG, |most| most.0);
        prop_assert_eq!(body["body"].as_str().map(str::len), Some(length), "max_body");
        prop_assert_eq!(body["truncated"] == true, length < LONG);
        Ok(())
    }

    fn status(&self, asking: &Asking<'_>) -> TestCaseResult {
        let status = asking.data("/api/status")?;
        let persists = self.settings.persist.value().copied().unwrap_or(true);
        prop_assert_eq!(&status["recorder"]["kept_in"], &json!(if persists { "disk" } else { "memory" }));
        prop_assert_eq!(self.hub.home.database().exists(), persists);
        let wants = self.settings.require_token.value().copied().unwrap_or(false);
        let default =
            status["browsers"].as_array().into_iter().flatten().find(|one| one["name"] == "default");
        prop_assert_eq!(default.map(|one| one["needs_token"] == true), Some(wants));
        Ok(())
    }

    /// In a tab of its own: that it was dismissed is a line of the console.
    fn open_dialog(&self, asking: &Asking<'_>) -> Result<Instant, TestCaseError> {
        let tab = asking.connect(&self.peer, &self.peer.open_tab())?;
        let opened = json!({"url": "http://a.test/", "message": "well?", "type": "confirm",
            "hasBrowserHandler": false, "defaultPrompt": "", "timestamp": now()});
        self.peer.emit(&tab.tab, "Page.javascriptDialogOpening", opened);
        Ok(Instant::now())
    }

    fn dialog(&self, opened: Instant) -> TestCaseResult {
        let dismissed = || !self.peer.seen(|seen| seen.method == "Page.handleJavaScriptDialog").is_empty();
        match self.settings.dialogs.value() {
            Some(timeout) if !timeout.is_zero() => {
                until("the dialog is dismissed", *timeout + SOON, || dismissed().then_some(()))?;
                prop_assert!(opened.elapsed() >= *timeout, "too early");
            }
            // Five seconds are not over yet, or it stays for ever.
            said => prop_assert!(!dismissed() || said.is_none() && opened.elapsed().as_secs() >= 5),
        }
        Ok(())
    }

    /// How often the connection is asked whether it is well.
    fn probes(&self) -> TestCaseResult {
        let is_probe = |method: &str, params: &str| {
            method == "Target.getTargetInfo" && params.contains(self.tab.tab.as_str())
        };
        let count = || self.peer.seen(|seen| is_probe(&seen.method, &seen.params)).len();
        let Some(interval) = self.settings.health_interval.value() else {
            prop_assert!(count() == 0 || self.since.elapsed().as_secs() >= 30);
            return Ok(());
        };
        // Each is a fifth late at most. Far less than a second each, though the machine may be busy.
        let (begun, before) = (Instant::now(), count());
        until("five probes", Duration::from_millis(3_900), || (count() >= before + 5).then_some(()))?;
        prop_assert!(begun.elapsed() >= *interval * 4, "five within {:?}", begun.elapsed());
        Ok(())
    }

    /// Who asks faster than is allowed is refused, and told so.
    fn rate_limit(&self) -> TestCaseResult {
        let Some(limit) = self.settings.rate_limit.value() else { return Ok(()) };
        let headers = [("Authorization", self.hub.bearer()), ("X-Bowline-Client", "hasty")];
        let begun = Instant::now();
        let mut allowed = 0;
        let refused = loop {
            let answer = exchange(self.hub.port, "GET", "/api/health/none", &headers, None);
            let answer = answer.map_err(|error| fail(error.to_string()))?;
            if answer.status == 429 {
                break answer;
            }
            allowed += 1;
            prop_assert!(allowed < 1000, "nobody is refused");
        };
        prop_assert_eq!(refused.code(), "rate_limited");
        prop_assert!(refused.header("retry-after").is_some());
        // So many at once, and one more for each part of a second.
        let most = *limit + (begun.elapsed().as_secs_f64() * *limit as f64) as usize + 1;
        prop_assert!(allowed >= *limit && allowed <= most, "{allowed} of {limit}");
        Ok(())
    }

    fn closed_tab(&self, asking: &Asking<'_>, doomed: &Connected, closed: Instant) -> TestCaseResult {
        let path = format!("/api/browsers/{}/tabs/{}/console", doomed.browser, doomed.tab);
        let Some(keep) = self.settings.keep_closed.value() else {
            prop_assert_eq!(asking.get(&path)?.status, 200, "an hour is not over");
            return Ok(());
        };
        until("it is forgotten", *keep + SOON, || {
            let is_gone = asking.get(&path).ok()?.status == 404;
            is_gone.then_some(())
        })?;
        prop_assert!(closed.elapsed() >= *keep);
        Ok(())
    }

    /// How often a browser that has gone is sought. Last, as it stays away.
    fn attempts(&self, asking: &Asking<'_>) -> TestCaseResult {
        let Some(attempts) = self.settings.attempts.value() else { return Ok(()) };
        let tab = self.peer.open_tab();
        let tab = asking.connect(&self.peer, &tab)?;
        self.peer.set_door(Door::Slammed);
        self.peer.drop_links();
        let path = format!("/api/health/{}", tab.id);
        until("it has failed", SOON, || {
            let answer = asking.get(&path).ok()?;
            // With a short memory it is forgotten as soon as it has failed.
            (answer.status == 404 || answer.json()?["data"]["state"] == "failed").then_some(())
        })?;
        prop_assert_eq!(self.peer.turned_away(), *attempts, "attempts");
        Ok(())
    }
}

/// Asks as somebody new each time: how fast one may ask is part of what is tried.
struct Asking<'a>(&'a Hub);

impl Asking<'_> {
    fn send(&self, method: &str, path: &str, body: Option<&str>) -> Result<Answer, TestCaseError> {
        let client = format!("asker-{}", now());
        let headers = [
            ("Authorization", self.0.bearer()),
            ("Content-Type", "application/json"),
            ("X-Bowline-Client", client.as_str()),
        ];
        exchange(self.0.port, method, path, &headers, body.map(str::as_bytes))
            .map_err(|error| fail(format!("{method} {path}: {error}")))
    }

    fn get(&self, path: &str) -> Result<Answer, TestCaseError> {
        self.send("GET", path, None)
    }

    fn data(&self, path: &str) -> Result<Value, TestCaseError> {
        let answer = self.get(path)?;
        match answer.json() {
            Some(mut json) if answer.status == 200 => Ok(json["data"].take()),
            _ => Err(fail(format!("{path}: {} {}", answer.status, answer.text()))),
        }
    }

    fn connect(&self, peer: &Peer, tab: &str) -> Result<Connected, TestCaseError> {
        let request = json!({"port": peer.port(), "targetId": tab}).to_string();
        let answer = self.send("POST", "/api/connect", Some(&request))?;
        prop_assert_eq!(answer.status, 200, "{}", answer.text());
        Ok(connected(&answer.json().unwrap_or_default()["data"]))
    }
}
