//! A request that is to happen: the events that tell of it, and the records that are to come of them.

mod request;
mod socket;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::text::word;
use request::Request;
use socket::Socket;

/// A method and its parameters.
pub(super) type Event = (&'static str, String);

#[derive(Debug, Clone)]
pub(super) enum Plan {
    Request(Box<Request>),
    Socket(Socket),
}

type Headers = Vec<(String, String)>;

/// What a record is to say.
pub(super) struct Expected {
    pub(super) fields: Vec<(&'static str, Value)>,
    pub(super) duration: Option<f64>,
    /// The body and whether it is base64, of a request that has one.
    pub(super) body: Option<(String, bool)>,
}

fn headers() -> impl Strategy<Value = Headers> {
    // Secrets among them: they are asked for.
    let name =
        prop_oneof![4 => word(), 1 => Just("Cookie".to_owned()), 1 => Just("authorization".to_owned())];
    prop::collection::btree_map(name, "[ -~]{0,20}", 0..4).prop_map(|headers| headers.into_iter().collect())
}

pub(super) fn plan() -> impl Strategy<Value = Plan> {
    prop_oneof![5 => request::request().prop_map(|request| Plan::Request(Box::new(request))), 1 => socket::socket().prop_map(Plan::Socket)]
}

/// When a request begins, and between two of its events, in seconds of the browser's clock.
const START: f64 = 1000.0;
const STEP: f64 = 0.25;

impl Plan {
    /// What the browser has for whoever asks for the body.
    pub(super) fn body(&self) -> Option<(String, bool)> {
        match self {
            Self::Request(request) => request.body(),
            Self::Socket(_) => None,
        }
    }

    /// The events, in an order that a browser may tell them in.
    pub(super) fn events(&self, id: &str, picks: &mut impl Iterator<Item = u8>) -> Vec<Event> {
        match self {
            Self::Request(request) => request.events(id, picks),
            Self::Socket(socket) => socket.events(id),
        }
    }

    /// One for each hop.
    pub(super) fn expected(&self) -> Vec<Expected> {
        match self {
            Self::Request(request) => request.expected(),
            Self::Socket(socket) => vec![socket.expected()],
        }
    }
}

fn object(headers: &Headers) -> Value {
    headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<serde_json::Map<_, _>>().into()
}
