//! What a page is made to believe, over BiDi.

use serde_json::{Value, json};

use super::page::Page;
use crate::differences;
use crate::driver::{DriverError, Emulation};

impl Page {
    /// What cannot be done is refused before anything is.
    pub(super) async fn pretend(&self, emulation: &Emulation) -> Result<(), DriverError> {
        refuse(emulation)?;
        for (method, params) in commands(&self.context, emulation) {
            self.ask::<Value>(method, params).await?;
        }
        Ok(())
    }
}

fn refuse(emulation: &Emulation) -> Result<(), DriverError> {
    let is_slow = emulation.network.flatten().is_some_and(|line| !line.is_offline);
    let has_scheme = emulation.color_scheme.as_ref().is_some_and(Option::is_some);
    let is_slowed = emulation.cpu.is_some_and(|rate| rate > 1.0);
    for (is_wished, field) in [(is_slow, "network"), (has_scheme, "color_scheme"), (is_slowed, "cpu")] {
        if is_wished {
            return Err(differences::unsupported("emulate", Some(field)));
        }
    }
    Ok(())
}

fn commands(context: &str, emulation: &Emulation) -> Vec<(&'static str, Value)> {
    let contexts = json!([context]);
    let mut commands = Vec::new();
    if let Some(viewport) = &emulation.viewport {
        let size = viewport.map(|view| json!({"width": view.width, "height": view.height}));
        // A scale of 0 is the screen's own.
        let scale = viewport.map(|view| view.scale).filter(|scale| *scale > 0.0);
        let params = json!({"context": context, "viewport": size, "devicePixelRatio": scale});
        commands.push(("browsingContext.setViewport", params));
    }
    if let Some(agent) = &emulation.user_agent {
        let params = json!({"contexts": contexts, "userAgent": agent});
        commands.push(("emulation.setUserAgentOverride", params));
    }
    if let Some(locale) = &emulation.locale {
        commands.push(("emulation.setLocaleOverride", json!({"contexts": contexts, "locale": locale})));
    }
    if let Some(zone) = &emulation.timezone {
        commands.push(("emulation.setTimezoneOverride", json!({"contexts": contexts, "timezone": zone})));
    }
    if let Some(place) = &emulation.geolocation {
        let place = place.map(|(latitude, longitude, accuracy)| {
            json!({"latitude": latitude, "longitude": longitude, "accuracy": accuracy})
        });
        let params = json!({"contexts": contexts, "coordinates": place});
        commands.push(("emulation.setGeolocationOverride", params));
    }
    if let Some(line) = &emulation.network {
        let offline = line.map(|_| json!({"type": "offline"}));
        let params = json!({"contexts": contexts, "networkConditions": offline});
        commands.push(("emulation.setNetworkConditions", params));
    }
    commands
}
