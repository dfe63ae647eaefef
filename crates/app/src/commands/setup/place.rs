//! Where a person's things are: home, project, environment and platform as parameters, so that the paths
//! of all platforms are tested on one. Never knows a host.

use bowline_backends::detect::{Machine, Platform, ThisMachine};

use crate::failure::{Failure, exit};

pub(super) struct Place<'a> {
    pub(super) machine: &'a dyn Machine,
    pub(super) home: String,
    /// The working directory.
    pub(super) project: String,
}

impl Place<'static> {
    pub(super) fn here() -> Result<Self, Failure> {
        let home = etcetera::home_dir().ok().and_then(|home| home.into_os_string().into_string().ok());
        let home = home.ok_or_else(|| {
            Failure::new(exit::FAILED, "no_home", "no home directory that has a name in Unicode")
                .hint("set HOME")
        })?;
        let project = std::env::current_dir().map_err(|error| {
            Failure::io("the working directory", &error).hint("change to a directory that exists")
        })?;
        let project = project.into_os_string().into_string().map_err(|project| {
            Failure::new(exit::FAILED, "bad_path", format!("{} is not Unicode", project.display()))
                .hint("run it in another directory")
        })?;
        Ok(Self { machine: &ThisMachine, home, project })
    }
}

impl Place<'_> {
    pub(super) fn platform(&self) -> Platform {
        self.machine.platform()
    }

    /// Joins with the platform's own separator. `rest` is written with `/` everywhere.
    pub(super) fn join(&self, base: &str, rest: &str) -> String {
        match self.platform() {
            Platform::Windows => {
                format!("{}\\{}", base.trim_end_matches(['\\', '/']), rest.replace('/', "\\"))
            }
            Platform::Linux | Platform::MacOs => format!("{}/{rest}", base.trim_end_matches('/')),
        }
    }

    pub(super) fn in_home(&self, rest: &str) -> String {
        self.join(&self.home, rest)
    }

    /// A directory that a variable names, made whole.
    pub(super) fn named_by(&self, variable: &str) -> Option<String> {
        let named = self.machine.env(variable)?;
        self.machine.absolute(named.as_ref()).into_os_string().into_string().ok()
    }

    /// Where programs of the desktop keep their configuration.
    pub(super) fn app_config(&self) -> String {
        match self.platform() {
            Platform::Windows => {
                self.machine.env("APPDATA").unwrap_or_else(|| self.in_home("AppData/Roaming"))
            }
            Platform::MacOs => self.in_home("Library/Application Support"),
            Platform::Linux => self.xdg_config(),
        }
    }

    /// As the XDG specification has it: a relative path counts as none.
    pub(super) fn xdg_config(&self) -> String {
        let named = self.machine.env("XDG_CONFIG_HOME").filter(|dir| dir.starts_with('/'));
        named.unwrap_or_else(|| self.in_home(".config"))
    }
}
