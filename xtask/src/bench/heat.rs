//! One heat: a fresh pair of sides, warmed up, then every subject round by round in the order A B,
//! B A, A B, ..., so that neither side profits from being first, and both see the same weather.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::time::timeout;

use super::cdp::Page;
use super::connect::{self, Client};
use super::measures::{Measure, Scale};
use super::side::{self, Side, interruptible};

/// No single measurement takes this long unless something hangs.
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Subject {
    Measure(Measure),
    /// Playwright's connectOverCDP with so many tabs.
    Connect(usize),
}

/// Samples of direct and other: one list per turn.
pub type Samples = [Vec<Vec<f64>>; 2];

/// What does not change between heats.
pub struct Setup<'a> {
    pub browser: &'a Path,
    /// None: a direct browser on both sides.
    pub bowline: Option<&'a Path>,
    pub client: Option<&'a Client>,
    pub scale: Scale,
    pub rounds: usize,
}

#[derive(Default)]
pub struct Tally {
    pub samples: BTreeMap<Subject, Samples>,
    pub product: String,
    /// Resident memory of the other side after its last heat.
    pub resident: u64,
}

/// Starts a pair, measures it, stops it. `tally` grows.
pub async fn run(setup: &Setup<'_>, number: usize, tally: &mut Tally) -> Result<()> {
    let other = match setup.bowline {
        Some(bowline) => Side::hub(bowline, setup.browser).await?,
        None => Side::direct(setup.browser, &side::usual_flags()).await?,
    };
    let direct = match opponent(setup, &other).await {
        Ok(direct) => direct,
        Err(error) => {
            other.stop().await?;
            return Err(error);
        }
    };
    let result = interruptible(compare(setup, number, [&direct, &other], tally)).await;
    direct.stop().await?;
    other.stop().await?;
    result
}

/// A direct browser with the same flags as the one behind `other`.
async fn opponent(setup: &Setup<'_>, other: &Side) -> Result<Side> {
    if setup.bowline.is_none() {
        return Side::direct(setup.browser, &side::usual_flags()).await;
    }
    // The first request launches the hub's browser; before that it has no flags.
    other.browser_url().await?;
    Side::direct(setup.browser, &other.browser_flags()?).await
}

async fn compare(setup: &Setup<'_>, number: usize, sides: [&Side; 2], tally: &mut Tally) -> Result<()> {
    let [direct, other] = sides;
    let mut pages =
        [Page::open(&direct.browser_url().await?).await?, Page::open(&other.browser_url().await?).await?];
    for measure in Measure::ALL {
        let samples = tally.samples.entry(Subject::Measure(measure)).or_default();
        take_turns(measure, &mut pages, setup, number, samples).await?;
    }
    for page in pages {
        page.close().await?;
    }
    if let Some(client) = setup.client {
        for tabs in connect::TABS {
            connect::set_tabs(direct, tabs).await?;
            connect::set_tabs(other, tabs).await?;
            // With one tab it takes some 20 ms only: more rounds are cheap, and needed to be sure.
            let rounds = setup.rounds * if tabs == 1 { 5 } else { 1 };
            let taken = connect::measure(client, sides, tabs, rounds).await?;
            let samples = tally.samples.entry(Subject::Connect(tabs)).or_default();
            for (side, times) in taken.into_iter().enumerate() {
                samples[side].extend(times.into_iter().map(|time| vec![time]));
            }
        }
    }
    tally.product = direct.product().await?;
    tally.resident = other.resident()?;
    Ok(())
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
        let order = if (turn + number).is_multiple_of(2) { [0, 1] } else { [1, 0] };
        for side in order {
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
