//! The browser behind an extension: which name it has at the hub, and where it listens.

use std::sync::Arc;

use bowline_hub::backend::{ExtensionSpec, Protocol, Spec};
use bowline_hub::pairing::choose_name;
use bowline_hub::{Browser, Hub};
use bowline_wire::pairing::Hello;

use crate::control::{self, Control};
use crate::failure::Failure;

/// An installation that asks for a name.
#[derive(Clone, Copy)]
pub(super) struct Newcomer<'a> {
    pub(super) instance: &'a str,
    pub(super) product: &'a str,
    pub(super) speaks: Protocol,
}

impl<'a> Newcomer<'a> {
    fn of(hello: &'a Hello) -> Self {
        Self { instance: &hello.instance, product: &hello.browser.name, speaks: hello.speaks }
    }

    /// One that has said only in which browser it is.
    pub(super) fn in_product(instance: &'a str, product: &'a str) -> Self {
        let speaks = if product == "Firefox" { Protocol::Bidi } else { Protocol::Cdp };
        Self { instance, product, speaks }
    }
}

/// The name of an extension that has a key. Its browser is made known again if its name was given up,
/// or stands for something else now.
pub(super) async fn of_paired(control: &Control, hello: &Hello) -> Result<String, String> {
    let (instance, newcomer) = (&hello.instance, Newcomer::of(hello));
    let pairings = control.hub.pairings();
    let name = pairings.key_of(instance).map(|(name, _)| name).unwrap_or_default();
    let seat = take(control, newcomer, Some(&name), &name).await;
    let seat = seat.map_err(|failure| failure.message().to_owned())?;
    if seat != name {
        tracing::warn!(old = name, new = seat, "the name of an extension's browser is taken by another");
        pairings.rename(instance, &seat).map_err(|error| error.to_string())?;
    }
    Ok(seat)
}

/// A name for a browser that is being paired: the one it had, the one asked for, or one after its product.
pub(super) async fn of_new(control: &Control, hello: &Hello, wanted: Option<&str>) -> Result<String, String> {
    place(control, Newcomer::of(hello), wanted).await.map_err(|failure| failure.message().to_owned())
}

pub(super) async fn place(
    control: &Control,
    newcomer: Newcomer<'_>,
    wanted: Option<&str>,
) -> Result<String, Failure> {
    let instance = newcomer.instance;
    let before = control.hub.pairings().key_of(instance).map(|(name, _)| name).unwrap_or_default();
    let wanted = wanted.or(Some(before.as_str()).filter(|before| !before.is_empty()));
    let name = take(control, newcomer, wanted, &before).await?;
    if name != before && is_behind(&control.hub, &before, instance) {
        control::give_up(control, &before).await?;
    }
    Ok(name)
}

async fn take(
    control: &Control,
    newcomer: Newcomer<'_>,
    wanted: Option<&str>,
    before: &str,
) -> Result<String, Failure> {
    let Newcomer { instance, product, speaks } = newcomer;
    let hub = &control.hub;
    // Its own name is not taken, as long as it stands for it.
    let is_own = |name: &str| name == before && is_behind(hub, name, instance);
    let name = choose_name(product, wanted, |name| hub.browser(name).is_ok() && !is_own(name));
    let spec = Spec::Extension(ExtensionSpec { instance: instance.to_owned(), speaks });
    control::known(control, &name, Some(spec)).await?;
    Ok(name)
}

pub(super) fn is_behind(hub: &Hub, name: &str, instance: &str) -> bool {
    let Ok(browser) = hub.browser(name) else { return false };
    matches!(browser.snapshot().spec, Spec::Extension(spec) if spec.instance == instance)
}

/// Whether this spec would take the name of a paired browser for something else.
pub(crate) fn is_given_away(hub: &Hub, name: &str, spec: &Spec) -> bool {
    let paired = hub.pairings().instance_of(name).filter(|instance| is_behind(hub, name, instance));
    paired.is_some_and(|paired| !matches!(spec, Spec::Extension(spec) if spec.instance == paired))
}

/// Why it is not clear which browser is the user's own.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotClear {
    NonePaired,
    /// Several are paired, and none or more than one is connected.
    Several(Vec<String>),
}

/// The browser that `/cdp` leads to: the only one that is paired, or the only one that is connected. A Firefox is meant
/// only where there is no other.
pub(crate) fn own_browser(hub: &Hub) -> Result<Arc<Browser>, NotClear> {
    let mut paired: Vec<(String, Arc<Browser>)> = hub
        .pairings()
        .all()
        .into_iter()
        .filter(|(instance, paired)| is_behind(hub, &paired.name, instance))
        .filter_map(|(instance, paired)| Some((instance, hub.browser(&paired.name).ok()?)))
        .collect();
    let speaks_cdp = |(_, browser): &(String, Arc<Browser>)| browser.speaks() == Protocol::Cdp;
    if paired.iter().any(speaks_cdp) {
        paired.retain(speaks_cdp);
    }
    let connected: Vec<&(String, Arc<Browser>)> =
        paired.iter().filter(|(instance, _)| hub.pairings().guest(instance).is_some()).collect();
    match (paired.as_slice(), connected.as_slice()) {
        ([], _) => Err(NotClear::NonePaired),
        ([(_, only)], _) | (_, [(_, only)]) => Ok(only.clone()),
        _ => Err(NotClear::Several(paired.iter().map(|(_, browser)| browser.name().to_owned()).collect())),
    }
}
