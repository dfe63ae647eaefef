//! A screen without a monitor and a hand for its mouse: some of what a browser shows, such as the bar on
//! which a person cancels debugging, is neither there without a screen nor in reach of a page.

use std::env;

use anyhow::Result;

use crate::install::{self, Permission};

/// Programs, and the packages that have them.
const NEEDED: [(&str, &str); 2] = [("Xvfb", "xvfb"), ("xdotool", "xdotool")];

/// Installs what is missing.
pub fn ensure(permission: Permission) -> Result<()> {
    let search_path = env::var_os("PATH").unwrap_or_default();
    let is_there =
        |program| env::split_paths(&search_path).any(|directory| directory.join(program).is_file());
    let missing: Vec<&str> =
        NEEDED.iter().filter(|(program, _)| !is_there(*program)).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    install::packages(
        &missing,
        "some tests look at windows and press buttons of the browser itself",
        permission,
    )
}
