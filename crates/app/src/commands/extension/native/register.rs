//! Telling browsers about the native messaging host: a manifest in a directory of each, which names a
//! small script in the data directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bowline_hub::files;
use serde::Serialize;
use serde_json::json;

use crate::bundle::NATIVE_HOST;
use crate::failure::{Failure, exit};
use crate::paths::Paths;

#[derive(Debug, Serialize)]
pub(in crate::commands::extension) struct Registered {
    /// What the browsers start.
    pub(in crate::commands::extension) launcher: PathBuf,
    pub(in crate::commands::extension) manifests: Vec<Manifest>,
    /// What has to be run by hand.
    pub(in crate::commands::extension) steps: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(in crate::commands::extension) struct Manifest {
    pub(in crate::commands::extension) browser: String,
    pub(in crate::commands::extension) path: PathBuf,
}

/// A browser and its directory of profiles, below that of the user's configuration.
#[cfg(target_os = "macos")]
const BROWSERS: &[(&str, &str)] = &[
    ("Chrome", "Google/Chrome"),
    ("Chrome Beta", "Google/Chrome Beta"),
    ("Chromium", "Chromium"),
    ("Edge", "Microsoft Edge"),
    ("Brave", "BraveSoftware/Brave-Browser"),
];
#[cfg(all(unix, not(target_os = "macos")))]
const BROWSERS: &[(&str, &str)] = &[
    ("Chrome", "google-chrome"),
    ("Chrome Beta", "google-chrome-beta"),
    ("Chrome Dev", "google-chrome-unstable"),
    ("Chromium", "chromium"),
    ("Edge", "microsoft-edge"),
    ("Brave", "BraveSoftware/Brave-Browser"),
];
/// The key in the registry.
#[cfg(windows)]
const BROWSERS: &[(&str, &str)] = &[
    ("Chrome", "Google\\Chrome"),
    ("Chromium", "Chromium"),
    ("Edge", "Microsoft\\Edge"),
    ("Brave", "BraveSoftware\\Brave-Browser"),
];

pub(in crate::commands::extension) fn register(
    paths: &Paths,
    ids: &[String],
    user_data_dirs: &[PathBuf],
) -> Result<Registered, Failure> {
    let fail = |error: io::Error| Failure::io("the native messaging host", &error);
    let program = std::env::current_exe().map_err(fail)?;
    let launcher = paths.data.join(if cfg!(windows) { "native-host.bat" } else { "native-host" });
    write_launcher(&launcher, &script(&program, &own_variables())).map_err(fail)?;
    let origins: Vec<String> = ids.iter().map(|id| format!("chrome-extension://{id}/")).collect();
    let manifest = json!({
        "name": NATIVE_HOST,
        "description": "Bowline pairs its extension with the hub.",
        "path": launcher,
        "type": "stdio",
        "allowed_origins": origins,
    });
    let manifest = format!("{manifest:#}\n");
    let (places, steps) = places(paths, user_data_dirs, &manifest).map_err(fail)?;
    let mut manifests = Vec::new();
    for (browser, directory) in places {
        fs::create_dir_all(&directory).map_err(fail)?;
        let path = directory.join(format!("{NATIVE_HOST}.json"));
        fs::write(&path, &manifest).map_err(fail)?;
        manifests.push(Manifest { browser, path });
    }
    if manifests.is_empty() && steps.is_empty() {
        return Err(Failure::new(
            exit::NO_BROWSER,
            "no_browser",
            "no browser with a profile of yours was found",
        )
        .hint("start the browser once, or name its directory with --user-data-dir"));
    }
    Ok(Registered { launcher, manifests, steps })
}

/// Where a manifest belongs for each browser found, and what is left to be done by hand.
type Places = (Vec<(String, PathBuf)>, Vec<String>);

#[cfg(unix)]
fn places(_: &Paths, user_data_dirs: &[PathBuf], _: &str) -> io::Result<Places> {
    use etcetera::BaseStrategy;
    let base = etcetera::choose_base_strategy().map_err(io::Error::other)?;
    let configuration = if cfg!(target_os = "macos") {
        base.home_dir().join("Library/Application Support")
    } else {
        base.config_dir()
    };
    let usual = BROWSERS
        .iter()
        .map(|(name, dir)| ((*name).to_owned(), configuration.join(dir)))
        .filter(|(_, dir)| dir.is_dir());
    let named = user_data_dirs.iter().map(|dir| ("a browser".to_owned(), dir.clone()));
    Ok((usual.chain(named).map(|(name, dir)| (name, dir.join("NativeMessagingHosts"))).collect(), Vec::new()))
}

/// Windows looks into its registry, which names the file.
#[cfg(windows)]
fn places(paths: &Paths, _: &[PathBuf], manifest: &str) -> io::Result<Places> {
    let path = paths.data.join(format!("{NATIVE_HOST}.json"));
    files::write_private(&path, manifest.as_bytes())?;
    let add = |(_, key): &(&str, &str)| {
        format!(
            "reg add \"HKCU\\Software\\{key}\\NativeMessagingHosts\\{NATIVE_HOST}\" /ve /t REG_SZ /d \"{}\" /f",
            path.display()
        )
    };
    Ok((Vec::new(), BROWSERS.iter().map(add).collect()))
}

/// Where our directories are, if somebody has said so: a browser may not know.
fn own_variables() -> Vec<(&'static str, String)> {
    ["BOWLINE_CONFIG", "BOWLINE_STATE_DIR", "BOWLINE_DATA_DIR", "BOWLINE_RUNTIME_DIR"]
        .into_iter()
        .filter_map(|name| Some((name, std::env::var(name).ok().filter(|value| !value.is_empty())?)))
        .filter_map(|(name, value)| Some((name, std::path::absolute(value).ok()?.display().to_string())))
        .collect()
}

#[cfg(not(windows))]
fn script(program: &Path, variables: &[(&str, String)]) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let exports: String =
        variables.iter().map(|(name, value)| format!("export {name}={}\n", quoted(value))).collect();
    format!(
        "#!/bin/sh\n# Written by `bowline extension install --native`; browsers start it for the extension.\n{exports}exec {} extension native-host \"$@\"\n",
        quoted(&program.display().to_string())
    )
}

#[cfg(windows)]
fn script(program: &Path, variables: &[(&str, String)]) -> String {
    let exports: String =
        variables.iter().map(|(name, value)| format!("set \"{name}={value}\"\r\n")).collect();
    format!("@echo off\r\n{exports}\"{}\" extension native-host %*\r\n", program.display())
}

fn write_launcher(path: &Path, script: &str) -> io::Result<()> {
    files::write_private(path, script.as_bytes())?;
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_script_survives_strange_paths() {
        let script = script(Path::new("/opt/it's here/bowline"), &[("BOWLINE_DATA_DIR", "/a b".to_owned())]);
        assert!(
            script.contains("exec '/opt/it'\\''s here/bowline' extension native-host \"$@\""),
            "{script}"
        );
        assert!(script.contains("export BOWLINE_DATA_DIR='/a b'\n"), "{script}");
    }
}
