//! Telling browsers about the native messaging host: a manifest in a directory of each, which names a
//! small script in the data directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bowline_hub::files;
use serde::Serialize;
use serde_json::json;

use crate::bundle::{NATIVE_HOST, Package};
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

/// A browser and its directory of profiles, below that of the user's configuration; and where Firefox keeps its own.
#[cfg(target_os = "macos")]
const BROWSERS: &[(&str, &str)] = &[
    ("Chrome", "Google/Chrome"),
    ("Chrome Beta", "Google/Chrome Beta"),
    ("Chromium", "Chromium"),
    ("Edge", "Microsoft Edge"),
    ("Brave", "BraveSoftware/Brave-Browser"),
];
#[cfg(target_os = "macos")]
const FIREFOX: (&str, &str) = ("Library/Application Support/Mozilla", "NativeMessagingHosts");
#[cfg(all(unix, not(target_os = "macos")))]
const BROWSERS: &[(&str, &str)] = &[
    ("Chrome", "google-chrome"),
    ("Chrome Beta", "google-chrome-beta"),
    ("Chrome Dev", "google-chrome-unstable"),
    ("Chromium", "chromium"),
    ("Edge", "microsoft-edge"),
    ("Brave", "BraveSoftware/Brave-Browser"),
];
#[cfg(all(unix, not(target_os = "macos")))]
const FIREFOX: (&str, &str) = (".mozilla", "native-messaging-hosts");
/// The key in the registry.
#[cfg(windows)]
const BROWSERS: &[(&str, &str)] = &[
    ("Chrome", "Google\\Chrome"),
    ("Chromium", "Chromium"),
    ("Edge", "Microsoft\\Edge"),
    ("Brave", "BraveSoftware\\Brave-Browser"),
];
#[cfg(windows)]
const FIREFOX: &[(&str, &str)] = &[("Firefox", "Mozilla")];

/// Which extensions may start the host, as the browser's manifest says it.
enum Allowed {
    Origins(Vec<String>),
    Extensions(Vec<String>),
}

impl Allowed {
    /// The same manifest has another member in Firefox, and another name on Windows, where both lie side by side.
    fn manifest(&self, launcher: &Path) -> (String, String) {
        let (member, allowed, file) = match self {
            Self::Origins(origins) => ("allowed_origins", origins, format!("{NATIVE_HOST}.json")),
            Self::Extensions(ids) => ("allowed_extensions", ids, format!("{NATIVE_HOST}.firefox.json")),
        };
        let manifest = json!({
            "name": NATIVE_HOST,
            "description": "Bowline pairs its extension with the hub.",
            "path": launcher,
            "type": "stdio",
            member: allowed,
        });
        (format!("{manifest:#}\n"), file)
    }
}

/// For the browsers made of Chromium that are found here, and those with these directories.
pub(in crate::commands::extension) fn for_chromium(
    paths: &Paths,
    ids: &[String],
    user_data_dirs: &[PathBuf],
) -> Result<Registered, Failure> {
    let allowed = Allowed::Origins(ids.iter().map(|id| format!("chrome-extension://{id}/")).collect());
    let hint = "start the browser once, or name its directory with --user-data-dir";
    register(paths, &allowed, chromium_places(user_data_dirs), BROWSERS, hint)
}

pub(in crate::commands::extension) fn for_firefox(paths: &Paths) -> Result<Registered, Failure> {
    let allowed = Allowed::Extensions(Package::Firefox.id().into_iter().collect());
    #[cfg(windows)]
    let keys = FIREFOX;
    #[cfg(unix)]
    let keys = &[];
    register(paths, &allowed, firefox_places(), keys, "start Firefox once")
}

/// Writes what the browsers start, and a manifest to each place; `keys` are those of a registry, where there is one.
fn register(
    paths: &Paths,
    allowed: &Allowed,
    places: io::Result<Vec<(String, PathBuf)>>,
    keys: &[(&str, &str)],
    hint: &'static str,
) -> Result<Registered, Failure> {
    let fail = |error: io::Error| Failure::io("the native messaging host", &error);
    let program = std::env::current_exe().map_err(fail)?;
    let launcher = paths.data.join(if cfg!(windows) { "native-host.bat" } else { "native-host" });
    write_launcher(&launcher, &script(&program, &own_variables())).map_err(fail)?;
    let (manifest, file) = allowed.manifest(&launcher);
    let steps = by_hand(&paths.data.join(file), &manifest, keys).map_err(fail)?;
    let mut manifests = Vec::new();
    for (browser, directory) in places.map_err(fail)? {
        fs::create_dir_all(&directory).map_err(fail)?;
        let path = directory.join(format!("{NATIVE_HOST}.json"));
        fs::write(&path, &manifest).map_err(fail)?;
        manifests.push(Manifest { browser, path });
    }
    if manifests.is_empty() && steps.is_empty() {
        let message = "no browser with a profile of yours was found";
        return Err(Failure::new(exit::NO_BROWSER, "no_browser", message).hint(hint));
    }
    Ok(Registered { launcher, manifests, steps })
}

/// Where a manifest belongs for each browser found.
#[cfg(unix)]
fn chromium_places(user_data_dirs: &[PathBuf]) -> io::Result<Vec<(String, PathBuf)>> {
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
    Ok(usual.chain(named).map(|(name, dir)| (name, dir.join("NativeMessagingHosts"))).collect())
}

/// Newer ones keep their profiles in the directory of configurations on Linux, and look for hosts at the old place all the
/// same (measured with 153).
#[cfg(unix)]
fn firefox_places() -> io::Result<Vec<(String, PathBuf)>> {
    use etcetera::BaseStrategy;
    let base = etcetera::choose_base_strategy().map_err(io::Error::other)?;
    let own = base.home_dir().join(FIREFOX.0);
    let is_there = own.is_dir() || base.config_dir().join("mozilla").is_dir();
    Ok(is_there.then(|| ("Firefox".to_owned(), own.join(FIREFOX.1))).into_iter().collect())
}

/// Windows looks into its registry, which names the file.
#[cfg(windows)]
fn chromium_places(_: &[PathBuf]) -> io::Result<Vec<(String, PathBuf)>> {
    Ok(Vec::new())
}

#[cfg(windows)]
fn firefox_places() -> io::Result<Vec<(String, PathBuf)>> {
    Ok(Vec::new())
}

/// What is left to be done by hand: entries in a registry.
#[cfg(windows)]
fn by_hand(path: &Path, manifest: &str, keys: &[(&str, &str)]) -> io::Result<Vec<String>> {
    files::write_private(path, manifest.as_bytes())?;
    let add = |(_, key): &(&str, &str)| {
        format!(
            "reg add \"HKCU\\Software\\{key}\\NativeMessagingHosts\\{NATIVE_HOST}\" /ve /t REG_SZ /d \"{}\" /f",
            path.display()
        )
    };
    Ok(keys.iter().map(add).collect())
}

#[cfg(unix)]
fn by_hand(_: &Path, _: &str, _: &[(&str, &str)]) -> io::Result<Vec<String>> {
    Ok(Vec::new())
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

    #[test]
    fn firefox_is_told_of_extensions_and_chromium_of_origins() {
        let (firefox, _) = Allowed::Extensions(vec!["a@b".to_owned()]).manifest(Path::new("/x"));
        let (chromium, _) =
            Allowed::Origins(vec!["chrome-extension://a/".to_owned()]).manifest(Path::new("/x"));
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&firefox)["allowed_extensions"], json!(["a@b"]));
        assert!(read(&firefox).get("allowed_origins").is_none(), "Firefox refuses it with both");
        assert_eq!(read(&chromium)["allowed_origins"], json!(["chrome-extension://a/"]));
    }
}
