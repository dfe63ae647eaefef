//! How xtask runs other programs: a heading, the tool's own output untouched, the time it took. Knows
//! where the checkout and its build output are; never knows what a step is for.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The root of the checkout.
pub fn root() -> PathBuf {
    // Cargo sets the variable for what it runs; the compiled-in value goes stale when a checkout moves.
    let manifest =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.parent().map_or_else(|| manifest.clone(), Path::to_path_buf)
}

/// Where cargo puts what it builds: two levels above this binary, whatever CARGO_TARGET_DIR or a
/// configured target triple made of it.
pub fn target_dir() -> Result<PathBuf> {
    let exe = env::current_exe().context("cannot tell where xtask itself is")?;
    let target = exe.ancestors().nth(2).context("xtask does not run from a cargo target directory")?;
    Ok(target.to_path_buf())
}

/// The path of the `bowline` binary of `profile`, "debug" or "release".
pub fn bowline(profile: &str) -> Result<PathBuf> {
    program("bowline", profile)
}

/// The path of a binary of this checkout.
pub fn program(name: &str, profile: &str) -> Result<PathBuf> {
    Ok(target_dir()?.join(profile).join(format!("{name}{}", env::consts::EXE_SUFFIX)))
}

/// The cargo that runs us, in the checkout's root.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs one step: heading, command, duration. A failure names the step and the exit code.
pub fn step(name: &str, command: &mut Command) -> Result<()> {
    println!("\n==> {name}: {}", shown(command));
    let start = Instant::now();
    let status = command.status().with_context(|| format!("{name}: cannot run {}", shown(command)))?;
    let took = seconds(start.elapsed());
    if !status.success() {
        bail!("{name} ({status}, after {took})");
    }
    println!("    {name} ok in {took}");
    Ok(())
}

/// What a program prints, or None if it is missing or fails.
pub fn output_of(program: &str, args: &[&str]) -> Option<String> {
    output(Command::new(program).args(args))
}

/// What a prepared command prints, or None if it cannot run or fails.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

pub fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let args = command.get_args().map(|arg| arg.to_string_lossy().into_owned());
    std::iter::once(name).chain(args).collect::<Vec<_>>().join(" ")
}
