//! What a page can be made to believe, as CDP's commands.

use serde_json::{Value, json};

use crate::driver::Emulation;

/// The commands that make a page believe something, or undo it.
pub(super) fn commands(emulation: &Emulation) -> Vec<(&'static str, Value)> {
    let mut commands = Vec::new();
    match emulation.viewport {
        None => {}
        Some(None) => {
            commands.push(("Emulation.clearDeviceMetricsOverride", json!({})));
            commands.push(("Emulation.setTouchEmulationEnabled", json!({"enabled": false})));
        }
        Some(Some(view)) => {
            commands.push((
                "Emulation.setDeviceMetricsOverride",
                json!({"width": view.width, "height": view.height, "deviceScaleFactor": view.scale,
                    "mobile": view.is_mobile}),
            ));
            commands.push((
                "Emulation.setTouchEmulationEnabled",
                json!({"enabled": view.has_touch, "maxTouchPoints": if view.has_touch { 5 } else { 1 }}),
            ));
        }
    }
    if let Some(agent) = &emulation.user_agent {
        let agent = agent.clone().unwrap_or_default();
        commands.push(("Emulation.setUserAgentOverride", json!({ "userAgent": agent })));
    }
    if let Some(locale) = &emulation.locale {
        let params = locale.as_ref().map_or(json!({}), |locale| json!({ "locale": locale }));
        commands.push(("Emulation.setLocaleOverride", params));
    }
    if let Some(zone) = &emulation.timezone {
        let zone = zone.clone().unwrap_or_default();
        commands.push(("Emulation.setTimezoneOverride", json!({ "timezoneId": zone })));
    }
    match emulation.geolocation {
        None => {}
        Some(None) => commands.push(("Emulation.clearGeolocationOverride", json!({}))),
        Some(Some((latitude, longitude, accuracy))) => commands.push((
            "Emulation.setGeolocationOverride",
            json!({"latitude": latitude, "longitude": longitude, "accuracy": accuracy}),
        )),
    }
    if let Some(scheme) = &emulation.color_scheme {
        let scheme = scheme.clone().unwrap_or_default();
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        commands.push(("Emulation.setEmulatedMedia", json!({ "features": features })));
    }
    if let Some(line) = emulation.network {
        let params = match line {
            Some(line) => json!({"offline": line.is_offline, "latency": line.latency,
                "downloadThroughput": line.down, "uploadThroughput": line.up}),
            None => json!({"offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}),
        };
        commands.push(("Network.enable", json!({"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})));
        commands.push(("Network.emulateNetworkConditions", params));
    }
    if let Some(rate) = emulation.cpu {
        commands.push(("Emulation.setCPUThrottlingRate", json!({ "rate": rate })));
    }
    commands
}
