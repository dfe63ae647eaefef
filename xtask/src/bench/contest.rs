//! The run: what the hub costs by itself, then some heats against a direct browser, then the report
//! and the verdict. Several heats, because two processes of the very same program can differ for all
//! of their lives; fresh ones every few rounds keep that out of the ratios.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use super::connect::Client;
use super::heat::{self, Samples, Setup, Subject, Tally};
use super::machine::Machine;
use super::measures::{Measure, Scale};
use super::report::{self, Bar, Row};
use super::{Args, footprint, stats};
use crate::{browser, steps};

struct Results {
    machine: Machine,
    rows: Vec<Row>,
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
    let missed = results.rows.iter().filter(|row| row.missed()).count();
    if missed > 0 {
        println!("FAILED: {missed} of the bars missed");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

async fn contest(args: &Args) -> Result<Results> {
    let browser = browser::find().context("no browser found: `cargo xtask run` installs one")?;
    let bowline: Option<PathBuf> = if args.self_check { None } else { Some(steps::bowline("release")?) };
    let client = if args.no_connect { None } else { Some(Client::ensure()?) };
    // Before anything runs: the load that it reports is somebody else's.
    let mut machine = Machine::describe(bowline.as_deref());

    let mut costs = Vec::new();
    if let Some(bowline) = &bowline {
        eprintln!("  the hub by itself: memory, idle clients, endpoint");
        costs = footprint::measure(bowline, &browser, args.quick).await?;
    }
    let heats = if args.quick { 2 } else { 5 };
    let setup = Setup {
        browser: &browser,
        bowline: bowline.as_deref(),
        client: client.as_ref(),
        scale: if args.quick { Scale::QUICK } else { Scale::FULL },
        rounds: rounds(args).div_ceil(heats),
    };
    let mut tally = Tally::default();
    for heat in 0..heats {
        eprintln!("  heat {} of {heats}: {} rounds", heat + 1, setup.rounds);
        heat::run(&setup, heat, &mut tally).await?;
    }

    machine.browser = tally.product;
    let (mut rows, mut samples) = (Vec::new(), Map::new());
    for (subject, taken) in &tally.samples {
        rows.extend(rows_of(*subject, taken));
        // A thousand latencies per turn are too many to keep; their medians tell the story.
        let [direct, other] = taken.each_ref().map(|turns| medians(turns));
        samples.insert(format!("{subject:?}"), json!({"direct": direct, "other": other}));
    }
    rows.extend(costs);
    if bowline.is_some() {
        let mib = tally.resident as f64 / 1024.0 / 1024.0;
        rows.push(Row::hub_only("hub RSS, after a heat", "MiB", mib, None));
    }
    Ok(Results { machine, rows, samples: Value::Object(samples) })
}

fn rows_of(subject: Subject, [direct, other]: &Samples) -> Vec<Row> {
    let row = |name: &str, unit, bar| {
        let (direct, other) = (medians(direct), medians(other));
        let ratio = stats::paired_ratio(&direct, &other);
        Row::compared(name, unit, stats::median(&direct), stats::median(&other), ratio, Some(bar))
    };
    match subject {
        Subject::Measure(Measure::Latency) => {
            let p99 = |turns: &[Vec<f64>]| stats::percentile(&turns.concat(), 99.0);
            let (direct, other) = (p99(direct), p99(other));
            vec![
                row("evaluate, p50", "us", Bar::RatioAtMost(1.10)),
                Row::compared("evaluate, p99", "us", direct, other, other / direct, None),
            ]
        }
        Subject::Measure(Measure::Throughput) => {
            vec![row("evaluate, 64 in flight", "/s", Bar::RatioAtLeast(0.95))]
        }
        Subject::Measure(Measure::Events) => vec![row("console events", "/s", Bar::RatioAtLeast(0.95))],
        Subject::Measure(Measure::PayloadOut) => {
            vec![row("5 MB from the page", "MB/s", Bar::RatioAtLeast(0.9))]
        }
        Subject::Measure(Measure::PayloadIn) => vec![row("5 MB to the page", "MB/s", Bar::RatioAtLeast(0.9))],
        Subject::Connect(1) => vec![row("connectOverCDP, 1 tab", "ms", Bar::RatioAtMost(1.1))],
        Subject::Connect(tabs) => {
            vec![row(&format!("connectOverCDP, {tabs} tabs"), "ms", Bar::RatioAtMost(1.1))]
        }
    }
}

fn medians(turns: &[Vec<f64>]) -> Vec<f64> {
    turns.iter().map(|samples| stats::median(samples)).collect()
}

fn publish(args: &Args, results: &Results) -> Result<()> {
    let Results { machine, rows, samples } = results;
    println!();
    for (name, value) in machine.lines() {
        println!("{name:<12} {value}");
    }
    if args.self_check {
        println!("\nSelf-check: the column `bowline` is a second direct browser.");
    }
    println!("\n{}", report::table(rows));

    let out = match &args.out {
        Some(out) => out.clone(),
        None => steps::target_dir()?.join("bench.json"),
    };
    let json = report::json(machine, rounds(args), args.quick, rows, samples);
    fs::write(&out, format!("{json:#}\n")).with_context(|| format!("cannot write {}", out.display()))?;
    println!("Written: {}", out.display());
    if args.update_docs {
        let docs = steps::root().join("docs").join("BENCHMARKS.md");
        fs::write(&docs, report::markdown(machine, rounds(args), args.quick, rows))
            .with_context(|| format!("cannot write {}", docs.display()))?;
        println!("Written: docs/BENCHMARKS.md");
    }
    Ok(())
}

fn rounds(args: &Args) -> usize {
    usize::from(args.rounds.unwrap_or(if args.quick { 6 } else { 20 }))
}
