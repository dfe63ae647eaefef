//! How often one client may ask.
//!
//! A client is who it says it is (`?client=`, or the header `X-Bowline-Client`); those who do not say are
//! one. All know the token, so this guards against a loop that has run wild, not against an enemy.

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::failure::Failure;

pub(crate) type Limiter = Arc<DefaultKeyedRateLimiter<String>>;

/// Clients beyond this are looked through, and those that rest are forgotten.
const MANY: usize = 1_000;

pub(crate) fn limiter(per_second: NonZeroU32) -> Limiter {
    Arc::new(RateLimiter::keyed(Quota::per_second(per_second)))
}

pub(crate) async fn check(State(limiter): State<Limiter>, request: Request, next: Next) -> Response {
    if limiter.len() > MANY {
        limiter.retain_recent();
    }
    match limiter.check_key(&client_of(&request)) {
        Ok(()) => next.run(request).await,
        Err(until) => {
            let seconds = until.wait_time_from(DefaultClock::default().now()).as_secs() + 1;
            let hint = "ask less often, follow a stream with ?follow=1, or raise api.rate_limit";
            Failure::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", "too many requests", hint)
                .retry_after(seconds)
                .into_response()
        }
    }
}

fn client_of(request: &Request) -> String {
    let named = request.headers().get("x-bowline-client").and_then(|name| name.to_str().ok());
    let query = request.uri().query().unwrap_or_default();
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("client="));
    named.or(asked).unwrap_or_default().chars().take(100).collect()
}
