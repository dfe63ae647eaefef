//! `cargo xtask bench extension`: a person's own browser through the extension, in turns with a direct browser and with
//! the floor of chrome.debugger, which any relay must pay. Each heat has fresh browsers; this file owns the turns, the
//! rows and their bars.

mod floor;
mod own;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::cdp::Page;
use super::connect::{self, Client};
use super::measures::{Measure, Scale};
use super::report::{Bar, Part, Row};
use super::side::{self, Side, interruptible};
use super::stats;
use super::usage::{self, MIB};
use floor::{Alone, Floor};
use own::Own;

/// What is slower than anything else here is measured in fewer commands.
const FULL: Scale = Scale { evaluations: 1_000, commands: 2_000, events: 20_000, payloads: 4 };
const QUICK: Scale = Scale { evaluations: 500, commands: 2_000, events: 20_000, payloads: 2 };
const WARM_UP: Scale = Scale { evaluations: 300, commands: 1_000, events: 2_000, payloads: 1 };
const MEASURES: [Measure; 4] = [Measure::Latency, Measure::Throughput, Measure::Events, Measure::PayloadOut];
const TABS: [usize; 4] = [1, 20, 50, 200];
/// With so many tabs one round of a direct browser takes seconds.
const MANY_ROUNDS: usize = 3;
/// Scripts that connect, per heat and side.
const SCRIPTS: usize = 6;

/// A relay may cost little more than what nobody can avoid.
const FLOOR: f64 = 1.15;
const NEARLY_FLAT: f64 = 3.0;

/// No single measurement takes this long unless something hangs.
const LIMIT: Duration = Duration::from_secs(120);
/// After this long a hub that has nothing to do has settled.
const SETTLE: Duration = Duration::from_secs(2);

pub struct Setup<'a> {
    pub browser: &'a Path,
    pub bowline: &'a Path,
    /// Without it nothing is said about connecting.
    pub client: Option<&'a Client>,
    pub heats: usize,
    /// Per heat.
    pub rounds: usize,
    pub quick: bool,
}

pub struct Measured {
    pub product: String,
    pub parts: Vec<Part>,
    pub samples: Value,
}

/// Who is measured, in the order of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// The browser's own port.
    Direct,
    /// chrome.debugger and a socket that ends in the client.
    Echo,
    /// The same behind a relay that copies frames: the floor.
    Floor,
    Bowline,
}

const WAYS: [Way; 4] = [Way::Direct, Way::Echo, Way::Floor, Way::Bowline];

#[derive(Default)]
struct Tally {
    /// One list of samples per turn, for each way.
    samples: BTreeMap<Measure, [Vec<Vec<f64>>; 4]>,
    alone: Vec<Alone>,
    /// Milliseconds of direct and Bowline, by tabs.
    connects: BTreeMap<usize, [Vec<f64>; 2]>,
    /// How long Playwright and the hub were on a processor for one of Bowline's, in milliseconds.
    client_processor: BTreeMap<usize, Vec<f64>>,
    hub_processor: BTreeMap<usize, Vec<f64>>,
    /// Milliseconds from the start of a script until it is connected: with one tab, with many.
    scripts: [Vec<f64>; 2],
    /// The most debuggers that connecting has attached.
    attached: Option<usize>,
    processor: Duration,
    events: usize,
    resident: Vec<f64>,
    resident_with_tabs: Vec<f64>,
    product: String,
}

pub async fn measure(setup: &Setup<'_>) -> Result<Measured> {
    let mut tally = Tally::default();
    for heat in 0..setup.heats {
        eprintln!("  heat {} of {}: extension, {} rounds", heat + 1, setup.heats, setup.rounds);
        run(setup, heat, &mut tally).await?;
    }
    let samples = tally.samples.iter().map(|(measure, ways)| {
        let of_way = |way: &Way| (format!("{way:?}"), json!(medians(&ways[*way as usize])));
        (format!("{measure:?}"), Value::Object(WAYS.iter().map(of_way).collect()))
    });
    let samples = Value::Object(samples.collect());
    let mut parts = vec![against_the_floor(&tally), against_a_direct_browser(&tally)];
    if setup.client.is_some() {
        parts.push(connecting(&tally));
    }
    Ok(Measured { product: tally.product, parts, samples })
}

/// Starts one of each, measures them, stops them.
async fn run(setup: &Setup<'_>, heat: usize, tally: &mut Tally) -> Result<()> {
    let direct = Side::direct(setup.browser, &side::usual_flags()).await?;
    let mut floor = match Floor::start(setup.browser).await {
        Ok(floor) => floor,
        Err(error) => {
            direct.stop().await?;
            return Err(error);
        }
    };
    let own = match Own::start(setup.bowline, setup.browser).await {
        Ok(own) => own,
        Err(error) => {
            direct.stop().await?;
            floor.stop().await?;
            return Err(error);
        }
    };
    let result = interruptible(compare(setup, heat, &direct, &mut floor, &own, tally)).await;
    direct.stop().await?;
    floor.stop().await?;
    own.stop().await?;
    result
}

async fn compare(
    setup: &Setup<'_>,
    heat: usize,
    direct: &Side,
    floor: &mut Floor,
    own: &Own,
    tally: &mut Tally,
) -> Result<()> {
    tally.product = direct.product().await?;
    let scale = if setup.quick { QUICK } else { FULL };
    let mut pages =
        [Page::open(&direct.browser_url().await?).await?, Page::open(&own.browser_url().await?).await?];
    for measure in MEASURES {
        for way in WAYS {
            take(measure, page(way, &mut pages, floor), WARM_UP).await?;
        }
        for turn in 0..setup.rounds * measure.turns().min(2) {
            for way in order(turn + heat) {
                let before = usage::processor(own.hub.pid)?;
                let taken = take(measure, page(way, &mut pages, floor), scale).await?;
                if (way, measure) == (Way::Bowline, Measure::Events) {
                    tally.processor += usage::processor(own.hub.pid)?.saturating_sub(before);
                    tally.events += scale.events;
                }
                tally.samples.entry(measure).or_default()[way as usize].push(taken);
            }
        }
    }
    for _ in 0..setup.rounds.min(2) {
        tally.alone.push(floor.measure_alone(scale).await?);
    }
    tally.resident.push(usage::resident(own.hub.pid)? as f64 / MIB);
    for page in pages {
        page.close().await?;
    }
    if let Some(client) = setup.client {
        connect_all(setup, client, direct, own, tally).await?;
    }
    Ok(())
}

fn page<'a>(way: Way, [direct, own]: &'a mut [Page; 2], floor: &'a mut Floor) -> &'a mut Page {
    match way {
        Way::Direct => direct,
        Way::Echo => &mut floor.echo,
        Way::Floor => &mut floor.relayed,
        Way::Bowline => own,
    }
}

/// Each turn begins with another, and every second one goes backwards.
fn order(turn: usize) -> [Way; 4] {
    let mut order = WAYS;
    order.rotate_left(turn / 2 % WAYS.len());
    if !turn.is_multiple_of(2) {
        order.reverse();
    }
    order
}

async fn take(measure: Measure, page: &mut Page, scale: Scale) -> Result<Vec<f64>> {
    let taken = timeout(LIMIT, measure.take(page, scale)).await;
    let taken = taken.unwrap_or_else(|_| bail!("not done after {} s", LIMIT.as_secs()));
    taken.with_context(|| format!("{measure:?}"))
}

async fn connect_all(
    setup: &Setup<'_>,
    client: &Client,
    direct: &Side,
    own: &Own,
    tally: &mut Tally,
) -> Result<()> {
    for tabs in TABS {
        connect::set_tabs(direct, tabs).await?;
        connect::set_tabs(&own.browser, tabs).await?;
        own.has_tabs(tabs).await?;
        // The tab that was driven is let go some time after its client has left.
        own.lets_go().await?;
        let rounds = match tabs {
            1 => setup.rounds * 5,
            200 => setup.rounds.min(MANY_ROUNDS),
            _ => setup.rounds,
        };
        let urls = [direct.http_url(), own.endpoint()];
        let before = usage::processor(own.hub.pid)?;
        let [direct_taken, own_taken] = connect::measure(client, urls, tabs, rounds).await?;
        let used = usage::processor(own.hub.pid)?.saturating_sub(before).as_secs_f64() * 1e3;
        // One more has warmed it up.
        tally.hub_processor.entry(tabs).or_default().push(used / (rounds + 1) as f64);
        tally.client_processor.entry(tabs).or_default().extend(own_taken.processor);
        let samples = tally.connects.entry(tabs).or_default();
        samples[0].extend(direct_taken.times);
        samples[1].extend(own_taken.times);
        let (_, attached) = client.while_connected(&own.endpoint(), tabs, own.attached()).await?;
        tally.attached = tally.attached.max(Some(attached));
    }
    connect_scripts(setup, client, own, tally).await?;
    sleep(SETTLE).await;
    tally.resident_with_tabs.push(usage::resident(own.hub.pid)? as f64 / MIB);
    Ok(())
}

/// Scripts that connect to a browser with one tab and to the one with many, in turns: a machine that is busy for a while
/// slows both.
async fn connect_scripts(setup: &Setup<'_>, client: &Client, many: &Own, tally: &mut Tally) -> Result<()> {
    let one = Own::start(setup.bowline, setup.browser).await?;
    let work = async {
        for turn in 0..SCRIPTS {
            let mut sides = [(0, &one, TABS[0]), (1, many, TABS[TABS.len() - 1])];
            if !turn.is_multiple_of(2) {
                sides.reverse();
            }
            for (side, own, tabs) in sides {
                let (took, ()) = client.while_connected(&own.endpoint(), tabs, async { Ok(()) }).await?;
                tally.scripts[side].push(took.as_secs_f64() * 1e3);
            }
        }
        Ok(())
    };
    let result = interruptible(work).await;
    one.stop().await?;
    result
}

fn against_the_floor(tally: &Tally) -> Part {
    let mut rows = compared(tally, Way::Floor, true);
    let per_event = tally.processor.as_secs_f64() * 1e6 / tally.events as f64;
    rows.extend([
        Row::single("hub CPU per console event", "us", per_event, None),
        Row::single("hub RSS, after a heat", "MiB", stats::median(&tally.resident), None),
    ]);
    Part {
        title: "A person's own browser",
        about: "A client of a browser through chrome.debugger. The floor is an extension that does nothing but copy messages\n\
                between chrome.debugger and a WebSocket, and a relay that does nothing but copy frames between that\n\
                and the client: what any relay must pay. Bowline is the whole of it, with its extension and a hub that records."
            .to_owned(),
        sides: ["floor", "bowline"],
        rows,
    }
}

fn against_a_direct_browser(tally: &Tally) -> Part {
    let mut rows = compared(tally, Way::Direct, false);
    let echo = |measure, of: fn(&[f64]) -> f64| of(&medians(&tally.samples[&measure][Way::Echo as usize]));
    let alone = |of: fn(&Alone) -> f64| stats::median(&tally.alone.iter().map(of).collect::<Vec<_>>());
    rows.extend([
        Row::single("socket ends in client, evaluate", "us", echo(Measure::Latency, stats::median), None),
        Row::single("the same, 64 in flight", "/s", echo(Measure::Throughput, stats::median), None),
        Row::single("the same, console events", "/s", echo(Measure::Events, stats::median), None),
        Row::single("worker alone, evaluate", "us", alone(|one| one.latency), None),
        Row::single("the same, 64 in flight", "/s", alone(|one| one.throughput), None),
        Row::single("the same, console events", "/s", alone(|one| one.events), None),
    ]);
    Part {
        title: "What chrome.debugger costs",
        about: "The same client at the browser's own port, for information. Below: the floor without the relay, and chrome.debugger\n\
                in the worker of an extension that talks to nobody."
            .to_owned(),
        sides: ["direct", "bowline"],
        rows,
    }
}

fn connecting(tally: &Tally) -> Part {
    let mut rows: Vec<Row> = tally
        .connects
        .iter()
        .map(|(tabs, [direct, own])| {
            let name = format!("connectOverCDP, {tabs} {}", if *tabs == 1 { "tab" } else { "tabs" });
            let ratio = stats::paired_ratio(direct, own);
            let bar = Some(Bar::RatioAtMost(1.0));
            Row::compared(name, "ms", stats::median(direct), stats::median(own), ratio, bar)
        })
        .collect();
    let of = |times: &BTreeMap<usize, Vec<f64>>, tabs: usize| {
        times.get(&tabs).map_or(f64::NAN, |times| stats::median(times))
    };
    let own = |tabs: usize| tally.connects.get(&tabs).map_or(f64::NAN, |[_, own]| stats::median(own));
    let [one, many] = &tally.scripts;
    let growth = stats::paired_ratio(one, many);
    let attached = tally.attached.map_or(f64::NAN, |attached| attached as f64);
    rows.extend([
        Row::single("script start to connected, 1 tab", "ms", stats::median(one), None),
        Row::single("the same, 200 tabs", "ms", stats::median(many), None),
        Row::single("the same, 200 over 1", "times", growth, Some(Bar::AtMost(NEARLY_FLAT))),
        Row::single("connectOverCDP, 200 over 1", "times", own(200) / own(1), None),
        Row::single("Playwright's CPU, 200 tabs", "ms", of(&tally.client_processor, 200), None),
        Row::single("hub CPU, 200 tabs", "ms", of(&tally.hub_processor, 200), None),
        Row::single("attached by connecting", "tabs", attached, Some(Bar::AtMost(0.0))),
        Row::single("hub RSS with 200 tabs", "MiB", stats::median(&tally.resident_with_tabs), None),
    ]);
    Part {
        title: "Connecting to a person's own browser",
        about: "Playwright's `connectOverCDP` and its end, with so many tabs, at the browser's own port and through the extension, in a\n\
                process that has done it before. Most of it is Playwright's own work for each page, which no hub can take from it:\n\
                see its CPU time. So the bar on growth is on what a person waits for: a script from its start until it is\n\
                connected. Attached is the number of tabs with a debugger meanwhile, read in the extension's worker."
            .to_owned(),
        sides: ["direct", "bowline"],
        rows,
    }
}

fn compared(tally: &Tally, base: Way, has_bars: bool) -> Vec<Row> {
    let at_most = has_bars.then_some(Bar::RatioAtMost(FLOOR));
    let at_least = has_bars.then_some(Bar::RatioAtLeast(1.0 / FLOOR));
    let mut rows = Vec::new();
    for (measure, ways) in &tally.samples {
        let [first, second] = [base, Way::Bowline].map(|way| &ways[way as usize]);
        let (name, unit, bar) = match measure {
            Measure::Latency => ("evaluate, p50", "us", at_most),
            Measure::Throughput => ("evaluate, 64 in flight", "/s", at_least),
            Measure::Events => ("console events", "/s", at_least),
            Measure::PayloadOut | Measure::PayloadIn => ("5 MB from the page", "MB/s", None),
        };
        let (first_medians, second_medians) = (medians(first), medians(second));
        let ratio = stats::paired_ratio(&first_medians, &second_medians);
        let value = |medians: &[f64]| stats::median(medians);
        rows.push(Row::compared(name, unit, value(&first_medians), value(&second_medians), ratio, bar));
        if *measure == Measure::Latency {
            let [first, second] = [first, second].map(|turns| stats::percentile(&turns.concat(), 99.0));
            rows.push(Row::compared("evaluate, p99", "us", first, second, second / first, None));
        }
    }
    rows
}

fn medians(turns: &[Vec<f64>]) -> Vec<f64> {
    turns.iter().map(|samples| stats::median(samples)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_in_every_turn_and_first_as_often_as_the_others() {
        let mut firsts = [0; 4];
        for turn in 0..8 {
            let order = order(turn);
            assert!(WAYS.iter().all(|way| order.contains(way)));
            firsts[order[0] as usize] += 1;
        }
        assert_eq!(firsts, [2; 4]);
    }
}
