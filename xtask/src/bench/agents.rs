//! `cargo xtask bench agents`: what an agent waits for and pays with `bowline mcp`, beside the other servers that npm has.
//! Each contender has a Chromium of its own; this file owns the turns, the rows and their bars.

mod contender;
mod peers;
pub(super) mod server;

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::report::{Bar, Part, Row};
use super::side::interruptible;
use super::site::Site;
use super::stats;
use super::usage::MIB;
use crate::install::Permission;
use crate::node::Node;
use contender::Contender;
use peers::PEERS;

/// Evaluations in a round. Peers take so much longer that a few say enough.
const EVALUATIONS: usize = 50;
const EVALUATIONS_OF_PEERS: usize = 3;
/// Snapshots in a round; one of each peer.
const LOOKS: usize = 3;
/// Processes of each kind in a round.
const SHELLS: usize = 5;
/// Before anything counts.
const WARM_UP: usize = 3;

pub struct Setup<'a> {
    pub bowline: &'a Path,
    /// A process that connects and sends one command.
    pub bare: &'a Path,
    pub browser: &'a Path,
    pub site: &'a Site,
    pub rounds: usize,
}

pub struct Measured {
    pub product: String,
    pub parts: Vec<Part>,
    pub samples: Value,
}

/// What is compared: the raw one and the server, a list for each round.
type Pairs = [Vec<Vec<f64>>; 2];

/// What was measured of a contender.
#[derive(Default)]
struct Tally {
    start: Vec<f64>,
    resident: Vec<f64>,
    listed: f64,
    evaluate: Pairs,
    /// Of a page that was just opened.
    first_look: Vec<f64>,
    look: Pairs,
    shell: Pairs,
}

struct Seat<'a> {
    contender: Contender<'a>,
    tally: Tally,
    /// Why it takes part no more.
    failure: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Start,
    Open,
    Evaluate,
    Look,
    Shell,
}

const STAGES: [Stage; 5] = [Stage::Start, Stage::Open, Stage::Evaluate, Stage::Look, Stage::Shell];

pub async fn measure(setup: &Setup<'_>) -> Result<Measured> {
    let node = Node::ensure(Permission::OnlyReport);
    let mut absent: Vec<String> = Vec::new();
    let mut seats = vec![Seat::of(Contender::bowline(setup.bowline, setup.browser).await?)];
    for peer in &PEERS {
        let ready = match &node {
            Ok(node) => Contender::peer(peer, node, setup.browser).await,
            Err(error) => Err(anyhow::anyhow!("{error}")),
        };
        match ready {
            Ok(contender) => seats.push(Seat::of(contender)),
            Err(error) => absent.push(because(peer.name, &error)),
        }
    }
    let product = seats[0].contender.product().await?;
    let measured = interruptible(take_turns(setup, &mut seats)).await;
    let mut tallies = Vec::new();
    for Seat { contender, tally, failure } in seats {
        let name = contender.name();
        let stopped = contender.stop().await.with_context(|| format!("{name} does not end"));
        match failure {
            Some(failure) => absent.push(failure),
            None => tallies.push((name, tally)),
        }
        // A peer that ends badly has been measured all the same.
        if name == "bowline" {
            stopped?;
        }
    }
    measured?;
    for absent in &absent {
        eprintln!("  not measured: {absent}");
    }
    let samples = tallies.iter().map(|(name, tally)| ((*name).to_owned(), tally.samples()));
    let samples: Map<String, Value> = samples.collect();
    let parts = vec![servers(&tallies, &absent, setup.rounds), shells(&tallies)];
    Ok(Measured { product, parts, samples: Value::Object(samples) })
}

async fn take_turns(setup: &Setup<'_>, seats: &mut [Seat<'_>]) -> Result<()> {
    for stage in STAGES {
        let rounds = if stage == Stage::Open { 1 } else { setup.rounds };
        for round in 0..rounds {
            for turn in 0..seats.len() {
                let position = if round % 2 == 0 { turn } else { seats.len() - 1 - turn };
                let seat = &mut seats[position];
                if seat.failure.is_some() {
                    continue;
                }
                match seat.take(stage, round, setup).await {
                    Ok(()) => {}
                    Err(error) if seat.contender.is_bowline() => return Err(error),
                    Err(error) => seat.failure = Some(because(seat.contender.name(), &error)),
                }
            }
        }
    }
    Ok(())
}

impl<'a> Seat<'a> {
    fn of(contender: Contender<'a>) -> Self {
        Self { contender, tally: Tally::default(), failure: None }
    }

    /// One turn of one round.
    async fn take(&mut self, stage: Stage, round: usize, setup: &Setup<'_>) -> Result<()> {
        let Self { contender, tally, .. } = self;
        match stage {
            Stage::Start => {
                let (mut server, took) = contender.start().await?;
                tally.start.push(took);
                tally.listed = server.listed().await? as f64;
                server.call(&contender.evaluation()).await?;
                tally.resident.push(server.resident()? as f64 / MIB);
                server.end().await
            }
            Stage::Open => contender.open(&setup.site.url("/many")).await,
            Stage::Evaluate => {
                let evaluations = if contender.is_bowline() { EVALUATIONS } else { EVALUATIONS_OF_PEERS };
                for _ in 0..if round == 0 { WARM_UP } else { 0 } {
                    contender.evaluate().await?;
                }
                let mut taken = [Vec::new(), Vec::new()];
                for _ in 0..evaluations {
                    note(&mut taken, contender.evaluate().await?);
                }
                keep(&mut tally.evaluate, taken);
                Ok(())
            }
            Stage::Look => {
                let mut taken = [Vec::new(), Vec::new()];
                if contender.is_bowline() {
                    contender.reopen(&setup.site.url("/many")).await?;
                    tally.first_look.push(contender.look().await?);
                }
                for _ in 0..if contender.is_bowline() { LOOKS } else { 1 } {
                    taken[1].push(contender.look().await?);
                }
                // The last of a turn: what it leaves for the page to tidy up is nobody else's.
                taken[0].push(contender.look_raw().await?);
                keep(&mut tally.look, taken);
                Ok(())
            }
            Stage::Shell if contender.has_shell() => {
                for _ in 0..if round == 0 { WARM_UP } else { 0 } {
                    contender.shell(setup.bare)?;
                }
                let mut taken = [Vec::new(), Vec::new()];
                for _ in 0..SHELLS {
                    note(&mut taken, contender.shell(setup.bare)?);
                }
                keep(&mut tally.shell, taken);
                Ok(())
            }
            Stage::Shell => Ok(()),
        }
    }
}

fn note(taken: &mut [Vec<f64>; 2], times: [f64; 2]) {
    for (taken, time) in taken.iter_mut().zip(times) {
        taken.push(time);
    }
}

fn keep(pairs: &mut Pairs, taken: [Vec<f64>; 2]) {
    for (rounds, taken) in pairs.iter_mut().zip(taken) {
        rounds.push(taken);
    }
}

fn because(name: &str, error: &anyhow::Error) -> String {
    let reason = format!("{error:#}").replace('\n', " ");
    format!("{name} ({})", reason.chars().take(200).collect::<String>())
}

impl Tally {
    fn samples(&self) -> Value {
        let pairs = |pairs: &Pairs| json!(pairs.each_ref().map(|rounds| medians(rounds)));
        json!({
            "start": self.start,
            "resident": self.resident,
            "evaluate": pairs(&self.evaluate),
            "first snapshot": self.first_look,
            "snapshot": pairs(&self.look),
            "shell": pairs(&self.shell),
        })
    }
}

fn medians(rounds: &[Vec<f64>]) -> Vec<f64> {
    rounds.iter().map(|samples| stats::median(samples)).collect()
}

/// A row of two that were measured in turns.
fn pair(name: &str, [raw, own]: &Pairs, bar: Option<Bar>) -> Row {
    let (raw, own) = (medians(raw), medians(own));
    let ratio = stats::paired_ratio(&raw, &own);
    Row::compared(name, "ms", stats::median(&raw), stats::median(&own), ratio, bar)
}

/// Bowline's rows, each with those of the peers below it.
fn beside(
    tallies: &[(&'static str, Tally)],
    bowline: impl Fn(&Tally) -> Vec<Row>,
    peer: impl Fn(&str, &Tally) -> Option<Row>,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, tally) in tallies {
        match *name {
            "bowline" => rows.extend(bowline(tally)),
            name => rows.extend(peer(&format!("the same, {name}"), tally)),
        }
    }
    rows
}

fn servers(tallies: &[(&'static str, Tally)], absent: &[String], rounds: usize) -> Part {
    let single =
        |name: &str, unit, samples: &[f64], bar| Row::single(name, unit, stats::median(samples), bar);
    let at_most = |limit: f64| Some(Bar::AtMost(limit));
    let smallest = tallies.iter().filter(|(name, _)| *name != "bowline").map(|(_, tally)| tally.listed);
    let smallest = smallest.reduce(f64::min);
    let mut rows = beside(
        tallies,
        |tally| vec![single("spawn to initialize", "ms", &tally.start, at_most(10.0))],
        |name, tally| Some(single(name, "ms", &tally.start, None)),
    );
    rows.extend(beside(
        tallies,
        |tally| vec![pair("evaluate", &tally.evaluate, Some(Bar::MoreByAtMost(1.0)))],
        |name, tally| Some(pair(name, &tally.evaluate, None)),
    ));
    rows.extend(beside(
        tallies,
        |tally| {
            let bounded = |name, pairs: &Pairs, bar| pair(name, pairs, Some(bar));
            vec![
                bounded("snapshot, 5,000 elements", &tally.look, Bar::AtMost(60.0)),
                bounded("the same, over raw", &tally.look, Bar::RatioAtMost(2.0)),
                single("the same, just opened", "ms", &tally.first_look, None),
                Row::single("the same, fastest", "ms", stats::min(&tally.look[1].concat()), None),
            ]
        },
        |name, tally| Some(pair(name, &tally.look, None)),
    ));
    rows.extend(beside(
        tallies,
        |tally| {
            let mut rows = vec![Row::single("tools/list", "B", tally.listed, at_most(12_000.0))];
            // Against the shortest of the peers.
            rows.extend(smallest.map(|peer| {
                let ratio = tally.listed / peer;
                let bar = Some(Bar::RatioAtMost(1.0));
                Row::compared("the same, over the shortest", "B", peer, tally.listed, ratio, bar)
            }));
            rows
        },
        |name, tally| Some(Row::single(name, "B", tally.listed, None)),
    ));
    rows.extend(beside(
        tallies,
        |tally| vec![single("RSS of the server", "MiB", &tally.resident, at_most(8.0))],
        |name, tally| Some(single(name, "MiB", &tally.resident, None)),
    ));
    let missing = match absent {
        [] => String::new(),
        absent => format!("\n\nNot measured: {}.", absent.join("; ")),
    };
    let known: Vec<String> = PEERS.iter().map(peers::Peer::title).collect();
    Part {
        title: "Servers for agents",
        about: format!(
            "`bowline mcp` on stdin and stdout, with a hub that runs, beside {}.\n\
             Each has a Chromium of its own, with the same flags, on a page of 5,000 elements. Raw is a client of the very\n\
             same tab over a WebSocket of its own: `Runtime.evaluate` and `Accessibility.getFullAXTree`, in turns with the\n\
             tools that do the like, {rounds} rounds. Snapshots are whole. Memory is that of the server's process and of those\n\
             that it started, after `initialize`, `tools/list` and one call; what stays between sessions (the hub, the daemon\n\
             of agent-browser) is not in it.{missing}",
            known.join(", ")
        ),
        sides: ["raw", "server"],
        rows,
    }
}

fn shells(tallies: &[(&'static str, Tally)]) -> Part {
    Part {
        title: "A process for one evaluation",
        about: "`bowline eval 1+1` from start to exit, with hub and browser running, in turns with a process that does\n\
                nothing but dial the same tab's own WebSocket and send this one command."
            .to_owned(),
        sides: ["bare", "eval"],
        rows: beside(
            tallies,
            |tally| vec![pair("eval 1+1", &tally.shell, Some(Bar::RatioAtMost(1.1)))],
            |name, tally| (!tally.shell[0].is_empty()).then(|| pair(name, &tally.shell, None)),
        ),
    }
}
