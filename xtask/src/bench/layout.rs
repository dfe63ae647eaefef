//! `cargo xtask layout`: writes crates/app/layout.ld, which tells the linker what of the binary belongs together. Two
//! commands are traced with valgrind on a binary without such a layout; what they run is named by as few patterns as
//! will do.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::process::Command;

use super::agents::server::{Server, Tool};
use super::side::{Side, interruptible};
use crate::{browser, steps};

const HEAD: &str = "/* Written by `cargo xtask layout`; do not edit.
 *
 * What `bowline mcp` and `bowline eval` run, put side by side at the start of the code. A process that touches a page of
 * a program gets the 64 KiB around it: strewn over the whole of it, the megabyte that an agent's server needs costs eight.
 * Names are without the compiler's hashes, and begin with the crate that was compiled. A line that fits nothing any more
 * does nothing; the price is memory alone. */
";
/// So many bytes that nobody needs are better than one more line.
const LINE: u64 = 4_800;

/// The code of one function, as the linker has it.
struct Section {
    start: u64,
    size: u64,
    /// A pattern for the file that it comes from.
    object: String,
    /// A beginning of its name that does not depend on the compiler.
    name: String,
}

pub fn run() -> Result<()> {
    let map = steps::target_dir()?.join("layout.map");
    let mut build = steps::cargo();
    build.args(["rustc", "--release", "-p", "bowline", "--bin", "bowline"]);
    build.args(["--config", "profile.release.strip=false", "--", "-C"]);
    build.arg(format!("link-arg=-Wl,-Map={}", map.display())).env("BOWLINE_LAYOUT", "none");
    steps::step("build", &mut build)?;
    let bowline = steps::program("bowline", "release")?;
    let browser = browser::find().context("no browser found: `cargo xtask run` installs one")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let addresses = runtime.block_on(trace(&bowline, &browser))?;
    let sections = sections(&fs::read_to_string(&map)?);
    ensure!(!sections.is_empty(), "the linker's map is not one of lld");
    let script = script(&sections, &addresses);
    fs::write(steps::root().join("crates").join("app").join("layout.ld"), &script)?;
    println!("Written: crates/app/layout.ld, {} lines", script.lines().count());
    Ok(())
}

/// Addresses of all instructions that a session of a server and an evaluation run.
async fn trace(bowline: &Path, browser: &Path) -> Result<HashSet<u64>> {
    let hub = Side::hub(bowline, browser, &[]).await?;
    let traces = [1, 2].map(|number| hub.kept(&format!("trace-{number}")));
    let valgrind = |words: &[&str], trace: &Path| -> Result<Command> {
        let mut command = hub.bowline(Path::new("valgrind"), browser)?;
        command.args(["--tool=callgrind", "--dump-instr=yes", "--compress-pos=no", "--compress-strings=no"]);
        command.arg(format!("--callgrind-out-file={}", trace.display())).arg(bowline).args(words);
        Ok(command)
    };
    let work = async {
        let (mut server, _) = Server::start(valgrind(&["mcp"], &traces[0])?).await?;
        server.listed().await?;
        let evaluate = Tool { name: "browser_evaluate", arguments: json!({"expression": "1+1"}) };
        server.call(&evaluate).await?;
        server.end().await?;
        let status = valgrind(&["eval", "1+1"], &traces[1])?.status().await.context("valgrind is missing")?;
        ensure!(status.success(), "`bowline eval` failed: {status}");
        traces.iter().try_fold(HashSet::new(), |mut all, trace| {
            all.extend(instructions(&fs::read_to_string(trace).context("valgrind wrote no trace")?, bowline));
            Ok(all)
        })
    };
    let addresses = interruptible(work).await;
    hub.stop().await?;
    addresses
}

/// Addresses in a trace, of this program alone.
fn instructions(trace: &str, bowline: &Path) -> Vec<u64> {
    let mut is_ours = false;
    let mut found = Vec::new();
    for line in trace.lines() {
        if let Some(object) = line.strip_prefix("ob=") {
            is_ours = Path::new(object) == bowline;
        } else if let Some(rest) = line.strip_prefix("0x").filter(|_| is_ours) {
            let digits = rest.split(' ').next().unwrap_or_default();
            found.extend(u64::from_str_radix(digits, 16));
        }
    }
    found
}

/// Lines such as `3d4030 3d4030 dd 16 FILE:(.text.NAME)`.
fn sections(map: &str) -> Vec<Section> {
    let section = |line: &str| {
        let (front, name) = line.trim().strip_suffix(')')?.split_once(":(.text")?;
        let mut words = front.split_whitespace();
        let (start, _, size, _) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let number = |text| u64::from_str_radix(text, 16).ok();
        let parts: Vec<&str> = words.next()?.split('.').collect();
        let unit = parts.iter().position(|part| part.ends_with("-cgu"))?;
        let object = format!("*.{}.*-cgu.*", parts.get(unit.checked_sub(1)?)?);
        Some(Section { start: number(start)?, size: number(size)?, object, name: plain(name) })
    };
    let mut sections: Vec<Section> =
        map.lines().filter_map(section).filter(|section| section.size > 0).collect();
    sections.sort_by_key(|section| section.start);
    sections
}

/// Without what the compiler adds: `17h`, sixteen digits and `E` at the end, or `Cs`, digits and `_` for each crate.
fn plain(name: &str) -> String {
    let name = name.split(".llvm.").next().unwrap_or(name);
    if let Some((front, hash)) = name.rsplit_once("17h").filter(|(_, hash)| hash.len() == 17) {
        return if hash.ends_with('E') { format!(".text{front}") } else { format!(".text{name}") };
    }
    let mut pieces = name.split("Cs");
    let mut plain = format!(".text{}", pieces.next().unwrap_or_default());
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let has_hash = digits >= 6 && piece.as_bytes().get(digits) == Some(&b'_');
        plain += &if has_hash { format!("Cs*{}", &piece[digits..]) } else { format!("Cs{piece}") };
    }
    plain
}

fn script(sections: &[Section], addresses: &HashSet<u64>) -> String {
    let mut has_run: HashSet<u64> = HashSet::new();
    for address in addresses {
        let after = sections.partition_point(|section| section.start <= *address);
        let section = after.checked_sub(1).and_then(|at| sections.get(at));
        has_run.extend(section.filter(|section| *address < section.start + section.size).map(|it| it.start));
    }
    let mut objects: BTreeMap<&str, Vec<(&str, u64, bool)>> = BTreeMap::new();
    for section in sections {
        let entry = (section.name.as_str(), section.size, has_run.contains(&section.start));
        objects.entry(&section.object).or_default().push(entry);
    }
    let mut text = format!("{HEAD}SECTIONS {{\n  .text.agents : {{\n");
    for (object, mut entries) in objects {
        entries.sort_unstable();
        for name in patterns(&entries).1 {
            text += &format!("    {object}({name}*)\n");
        }
    }
    text + "  }\n}\nINSERT BEFORE .text;\n"
}

/// The beginnings of names that cover all that has run, at the least cost, and that cost: lines, and bytes that come
/// along. The entries are sorted.
fn patterns(entries: &[(&str, u64, bool)]) -> (u64, Vec<String>) {
    let ([first, ..], [.., last]) = (entries, entries) else { return (0, Vec::new()) };
    if entries.iter().all(|(_, _, has_run)| !has_run) {
        return (0, Vec::new());
    }
    let common = first.0.bytes().zip(last.0.bytes()).take_while(|(a, b)| a == b).count();
    let whole = LINE + entries.iter().map(|(_, size, _)| size).sum::<u64>();
    let together = (whole, vec![first.0[..common].to_owned()]);
    if first.0 == last.0 {
        return together;
    }
    let mut apart = (0, Vec::new());
    for entries in entries.chunk_by(|a, b| a.0.as_bytes().get(common) == b.0.as_bytes().get(common)) {
        let (cost, names) = patterns(entries);
        apart.0 += cost;
        apart.1.extend(names);
    }
    if together.0 <= apart.0 { together } else { apart }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_the_compiler_adds() {
        assert_eq!(
            plain("._ZN4rmcp7service5serve17h0123456789abcdefE.llvm.42"),
            ".text._ZN4rmcp7service5serve"
        );
        assert_eq!(plain("._RNvCsfLfy6EI15iL_4core3fmt"), ".text._RNvCs*_4core3fmt");
    }

    #[test]
    fn what_is_small_is_taken_whole_and_what_is_large_by_name() {
        let small = [(".text.a1", 10, true), (".text.a2", 10, false), (".text.a3", 10, true)];
        assert_eq!(patterns(&small).1, [".text.a"]);
        let large = [(".text.a", 10, true), (".text.b", 1_000_000, false), (".text.c", 10, true)];
        assert_eq!(patterns(&large).1, [".text.a", ".text.c"]);
    }

    #[test]
    fn sections_come_from_the_linkers_map() {
        let map = "          3d4030           3d4030       dd    16         \
                   /x/bowline-e0.rmcp-67.rmcp.91f6-cgu.0.rcgu.o.rcgu.o:(.text._ZN4rmcp1a17h0123456789abcdefE)";
        let sections = sections(map);
        assert_eq!((sections[0].start, sections[0].size), (0x3d_4030, 0xdd));
        assert_eq!(
            (sections[0].object.as_str(), sections[0].name.as_str()),
            ("*.rmcp.*-cgu.*", ".text._ZN4rmcp1a")
        );
    }
}
