//! What a page is made to believe: device, size, network, CPU, language, time zone, place, colours.

use serde_json::{Value, json};

use crate::driver::{Emulation, Line, Viewport};
use crate::error::OpError;
use crate::output::Output;
use crate::registry::{Access, Op, Set};
use crate::request::Call;

/// Devices by name: width, height, scale, user agent's middle part, mobile.
const DEVICES: &[(&str, u64, u64, f64, &str)] = &[
    ("iPhone SE", 375, 667, 2.0, IPHONE),
    ("iPhone 15", 393, 852, 3.0, IPHONE),
    ("iPhone 15 Pro Max", 430, 932, 3.0, IPHONE),
    ("iPad", 810, 1080, 2.0, IPAD),
    ("iPad Pro", 1024, 1366, 2.0, IPAD),
    ("Pixel 7", 412, 915, 2.625, PIXEL),
    ("Galaxy S23", 360, 780, 3.0, GALAXY),
    ("Galaxy Tab S8", 800, 1280, 2.0, TABLET),
];

const IPHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1";
const IPAD: &str = "Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1";
const PIXEL: &str = "Mozilla/5.0 (Linux; Android 14; Pixel 7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36";
const GALAXY: &str = "Mozilla/5.0 (Linux; Android 14; SM-S911B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36";
const TABLET: &str = "Mozilla/5.0 (Linux; Android 14; SM-X700) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";

/// Connections by name: latency in ms, bytes per second down and up.
const LINES: &[(&str, f64, f64, f64)] = &[
    ("slow 3g", 400.0, 51_200.0, 51_200.0),
    ("fast 3g", 150.0, 204_800.0, 96_000.0),
    ("slow 4g", 100.0, 400_000.0, 200_000.0),
    ("fast 4g", 40.0, 1_500_000.0, 750_000.0),
];

pub(crate) struct Emulate;

input!(EmulateInput {
    device: Option<String> = "iPhone 15, iPad, Pixel 7, ...; none undoes it",
    network: Option<String> = "offline, slow 3g, fast 3g, slow 4g, fast 4g, online",
    cpu: Option<f64> = "times slower (1 undoes it)",
    locale: Option<String> = "de-DE; empty undoes it",
    timezone ["zone", "timezoneId"]: Option<String> = "Europe/Berlin; empty undoes it",
    geolocation ["place"]: Option<Value> = "{latitude, longitude}; null undoes it",
    color_scheme ["colorScheme"]: Option<String> = "dark, light; empty undoes it",
    user_agent ["userAgent"]: Option<String> = "empty undoes it",
    width: Option<u64> = "of the view",
    height: Option<u64> = "of the view",
    scale: Option<f64> = "device pixels per pixel",
    reset: Option<bool> = "undo all",
});

impl Op for Emulate {
    type Input = EmulateInput;
    const NAME: &'static str = "emulate";
    const TOOL: &'static str = "browser_emulate";
    const SET: Set = Set::Emulation;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str =
        "Pretend another device, network, CPU, language, time zone, place or colour scheme (for you alone).";

    async fn run(call: &Call, input: EmulateInput) -> Result<Output, OpError> {
        let page = call.page().await?;
        let _turn = page.turn.lock().await;
        let emulation = wished(&input)?;
        page.within(call.action_deadline(), page.driver.emulate(&emulation)).await?;
        Ok(Output::new(json!({"done": true}), "done; it holds for this tab until you undo it or leave"))
    }
}

fn wished(input: &EmulateInput) -> Result<Emulation, OpError> {
    let text = |text: &Option<String>| {
        text.as_ref().map(|text| Some(text.clone()).filter(|text| !text.is_empty() && text != "none"))
    };
    let mut emulation = Emulation {
        locale: text(&input.locale),
        timezone: text(&input.timezone),
        color_scheme: text(&input.color_scheme),
        user_agent: text(&input.user_agent),
        cpu: input.cpu,
        ..Emulation::default()
    };
    if input.reset.unwrap_or(false) {
        emulation = Emulation {
            viewport: Some(None),
            user_agent: Some(None),
            locale: Some(None),
            timezone: Some(None),
            geolocation: Some(None),
            color_scheme: Some(None),
            network: Some(None),
            cpu: Some(1.0),
        };
    }
    if let Some(rate) = input.cpu
        && !(1.0..=1000.0).contains(&rate)
    {
        return Err(OpError::bad_input("emulate: `cpu`: expected 1 to 1000", "4 makes it four times slower"));
    }
    if let Some(scheme) = emulation.color_scheme.as_ref().and_then(Option::as_ref)
        && !matches!(scheme.as_str(), "dark" | "light" | "no-preference")
    {
        let message = format!("emulate: `color_scheme`: there is no `{scheme}`");
        return Err(OpError::bad_input(message, "dark, light or no-preference"));
    }
    if let Some(device) = &input.device {
        if device.is_empty() || device.eq_ignore_ascii_case("none") {
            emulation.viewport = Some(None);
            emulation.user_agent = Some(None);
        } else {
            let known = DEVICES.iter().find(|(name, ..)| name.eq_ignore_ascii_case(device));
            let Some((_, width, height, scale, agent)) = known else {
                let names: Vec<&str> = DEVICES.iter().map(|(name, ..)| *name).collect();
                let message = format!("emulate: `device`: there is no `{device}`");
                return Err(OpError::bad_input(message, format!("there are: {}", names.join(", "))));
            };
            let viewport =
                Viewport { width: *width, height: *height, scale: *scale, is_mobile: true, has_touch: true };
            emulation.viewport = Some(Some(viewport));
            emulation.user_agent = Some(Some((*agent).to_owned()));
        }
    }
    if let (Some(width), Some(height)) = (input.width, input.height) {
        emulation.viewport = Some(Some(sized("emulate", width, height, input.scale)?));
    } else if input.width.is_some() || input.height.is_some() {
        return Err(OpError::bad_input("emulate: `width` and `height` go together", "give both"));
    }
    if let Some(network) = &input.network {
        emulation.network = Some(match network.to_lowercase().as_str() {
            "online" | "none" | "" => None,
            "offline" => Some(Line { is_offline: true, latency: 0.0, down: -1.0, up: -1.0 }),
            name => {
                let Some((_, latency, down, up)) =
                    LINES.iter().find(|(known, ..)| *known == name.replace('-', " "))
                else {
                    let message = format!("emulate: `network`: there is no `{network}`");
                    return Err(OpError::bad_input(
                        message,
                        "offline, slow 3g, fast 3g, slow 4g, fast 4g or online",
                    ));
                };
                Some(Line { is_offline: false, latency: *latency, down: *down, up: *up })
            }
        });
    }
    match &input.geolocation {
        None => {}
        Some(Value::Null) => emulation.geolocation = Some(None),
        Some(place) => {
            let number = |name: &str, range: std::ops::RangeInclusive<f64>| {
                place[name].as_f64().filter(|number| range.contains(number)).ok_or_else(|| {
                    let message = format!("emulate: `geolocation.{name}`: expected a number");
                    OpError::bad_input(message, "for example {\"latitude\": 52.5, \"longitude\": 13.4}")
                })
            };
            let latitude = number("latitude", -90.0..=90.0)?;
            let longitude = number("longitude", -180.0..=180.0)?;
            emulation.geolocation =
                Some(Some((latitude, longitude, place["accuracy"].as_f64().unwrap_or(10.0))));
        }
    }
    Ok(emulation)
}

fn sized(op: &str, width: u64, height: u64, scale: Option<f64>) -> Result<Viewport, OpError> {
    for (name, size) in [("width", width), ("height", height)] {
        if !(1..=10_000).contains(&size) {
            return Err(OpError::bad_input(
                format!("{op}: `{name}`: expected 1 to 10000, not {size}"),
                "for example 1280",
            ));
        }
    }
    let scale = scale.unwrap_or(0.0);
    if !(0.0..=10.0).contains(&scale) {
        return Err(OpError::bad_input(format!("{op}: `scale`: expected 0 to 10"), "for example 2"));
    }
    Ok(Viewport { width, height, scale, is_mobile: false, has_touch: false })
}

pub(crate) struct Resize;

input!(ResizeInput { width: u64 = "pixels", height: u64 = "pixels" });

impl Op for Resize {
    type Input = ResizeInput;
    const NAME: &'static str = "resize";
    const TOOL: &'static str = "browser_resize";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Set the size of the view.";

    async fn run(call: &Call, input: ResizeInput) -> Result<Output, OpError> {
        let viewport = sized("resize", input.width, input.height, None)?;
        let page = call.page().await?;
        let _turn = page.turn.lock().await;
        let emulation = Emulation { viewport: Some(Some(viewport)), ..Emulation::default() };
        page.within(call.action_deadline(), page.driver.emulate(&emulation)).await?;
        let data = json!({"width": input.width, "height": input.height});
        Ok(Output::new(data, format!("the view is {} x {}", input.width, input.height)))
    }
}
