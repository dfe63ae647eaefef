//! The run: what the hub costs by itself, then some heats against a direct browser and against a hub that
//! does not record, then the report and the verdict. Several heats, because two processes of the very same
//! program can differ for all of their lives; fresh ones every few rounds keep that out of the ratios.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use super::connect::Client;
use super::heat::{self, Pair, Samples, Setup, Subject, Tally};
use super::machine::Machine;
use super::measures::{Measure, Scale};
use super::report::{self, Bar, Part, Row};
use super::site::Site;
use super::usage::MIB;
use super::{Args, Topic, agents, eval, extension, footprint, load, stats};
use crate::{browser, steps};

struct Results {
    machine: Machine,
    parts: Vec<Part>,
    samples: Value,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    if !cfg!(target_os = "linux") {
        bail!("bench reads /proc, so it runs on Linux only");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let start = Instant::now();
    let results = runtime.block_on(contest(args))?;
    publish(args, &results)?;
    println!("Took {}.", steps::seconds(start.elapsed()));
    let missed = results.parts.iter().flat_map(|part| &part.rows).filter(|row| row.missed()).count();
    if missed > 0 {
        println!("FAILED: {missed} of the bars missed");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

async fn contest(args: &Args) -> Result<Results> {
    let browser = browser::find().context("no browser found: `cargo xtask run` installs one")?;
    let bowline: PathBuf = if args.self_check { PathBuf::new() } else { steps::bowline("release")? };
    let chosen = args.chosen();
    let is_wanted = |topic: Topic| !args.self_check && (chosen.is_empty() || chosen.contains(&topic));
    let pairs: Vec<Pair> = if args.self_check {
        vec![Pair::SelfCheck]
    } else {
        let pairs = [(Topic::Contest, Pair::Contest), (Topic::Recording, Pair::Recording)];
        pairs.into_iter().filter(|(topic, _)| is_wanted(*topic)).map(|(_, pair)| pair).collect()
    };
    let connects = !pairs.is_empty() || is_wanted(Topic::Extension);
    let client = if args.no_connect || !connects { None } else { Some(Client::ensure()?) };
    // Before anything runs: the load that it reports is somebody else's.
    let mut machine = Machine::describe((!args.self_check).then_some(&bowline));
    let site = Site::open().await?;

    let (mut parts, mut samples) = (Vec::new(), Map::new());
    if is_wanted(Topic::Hub) {
        eprintln!("  the hub by itself: memory, idle clients, endpoint");
        parts.push(footprint::measure(&bowline, &browser, args.quick).await?);
    }
    if is_wanted(Topic::Eval) {
        eprintln!("  eval from the shell");
        parts.push(eval::measure(&bowline, &browser).await?);
    }
    if is_wanted(Topic::Load) {
        let [long, short] = if args.quick { [10, 5] } else { [60, 20] };
        eprintln!("  the recorder under load: {long} s and {short} s");
        parts.push(load::keep_all(&bowline, &browser, &site, long).await?);
        parts.push(load::keep_latest(&bowline, &browser, &site, short).await?);
    }

    let heats = if args.quick { 2 } else { 5 };
    let setup = |pair: Pair| Setup {
        pair,
        browser: &browser,
        bowline: &bowline,
        client: client.as_ref(),
        site: &site,
        scale: if args.quick { Scale::QUICK } else { Scale::FULL },
        rounds: rounds(args).div_ceil(heats),
    };
    let mut tallies: Vec<(Setup<'_>, Tally)> =
        pairs.into_iter().map(|pair| (setup(pair), Tally::default())).collect();
    for heat in 0..heats {
        for (setup, tally) in &mut tallies {
            eprintln!("  heat {} of {heats}: {:?}, {} rounds", heat + 1, setup.pair, setup.rounds);
            heat::run(setup, heat, tally).await?;
        }
    }
    for (position, (setup, tally)) in tallies.into_iter().enumerate() {
        samples.insert(format!("{:?}", setup.pair), shortened(&tally));
        // What is compared comes before what is not.
        parts.insert(position, part_of(setup.pair, &tally));
        machine.browser = tally.product;
    }
    if is_wanted(Topic::Extension) {
        let setup = extension::Setup {
            browser: &browser,
            bowline: &bowline,
            client: client.as_ref(),
            heats,
            rounds: rounds(args).div_ceil(heats),
            quick: args.quick,
        };
        let measured = extension::measure(&setup).await?;
        machine.browser = measured.product;
        samples.insert("Extension".to_owned(), measured.samples);
        parts.extend(measured.parts);
    }
    if is_wanted(Topic::Agents) {
        eprintln!("  servers for agents: {} rounds", rounds(args));
        let setup = agents::Setup {
            bowline: &bowline,
            bare: &steps::program("bare", "release")?,
            browser: &browser,
            site: &site,
            rounds: rounds(args),
        };
        let measured = agents::measure(&setup).await?;
        machine.browser = measured.product;
        samples.insert("Agents".to_owned(), measured.samples);
        parts.extend(measured.parts);
    }
    Ok(Results { machine, parts, samples: Value::Object(samples) })
}

/// A thousand latencies per turn are too many to keep; their medians tell the story.
fn shortened(tally: &Tally) -> Value {
    let samples = tally.samples.iter().map(|(subject, taken)| {
        let [first, second] = taken.each_ref().map(|turns| medians(turns));
        (format!("{subject:?}"), json!([first, second]))
    });
    Value::Object(samples.collect())
}

fn part_of(pair: Pair, tally: &Tally) -> Part {
    // Without a bar, what recording costs is for people to judge.
    let has_bars = pair != Pair::Recording;
    let mut rows: Vec<Row> =
        tally.samples.iter().flat_map(|(subject, taken)| rows_of(*subject, taken, has_bars)).collect();
    if pair != Pair::SelfCheck {
        rows.push(Row::single("hub RSS, after a heat", "MiB", tally.resident as f64 / MIB, None));
    }
    let (title, about, sides) = match pair {
        Pair::SelfCheck => ("Self-check", "A direct browser against another one.", ["direct", "direct"]),
        Pair::Contest => (
            "Against a direct browser",
            "A client of the browser itself, and one of a hub in front of it, which records. That the page has\n\
             a second listener then, the recorder, slows its console down in any browser; `heard twice` gives\n\
             the direct one a second listener, too. A new tab is a `Target.createTarget` with an address.",
            ["direct", "bowline"],
        ),
        Pair::Recording => (
            "What recording costs clients",
            "A client of a hub that does not record (`recorder.enabled = false`), and one of a hub that does.",
            ["off", "on"],
        ),
    };
    Part { title, about: about.to_owned(), sides, rows }
}

fn rows_of(subject: Subject, [first, second]: &Samples, has_bars: bool) -> Vec<Row> {
    let row = |name: &str, unit, bar: Option<Bar>| {
        let (first, second) = (medians(first), medians(second));
        let ratio = stats::paired_ratio(&first, &second);
        let bar = bar.filter(|_| has_bars);
        Row::compared(name, unit, stats::median(&first), stats::median(&second), ratio, bar)
    };
    let at_most = |ratio: f64| Some(Bar::RatioAtMost(ratio));
    let at_least = |ratio: f64| Some(Bar::RatioAtLeast(ratio));
    match subject {
        Subject::Measure(Measure::Latency) => {
            let p99 = |turns: &[Vec<f64>]| stats::percentile(&turns.concat(), 99.0);
            let (first, second) = (p99(first), p99(second));
            vec![
                row("evaluate, p50", "us", at_most(1.1)),
                Row::compared("evaluate, p99", "us", first, second, second / first, None),
            ]
        }
        Subject::Measure(Measure::Throughput) => vec![row("evaluate, 64 in flight", "/s", at_least(0.95))],
        Subject::Measure(Measure::Events) => vec![row("console events", "/s", None)],
        Subject::Measure(Measure::PayloadOut) => vec![row("5 MB from the page", "MB/s", at_least(0.9))],
        Subject::Measure(Measure::PayloadIn) => vec![row("5 MB to the page", "MB/s", at_least(0.9))],
        Subject::EventsHeardTwice => vec![row("console events, heard twice", "/s", at_least(0.95))],
        Subject::Connect(1) => vec![row("connectOverCDP, 1 tab", "ms", at_most(1.1))],
        Subject::Connect(tabs) => vec![row(&format!("connectOverCDP, {tabs} tabs"), "ms", at_most(1.1))],
        Subject::TabAnswered => vec![row("new tab, answered", "ms", None)],
        Subject::TabLoaded => vec![row("new tab, loaded", "ms", None)],
    }
}

fn medians(turns: &[Vec<f64>]) -> Vec<f64> {
    turns.iter().map(|samples| stats::median(samples)).collect()
}

fn publish(args: &Args, results: &Results) -> Result<()> {
    let Results { machine, parts, samples } = results;
    println!();
    for (name, value) in machine.lines() {
        println!("{name:<12} {value}");
    }
    for part in parts {
        println!("\n{}", part.table().trim_end());
    }

    let out = match &args.out {
        Some(out) => out.clone(),
        None => steps::target_dir()?.join("bench.json"),
    };
    let json = report::json(machine, rounds(args), args.quick, parts, samples);
    fs::write(&out, format!("{json:#}\n")).with_context(|| format!("cannot write {}", out.display()))?;
    println!("\nWritten: {}", out.display());
    if args.update_docs {
        let docs = steps::root().join("docs").join("BENCHMARKS.md");
        let text = if args.chosen().is_empty() {
            report::markdown(machine, rounds(args), args.quick, parts)
        } else {
            let old = fs::read_to_string(&docs).unwrap_or_default();
            report::merged(&old, machine, rounds(args), args.quick, parts)
        };
        fs::write(&docs, text).with_context(|| format!("cannot write {}", docs.display()))?;
        println!("Written: docs/BENCHMARKS.md");
    }
    Ok(())
}

fn rounds(args: &Args) -> usize {
    usize::from(args.rounds.unwrap_or(if args.quick { 6 } else { 20 }))
}
