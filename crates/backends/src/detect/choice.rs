//! Which one browser a user means by a word, a path or nothing at all, and what is wrong when it
//! cannot be had. It never reads the environment for the user's wish: the caller passes it in.

use std::path::{Path, PathBuf};

use super::kind::BrowserKind;
use super::locations::{binary_in, usual_places, vendor_places};
use super::machine::{Machine, Platform};
use super::{Installed, detect_paths, look, real_file};

/// The environment variable that the hints name. The caller reads it and passes its value as `wanted`.
pub const BROWSER_VARIABLE: &str = "BOWLINE_BROWSER";

/// The browser to launch, without its version. Nothing (or only white space) wanted means the first that
/// speaks CDP, in order of preference. Otherwise the wish is a kind's word or alias, or a path, or the name of a
/// command in `PATH`, or a file in the working directory, tried in this order.
pub fn choose(machine: &dyn Machine, wanted: Option<&str>) -> Result<Installed, ChooseError> {
    let Some(wanted) = wanted.filter(|wanted| !wanted.trim().is_empty()) else {
        return for_cdp(detect_paths(machine));
    };
    let platform = machine.platform();
    if platform.has_separator(wanted) {
        return at_path(machine, Path::new(wanted));
    }
    if let Ok(kind) = wanted.parse() {
        return of_kind(machine, kind);
    }
    if let Some(command) = machine.find_in_path(wanted) {
        return at_path(machine, &command);
    }
    let is_bundle = platform == Platform::MacOs && wanted.ends_with(".app");
    if is_bundle || machine.is_file(Path::new(wanted)) {
        return at_path(machine, Path::new(wanted));
    }
    Err(ChooseError::UnknownWord { wanted: wanted.to_owned(), suggestion: BrowserKind::nearest(wanted) })
}

/// The kind that a word or a path alone gives away, without a look at the machine.
pub fn kind_meant(wanted: &str) -> Option<BrowserKind> {
    let name = wanted.rsplit(['/', '\\']).next().unwrap_or(wanted);
    let by_name = wanted.parse().ok().or_else(|| BrowserKind::of_file_name(name));
    by_name.or_else(|| name.to_lowercase().contains("firefox").then_some(BrowserKind::Firefox))
}

/// The first that speaks CDP: whoever names no browser expects a `/json/version` behind the endpoint.
fn for_cdp(installed: Vec<Installed>) -> Result<Installed, ChooseError> {
    let firefox = installed.iter().map(|browser| browser.kind).find(|kind| kind.is_firefox());
    let found = installed.into_iter().find(|browser| !browser.kind.is_firefox());
    found.ok_or(match firefox {
        Some(installed) => ChooseError::OnlyFirefox { installed },
        None => ChooseError::NoneInstalled,
    })
}

fn of_kind(machine: &dyn Machine, wanted: BrowserKind) -> Result<Installed, ChooseError> {
    let installed = detect_paths(machine);
    let found = |kind| installed.iter().find(|browser| browser.kind == kind);
    // The ESR is a stable Firefox too, and on Debian the only one.
    let instead = (wanted == BrowserKind::Firefox).then(|| found(BrowserKind::FirefoxEsr)).flatten();
    if let Some(found) = found(wanted).or(instead) {
        return Ok(found.clone());
    }
    let mut kinds: Vec<BrowserKind> = installed.iter().map(|browser| browser.kind).collect();
    kinds.dedup();
    Err(ChooseError::KindNotInstalled { wanted, installed: kinds })
}

fn at_path(machine: &dyn Machine, path: &Path) -> Result<Installed, ChooseError> {
    // The hub's working directory is not the user's, so what is kept must not depend on it.
    let path = inside_bundle(machine.platform(), machine.absolute(path));
    if !machine.is_file(&path) {
        return Err(ChooseError::NotAFile { path });
    }
    if !machine.is_executable(&path) {
        return Err(ChooseError::NotExecutable { path });
    }
    Ok(Installed::at(kind_at(machine, &path), path))
}

/// A macOS user names the bundle they see, `X.app`; the program is inside, mostly under the same name.
fn inside_bundle(platform: Platform, path: PathBuf) -> PathBuf {
    let bundle = path.to_str().map(|text| text.trim_end_matches('/')).filter(|_| platform == Platform::MacOs);
    match bundle
        .and_then(|bundle| Some((bundle, platform.file_name(Path::new(bundle)).strip_suffix(".app")?)))
    {
        Some((bundle, name)) => platform.join(bundle, &format!("Contents/MacOS/{}", binary_in(name))).into(),
        None => path,
    }
}

/// A usual place says it best, then the file's name, then the name of what it links to, then what lies
/// beside it. What says nothing is taken for Chromium, which makes no assumption about a vendor.
fn kind_at(machine: &dyn Machine, path: &Path) -> BrowserKind {
    let real = real_file(machine, path);
    let by_place = BrowserKind::ALL.into_iter().find(|kind| {
        let vendor = vendor_places(machine.platform(), *kind).iter().map(PathBuf::from);
        usual_places(machine, *kind).into_iter().chain(vendor).any(|place| place == path || place == real)
    });
    let name = |path| BrowserKind::of_file_name(machine.platform().file_name(path));
    let plain =
        if looks_like_firefox(machine, path, &real) { BrowserKind::Firefox } else { BrowserKind::Chromium };
    let guess = by_place.or_else(|| name(path)).or_else(|| name(&real)).unwrap_or(plain);
    look(machine, guess, path.to_owned()).map_or(guess, |found| found.kind)
}

/// Every build of Firefox, also one under another name, has its application.ini beside the program.
fn looks_like_firefox(machine: &dyn Machine, path: &Path, real: &Path) -> bool {
    let platform = machine.platform();
    let is_named = |path| platform.file_name(path).to_lowercase().contains("firefox");
    let beside = platform.parent(real).map(|directory| platform.join(directory, "application.ini"));
    is_named(path) || is_named(real) || beside.is_some_and(|file| machine.is_file(Path::new(&file)))
}

/// Why no browser could be chosen. `hint` says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    #[error("no Chromium-family browser is installed")]
    NoneInstalled,
    #[error("no Chromium-family browser is installed, only {}", installed.name())]
    OnlyFirefox { installed: BrowserKind },
    #[error("browser \"{wanted}\" is not installed")]
    KindNotInstalled { wanted: BrowserKind, installed: Vec<BrowserKind> },
    #[error("browser \"{}\" is not a file", path.display())]
    NotAFile { path: PathBuf },
    #[error("browser \"{}\" is not executable", path.display())]
    NotExecutable { path: PathBuf },
    #[error("unknown browser \"{wanted}\"")]
    UnknownWord { wanted: String, suggestion: Option<BrowserKind> },
}
