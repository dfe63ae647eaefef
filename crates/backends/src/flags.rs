//! The command line of a launched Chromium.

use std::ffi::OsString;
use std::path::Path;

/// What decides about the flags.
pub(crate) struct Flags<'a> {
    pub(crate) headless: bool,
    pub(crate) no_sandbox: bool,
    /// The profile is thrown away afterwards and nobody's.
    pub(crate) throw_away: bool,
    /// Whether `/dev/shm` is too small for a browser, as in many containers.
    pub(crate) small_shared_memory: bool,
    pub(crate) transport: &'a str,
    pub(crate) profile: &'a Path,
    pub(crate) extra: Vec<&'a str>,
}

impl Flags<'_> {
    pub(crate) fn build(&self) -> Vec<OsString> {
        let mut profile = OsString::from("--user-data-dir=");
        profile.push(self.profile);
        let mut flags: Vec<OsString> = vec![self.transport.into(), profile];
        let mut add = |flag: &str| flags.push(flag.into());
        for flag in [
            "--no-first-run",
            "--no-default-browser-check",
            "--disable-background-networking",
            "--disable-default-apps",
            "--disable-sync",
            "--disable-translate",
            "--metrics-recording-only",
            "--mute-audio",
        ] {
            add(flag);
        }
        if self.throw_away {
            // No key ring is asked for a password that protects nothing.
            add("--password-store=basic");
            add("--use-mock-keychain");
            // With this flag an extension that is to be loaded fails without a word.
            if !self.extra.iter().any(|flag| loads_extension(flag)) {
                add("--disable-extensions");
            }
        }
        if self.headless {
            add("--headless=new");
        }
        if self.no_sandbox {
            add("--no-sandbox");
        }
        if self.small_shared_memory {
            add("--disable-dev-shm-usage");
        }
        for flag in &self.extra {
            add(flag);
        }
        // The user's own flags may name a page to begin with.
        if !self.extra.iter().any(|flag| !flag.starts_with('-')) {
            add("about:blank");
        }
        flags
    }
}

fn loads_extension(flag: &str) -> bool {
    ["--load-extension", "--disable-extensions-except", "--enable-unsafe-extension-debugging"]
        .iter()
        .any(|name| flag == *name || flag.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(change: impl FnOnce(&mut Flags<'_>)) -> Vec<String> {
        let mut flags = Flags {
            headless: true,
            no_sandbox: false,
            throw_away: true,
            small_shared_memory: false,
            transport: "--remote-debugging-pipe",
            profile: Path::new("p"),
            extra: Vec::new(),
        };
        change(&mut flags);
        flags.build().into_iter().map(|flag| flag.into_string().unwrap()).collect()
    }

    #[test]
    fn a_plain_launch_has_the_documented_flags() {
        let flags = build(|_| {});
        for flag in [
            "--remote-debugging-pipe",
            "--user-data-dir=p",
            "--headless=new",
            "--disable-extensions",
            "--mute-audio",
        ] {
            assert!(flags.iter().any(|given| given == flag), "{flag}");
        }
        assert!(!flags.iter().any(|flag| flag == "--no-sandbox"));
        assert_eq!(flags.last().unwrap(), "about:blank");
    }

    #[test]
    fn extensions_stay_enabled_where_one_is_loaded_or_the_profile_is_kept() {
        let disabled = |flags: Vec<String>| flags.iter().any(|flag| flag == "--disable-extensions");
        assert!(!disabled(build(|flags| flags.extra = vec!["--load-extension=/x"])));
        assert!(!disabled(build(|flags| flags.throw_away = false)));
        assert!(disabled(build(|flags| flags.extra = vec!["--load-extensions-not"])));
    }

    #[test]
    fn a_page_among_the_users_flags_replaces_the_blank_one() {
        assert_eq!(build(|flags| flags.extra = vec!["https://a.test/"]).last().unwrap(), "https://a.test/");
        assert!(build(|flags| flags.headless = false).iter().all(|flag| flag != "--headless=new"));
    }
}
