//! Which browser and tab a command means, and the hub to ask: the user's, or, where that cannot be had,
//! one of the command's own.

use bowline_doors::control::LaunchRequest;
use bowline_doors::history::model::ConnectRequest;
use bowline_hub::backend::{AttachSpec, Spec};
use bowline_hub::registry::{self, DEFAULT};
use bowline_hub::statefile::State;

use super::Query;
use super::encoded;
use crate::address::Address;
use crate::api::Api;
use crate::cli::PlaceArgs;
use crate::commands::{Context, NO_AUTOSTART};
use crate::failure::{Failure, exit};
use crate::output::WARN;
use crate::own_hub::OwnHub;

const LIMITED: &str = "note: no hub; history is limited to what the browser itself remembers";

pub(crate) struct Place {
    browser: String,
    /// Of a Chrome that somebody else started.
    address: Option<Address>,
    tab: Option<String>,
    /// Why there is no hub of the user's, where no address was given either.
    no_hub: Option<Failure>,
}

/// The hub to ask.
pub(crate) enum Way {
    Users(State),
    Own(OwnHub),
}

impl Way {
    pub(crate) fn state(&self) -> &State {
        match self {
            Self::Users(state) => state,
            Self::Own(own) => own.state(),
        }
    }

    /// Whether nothing of before is known but what the browser itself remembers.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Self::Own(_))
    }
}

impl Place {
    pub(crate) fn of(args: &PlaceArgs, tab: Option<&str>) -> Result<Self, Failure> {
        // Before it becomes part of a path.
        registry::check_name(args.browser())?;
        let address = Address::of(args)?;
        let page = address.as_ref().and_then(|address| address.page.clone());
        let tab = tab.map(str::to_owned).or(page);
        Ok(Self { browser: args.browser().to_owned(), tab, address, no_hub: None })
    }

    pub(crate) fn browser(&self) -> &str {
        &self.browser
    }

    /// The hub to ask. One is started if none runs; if that cannot be, the command looks into Chrome itself.
    pub(crate) fn way(&mut self, context: &Context<'_>) -> Result<Way, Failure> {
        let failure = match context.hub() {
            Ok(state) => return Ok(Way::Users(state)),
            Err(failure) => failure,
        };
        if self.address.is_none() && self.browser != DEFAULT {
            // A name means something to a hub alone.
            return Err(failure);
        }
        let own = OwnHub::start(&context.config_or_defaults()?, &context.paths)?;
        if failure.code != NO_AUTOSTART {
            context.output.note(format!("{WARN}warning:{WARN:#} {}", failure.message));
        }
        context.output.note(LIMITED);
        if self.address.is_none() {
            self.address = Some(Address::default());
            self.no_hub = Some(failure);
        }
        Ok(Way::Own(own))
    }

    /// The hub, for what no browser remembers.
    pub(crate) fn hub(&self, context: &Context<'_>) -> Result<State, Failure> {
        context.hub().map_err(|mut failure| {
            failure.message = format!("this needs a hub: {}", failure.message);
            failure
        })
    }

    /// Where the hub keeps what is meant, by the browser's name alone.
    pub(crate) fn named(&self) -> Scope {
        Scope { browser: self.browser.clone(), tab: self.tab.clone() }
    }

    /// Where the hub keeps what is meant. A browser that it does not know yet is made known to it.
    pub(crate) async fn scope(&self, api: &Api<'_>) -> Result<Scope, Failure> {
        let Some(address) = &self.address else {
            return Ok(self.named());
        };
        let browser = match reach(api, address).await {
            Ok(browser) => browser,
            Err(unreachable) => return Err(self.nobody_there(address, unreachable)),
        };
        Ok(Scope { browser, tab: self.tab.clone() })
    }

    /// Where an address was only guessed, the reason why there is no hub says more.
    fn nobody_there(&self, address: &Address, unreachable: Failure) -> Failure {
        let Some(no_hub) = &self.no_hub else { return unreachable };
        let message = format!("{}, and no browser listens on {}", no_hub.message, address.authority());
        Failure::new(exit::NO_HUB, &no_hub.code, message)
            .hint("start a hub with `bowline serve`, or name a Chrome with --port or --connect")
    }
}

/// Makes the hub look into a Chrome that somebody else runs. Returns the name that it has there.
async fn reach(api: &Api<'_>, address: &Address) -> Result<String, Failure> {
    if address.is_local() && address.socket.is_none() {
        let Address { host, port, page, .. } = address.clone();
        let connected = api.connect(&ConnectRequest { host: Some(host), port, target_id: page }).await?;
        return Ok(connected.browser);
    }
    let name = address.name();
    let spec = Spec::Attached(AttachSpec { url: address.url(), profile_dir: None });
    api.launch(&name, &LaunchRequest { spec: Some(spec), again: false }).await?;
    Ok(name)
}

/// A browser, or one of its tabs, as the hub's paths name it.
pub(crate) struct Scope {
    browser: String,
    tab: Option<String>,
}

impl Scope {
    /// Of the tab, or of the whole browser where none is named.
    pub(crate) fn path(&self, what: &str, query: &Query) -> String {
        match &self.tab {
            Some(tab) => self.in_tab(tab, what, query),
            None => self.in_browser(what, query),
        }
    }

    /// Of a tab in any case.
    pub(crate) fn tab_path(&self, what: &str) -> String {
        self.in_tab(self.tab.as_deref().unwrap_or("current"), what, &Query::default())
    }

    pub(crate) fn in_browser(&self, what: &str, query: &Query) -> String {
        format!("/api/browsers/{}/{what}{query}", encoded(&self.browser))
    }

    /// From now on that tab alone, whatever its index or title will be.
    pub(crate) fn pin(&mut self, id: &str) {
        self.tab = Some(id.to_owned());
    }

    pub(crate) fn is_one_tab(&self) -> bool {
        self.tab.is_some()
    }

    fn in_tab(&self, tab: &str, what: &str, query: &Query) -> String {
        format!("/api/browsers/{}/tabs/{}/{what}{query}", encoded(&self.browser), encoded(tab))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_the_browser_or_one_tab() {
        let mut scope = Scope { browser: "work".to_owned(), tab: None };
        let mut query = Query::default();
        query.set("max", 3);
        assert_eq!(scope.path("console", &query), "/api/browsers/work/console?max=3");
        assert_eq!(scope.tab_path("evaluate"), "/api/browsers/work/tabs/current/evaluate");
        scope.pin("my page");
        assert_eq!(scope.path("har", &Query::default()), "/api/browsers/work/tabs/my%20page/har");
        assert_eq!(scope.in_browser("execute", &Query::default()), "/api/browsers/work/execute");
    }
}
