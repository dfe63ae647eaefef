//! Embeds the browser extension: lists the files of each of its packages, as `extension/packages.json` names them, for
//! `src/bundle.rs`. Lays out the code of a release.

#![allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use serde::Deserialize;

const PACKAGES: &str = "packages.json";

/// What makes the extension of one kind of browser out of the one source.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Package {
    /// Where its manifest lies; it becomes the package's `manifest.json`.
    manifest: String,
    /// Files and directories that others have.
    #[serde(default)]
    leave_out: Vec<String>,
}

/// What belongs to the extension's development, not to the extension.
fn is_left_out(name: &str) -> bool {
    name.starts_with('.')
        || matches!(name, "node_modules" | "test" | "tests" | "types" | "package.json" | "package-lock.json")
        || name.starts_with("tsconfig")
        || name.starts_with("jsconfig")
        || name.starts_with("eslint")
        || name.ends_with(".d.ts")
        || name.ends_with(".md")
        || name.contains(".test.")
}

fn collect(dir: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if is_left_out(&entry.file_name().to_string_lossy()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), found)?;
        } else {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// Whether the linker is the toolchain's own, as far as can be told: others may not know such scripts.
fn has_usual_linker() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("RUSTC_LINKER") && !env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("link"))
}

/// See the file itself. Only what is released is worth it, and only where the linker takes it.
fn lay_out() -> io::Result<()> {
    println!("cargo::rerun-if-changed=layout.ld");
    println!("cargo::rerun-if-env-changed=BOWLINE_LAYOUT");
    let is = |name, value| env::var(name).is_ok_and(|is| is == value);
    let is_release = is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux");
    if is_release && has_usual_linker() && !is("BOWLINE_LAYOUT", "none") {
        let script = fs::canonicalize("layout.ld")?;
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
    Ok(())
}

/// The files of a package: their names in it, and where they lie.
fn files_of(
    package: &Package,
    manifests: &[&str],
    root: &Path,
    all: &[PathBuf],
) -> Result<Vec<(String, PathBuf)>, Box<dyn std::error::Error>> {
    let manifest = root.join(&package.manifest);
    if !manifest.is_file() {
        return Ok(Vec::new());
    }
    let mut files = vec![("manifest.json".to_owned(), manifest)];
    for file in all {
        let name = file.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        let is_below =
            |left: &String| name.strip_prefix(left.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let is_others = package.leave_out.iter().any(|left| *left == name || is_below(left));
        if !is_others && name != PACKAGES && !manifests.contains(&name.as_str()) {
            files.push((name, file.clone()));
        }
    }
    files.sort();
    Ok(files)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    lay_out()?;
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../extension");
    println!("cargo::rerun-if-changed={}", root.display());
    let (mut all, mut packages) = (Vec::new(), BTreeMap::new());
    if root.is_dir() {
        collect(&root, &mut all)?;
        packages = serde_json::from_slice(&fs::read(root.join(PACKAGES))?)?;
    }
    let packages: BTreeMap<String, Package> = packages;
    let manifests: Vec<&str> = packages.values().map(|package| package.manifest.as_str()).collect();
    let mut list = String::from("&[\n");
    for (browser, package) in &packages {
        writeln!(list, "    ({browser:?}, &[")?;
        for (name, file) in files_of(package, &manifests, &root, &all)? {
            writeln!(list, "        ({name:?}, include_bytes!({:?})),", fs::canonicalize(&file)?)?;
        }
        writeln!(list, "    ]),")?;
    }
    list.push(']');
    fs::write(Path::new(&env::var("OUT_DIR")?).join("extension_files.rs"), list)?;
    Ok(())
}
