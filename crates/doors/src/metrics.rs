//! `/metrics`, for Prometheus.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bowline_hub::browser::Life;
use bowline_hub::connections::State as ConnectionState;
use bowline_hub::recorder::Durability;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::guard;
use crate::listeners::Door;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfBrowser {
    browser: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfState {
    state: &'static str,
}

pub(crate) async fn metrics(State(door): State<Arc<Door>>, request: Request) -> Response {
    if !guard::is_authorized(door.hub.token(), None, request.headers(), request.uri().query()) {
        return guard::unauthorized(
            "/metrics wants the token, as `Authorization: Bearer TOKEN` or `?token=`.\n",
        );
    }
    let registry = measure(&door);
    let mut text = String::new();
    if encode(&mut text, &registry).is_err() {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// What there is to count, at this moment.
fn measure(door: &Door) -> Registry {
    let hub = &door.hub;
    let mut registry = Registry::with_prefix("bowline");
    let (ready, clients, starts) =
        <(Family<OfBrowser, Gauge>, Family<_, Gauge>, Family<_, Gauge>)>::default();
    for browser in hub.browsers() {
        let label = OfBrowser { browser: browser.name().to_owned() };
        let snapshot = browser.snapshot();
        ready.get_or_create(&label).set(i64::from(snapshot.life == Life::Ready));
        clients.get_or_create(&label).set(snapshot.clients() as i64);
        starts.get_or_create(&label).set(snapshot.starts as i64);
    }
    registry.register("browser_ready", "Whether the browser runs and answers", ready);
    registry.register("browser_clients", "CDP clients connected", clients);
    registry.register("browser_starts", "Times it has become ready since the hub came up", starts);

    let (tabs, messages, requests) =
        <(Family<OfBrowser, Gauge>, Family<_, Gauge>, Family<_, Gauge>)>::default();
    let (messages_dropped, requests_dropped) =
        <(Family<OfBrowser, Gauge>, Family<OfBrowser, Gauge>)>::default();
    let bytes = {
        let store = hub.recorder().store();
        for tab in store.tabs() {
            let label = OfBrowser { browser: tab.browser.clone() };
            tabs.get_or_create(&label).inc_by(i64::from(tab.is_open()));
            messages.get_or_create(&label).inc_by(tab.console.len() as i64);
            requests.get_or_create(&label).inc_by(tab.network.len() as i64);
            messages_dropped.get_or_create(&label).inc_by(tab.console_dropped as i64);
            requests_dropped.get_or_create(&label).inc_by(tab.network_dropped as i64);
        }
        store.bytes()
    };
    registry.register("recorder_open_tabs", "Tabs that are being recorded", tabs);
    registry.register("recorder_console_messages", "Console messages remembered", messages);
    registry.register("recorder_requests", "Requests remembered", requests);
    registry.register("recorder_console_messages_dropped", "Console messages dropped", messages_dropped);
    registry.register("recorder_requests_dropped", "Requests dropped", requests_dropped);
    let memory = Gauge::<i64>::default();
    memory.set(bytes as i64);
    registry.register("recorder_memory_bytes", "Memory that the history takes", memory);
    let degraded = Gauge::<i64>::default();
    degraded.set(i64::from(matches!(hub.recorder().durability(), Durability::Degraded(_))));
    registry.register("recorder_degraded", "Whether the history cannot be written to disk", degraded);
    let lost = ConstCounter::new(hub.recorder().lost());
    registry.register("recorder_lost", "Records lost when the last hub was killed", lost);

    let connections = Family::<OfState, Gauge>::default();
    let (mut commands, mut timeouts, mut reconnections) = (0, 0, 0);
    for connection in hub.connections().all() {
        let state: ConnectionState = connection.state;
        connections.get_or_create(&OfState { state: state.as_str() }).inc();
        commands += connection.commands.total;
        timeouts += connection.commands.timed_out;
        reconnections += u64::from(connection.reconnections);
    }
    registry.register("connections", "Connections by state", connections);
    registry.register("connection_commands", "Commands executed", ConstCounter::new(commands));
    registry.register("connection_timeouts", "Commands that took too long", ConstCounter::new(timeouts));
    registry.register("connection_reconnections", "Times found again", ConstCounter::new(reconnections));
    registry
}
