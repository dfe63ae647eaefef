//! Embeds the browser extension: lists the files of `extension/` for `src/bundle.rs`.

#![allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../extension");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    if root.is_dir() {
        collect(&root, &mut files)?;
    }
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&root)?.to_string_lossy().replace('\\', "/");
        writeln!(list, "    ({name:?}, include_bytes!({:?})),", fs::canonicalize(&file)?)?;
    }
    list.push(']');
    fs::write(Path::new(&env::var("OUT_DIR")?).join("extension_files.rs"), list)?;
    Ok(())
}
