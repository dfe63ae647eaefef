//! Waiting for one's turn at a browser that takes one client at a time (`cdp.client_mode`): the hub
//! answers 409, and tells at `/client-slot` when the place is free.

use std::time::Duration;

use hyper::Request;
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use crate::http;

/// How long one waits for the others.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks; about half as much again at random, so that those who wait do not come at once.
const PAUSE: Duration = Duration::from_millis(200);

/// The place at a browser, as its URL leads to it.
pub(crate) struct Slot<'a> {
    authority: &'a str,
    /// What stands before `/devtools` in its URL: token and name.
    prefix: &'a str,
}

impl<'a> Slot<'a> {
    /// `None` for a URL that is no WebSocket of a browser.
    pub(crate) fn of(url: &'a str) -> Option<Self> {
        let rest = url.strip_prefix("ws://")?;
        let (authority, path) = rest.split_at(rest.find('/')?);
        Some(Self { authority, prefix: path.split("/devtools/").next().unwrap_or_default() })
    }

    /// Returns when the place seems to be free; `false` if it is not before the deadline.
    pub(crate) async fn is_free_before(&self, deadline: Instant) -> bool {
        while Instant::now() < deadline {
            sleep(PAUSE + PAUSE.mul_f64(random_fraction())).await;
            // One that cannot be asked is tried; the attempt says what is wrong.
            if !self.is_busy().await.unwrap_or(false) {
                return true;
            }
        }
        false
    }

    async fn is_busy(&self) -> Option<bool> {
        #[derive(Deserialize)]
        struct Answer {
            busy: bool,
        }
        let request = Request::builder().uri(format!("{}/client-slot", self.prefix));
        let (_, answer) = http::exchange(self.authority, request, Vec::new()).await.ok()?;
        serde_json::from_slice::<Answer>(&answer).ok().map(|answer| answer.busy)
    }
}

/// From 0 to 1.
fn random_fraction() -> f64 {
    let random = bowline_hub::auth::random_bytes().map_or(128, |bytes| bytes[0]);
    f64::from(random) / 255.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_leads_to_its_slot() {
        let slot = Slot::of("ws://127.0.0.1:9223/t/T/b/work/devtools/browser/ID").unwrap();
        assert_eq!((slot.authority, slot.prefix), ("127.0.0.1:9223", "/t/T/b/work"));
        let plain = Slot::of("ws://127.0.0.1:9223/devtools/browser/ID").unwrap();
        assert_eq!(plain.prefix, "");
        assert!(Slot::of("http://127.0.0.1:9223/").is_none());
    }

    #[tokio::test]
    async fn one_waits_until_the_place_is_free() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}/b/work/devtools/browser/ID", listener.local_addr().unwrap());
        let hub = async {
            for busy in [true, false] {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 1024];
                let length = stream.read(&mut request).await.unwrap();
                assert!(request[..length].starts_with(b"GET /b/work/client-slot "));
                let body = format!("{{\"busy\":{busy}}}");
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            }
        };
        let slot = Slot::of(&url).unwrap();
        let waiting = slot.is_free_before(Instant::now() + PATIENCE);
        assert!(tokio::join!(waiting, hub).0);
        assert!(!slot.is_free_before(Instant::now()).await, "no time is left");
    }
}
