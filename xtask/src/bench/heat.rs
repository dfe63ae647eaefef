//! One heat: a fresh pair of sides, warmed up, then every subject round by round in the order A B,
//! B A, A B, ..., so that neither side profits from being first, and both see the same weather.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::time::timeout;

use super::cdp::Page;
use super::connect::{self, Client};
use super::listener::Listener;
use super::measures::{Measure, Scale};
use super::new_tab;
use super::side::{self, Side, interruptible};
use super::site::Site;
use super::usage;

/// No single measurement takes this long unless something hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// Who is compared with whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pair {
    /// A direct browser with another one: what this says is noise.
    SelfCheck,
    /// A direct browser with a hub.
    Contest,
    /// A hub that does not record with one that does.
    Recording,
}

impl Pair {
    fn measures(self) -> &'static [Measure] {
        match self {
            Self::SelfCheck | Self::Contest => &Measure::ALL,
            Self::Recording => &[Measure::Latency, Measure::Throughput, Measure::Events],
        }
    }

    /// With how many tabs connecting is measured.
    fn tabs(self) -> &'static [usize] {
        match self {
            Self::SelfCheck | Self::Contest => &connect::TABS,
            Self::Recording => &[1, 20],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Subject {
    Measure(Measure),
    /// Console events, where the page of the direct browser has a second listener, too.
    EventsHeardTwice,
    /// Playwright's connectOverCDP with so many tabs.
    Connect(usize),
    /// A new tab, until the command is answered.
    TabAnswered,
    /// A new tab, until its page has loaded.
    TabLoaded,
}

/// Samples of the first and the second of a pair: one list per turn.
pub type Samples = [Vec<Vec<f64>>; 2];

/// What does not change between heats.
pub struct Setup<'a> {
    pub pair: Pair,
    pub browser: &'a Path,
    /// Not used by a self-check.
    pub bowline: &'a Path,
    pub client: Option<&'a Client>,
    pub site: &'a Site,
    pub scale: Scale,
    pub rounds: usize,
}

#[derive(Default)]
pub struct Tally {
    pub samples: BTreeMap<Subject, Samples>,
    pub product: String,
    /// Resident memory of the second side after its last heat.
    pub resident: u64,
}

/// Starts a pair, measures it, stops it. `tally` grows.
pub async fn run(setup: &Setup<'_>, number: usize, tally: &mut Tally) -> Result<()> {
    let second = match setup.pair {
        Pair::SelfCheck => Side::direct(setup.browser, &side::usual_flags()).await?,
        Pair::Contest | Pair::Recording => Side::hub(setup.bowline, setup.browser, &[]).await?,
    };
    let first = match opponent(setup, &second).await {
        Ok(first) => first,
        Err(error) => {
            second.stop().await?;
            return Err(error);
        }
    };
    let result = interruptible(compare(setup, number, [&first, &second], tally)).await;
    first.stop().await?;
    second.stop().await?;
    result
}

/// The first of the pair. A direct browser has the same flags as the one behind the hub.
async fn opponent(setup: &Setup<'_>, second: &Side) -> Result<Side> {
    // The first request launches a hub's browser; before that it has no flags.
    second.browser_url().await?;
    match setup.pair {
        Pair::SelfCheck => Side::direct(setup.browser, &side::usual_flags()).await,
        Pair::Contest => Side::direct(setup.browser, &second.browser_flags()?).await,
        Pair::Recording => {
            Side::hub(setup.bowline, setup.browser, &[("BOWLINE_RECORDER_ENABLED", "false")]).await
        }
    }
}

async fn compare(setup: &Setup<'_>, number: usize, sides: [&Side; 2], tally: &mut Tally) -> Result<()> {
    let [first, second] = sides;
    let mut pages =
        [Page::open(&first.browser_url().await?).await?, Page::open(&second.browser_url().await?).await?];
    for measure in setup.pair.measures() {
        let samples = tally.samples.entry(Subject::Measure(*measure)).or_default();
        take_turns(*measure, &mut pages, setup, number, samples).await?;
    }
    if setup.pair == Pair::Contest {
        let _listener = Listener::on(&pages[0], &first.browser_url().await?).await?;
        let samples = tally.samples.entry(Subject::EventsHeardTwice).or_default();
        take_turns(Measure::Events, &mut pages, setup, number, samples).await?;
    }
    open_tabs(&mut pages, setup, number, tally).await?;
    for page in pages {
        page.close().await?;
    }
    if let Some(client) = setup.client {
        for tabs in setup.pair.tabs() {
            connect::set_tabs(first, *tabs).await?;
            connect::set_tabs(second, *tabs).await?;
            // With one tab it takes some 20 ms only: more rounds are cheap, and needed to be sure.
            let rounds = setup.rounds * if *tabs == 1 { 5 } else { 1 };
            let taken = connect::measure(client, sides.map(Side::http_url), *tabs, rounds).await?;
            let samples = tally.samples.entry(Subject::Connect(*tabs)).or_default();
            for (side, taken) in taken.into_iter().enumerate() {
                samples[side].extend(taken.times.into_iter().map(|time| vec![time]));
            }
        }
    }
    tally.product = first.product().await?;
    tally.resident = usage::resident(second.pid)?;
    Ok(())
}

/// New tabs of both sides, each as its own turn.
async fn open_tabs(pages: &mut [Page; 2], setup: &Setup<'_>, number: usize, tally: &mut Tally) -> Result<()> {
    for page in pages.iter_mut() {
        new_tab::take(&mut page.cdp, setup.site).await?;
    }
    for turn in 0..setup.rounds * new_tab::TABS {
        for side in order(turn + number) {
            let [answered, loaded] = new_tab::take(&mut pages[side].cdp, setup.site).await?;
            tally.samples.entry(Subject::TabAnswered).or_default()[side].push(vec![answered]);
            tally.samples.entry(Subject::TabLoaded).or_default()[side].push(vec![loaded]);
        }
    }
    Ok(())
}

/// Which side goes first changes with every turn.
fn order(turn: usize) -> [usize; 2] {
    if turn.is_multiple_of(2) { [0, 1] } else { [1, 0] }
}

async fn take_turns(
    measure: Measure,
    pages: &mut [Page; 2],
    setup: &Setup<'_>,
    number: usize,
    samples: &mut Samples,
) -> Result<()> {
    for page in pages.iter_mut() {
        take(measure, page, Scale::WARM_UP).await?;
    }
    for turn in 0..setup.rounds * measure.turns() {
        for side in order(turn + number) {
            samples[side].push(take(measure, &mut pages[side], setup.scale).await?);
        }
    }
    Ok(())
}

async fn take(measure: Measure, page: &mut Page, scale: Scale) -> Result<Vec<f64>> {
    let taken = timeout(LIMIT, measure.take(page, scale)).await;
    let taken = taken.unwrap_or_else(|_| bail!("not done after {} s", LIMIT.as_secs()));
    taken.with_context(|| format!("{measure:?}"))
}
