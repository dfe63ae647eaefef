//! Follows what the hub records. A hub that goes away is waited for, and what was missed is made up.

use std::time::Duration;

use bowline_hub::recorder::record::Seq;
use bowline_hub::statefile::State;
use serde::Deserialize;

use super::list::tabs_of;
use super::place::Scope;
use super::{History, Labels, Place, Printer, Query, Record, Rows};
use crate::api::{Api, NO_HUB};
use crate::commands::Context;
use crate::failure::Failure;
use crate::output;
use crate::signals::Signals;
use crate::sse::{Event, Reader};

/// Between two looks whether a hub is there again.
const PAUSE: Duration = Duration::from_millis(300);

/// Returns when told to with Ctrl-C, or when nobody reads our output any more.
pub(super) async fn follow<H: History>(
    context: &Context<'_>,
    place: &Place,
    state: State,
    query: Query,
    printer: Printer,
    rows: &mut impl Rows<H::Record>,
) -> Result<(), Failure> {
    let following = Following { context, place, query, printer, last: None, tab: None };
    until_told(following.run::<H>(state, rows)).await
}

/// Works until it is done, or is told to end with Ctrl-C, or nobody reads our output any more.
pub(crate) async fn until_told(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let mut signals =
        Signals::listen().map_err(|error| Failure::io("signals cannot be listened for", &error))?;
    tokio::select! {
        result = work => result,
        _ = signals.next() => Ok(()),
        () = output::nobody_reads() => Ok(()),
    }
}

struct Following<'a> {
    context: &'a Context<'a>,
    place: &'a Place,
    query: Query,
    printer: Printer,
    /// The number of the last change that was seen.
    last: Option<Seq>,
    /// The tab that is followed, as its records name it.
    tab: Option<String>,
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// With a last word: the hub leaves, or has had enough of us.
    Orderly,
    Broken,
    NobodyReads,
}

impl Following<'_> {
    async fn run<H: History>(
        mut self,
        mut state: State,
        rows: &mut impl Rows<H::Record>,
    ) -> Result<(), Failure> {
        let mut end = self.round::<H>(&state, rows).await?;
        while end != End::NobodyReads {
            state = self.next_hub(&state, end).await;
            match self.round::<H>(&state, rows).await {
                Ok(how) => end = how,
                // A hub that is leaving still has its lock, but no open door. How it began to leave
                // counts: one that left on purpose is not started again.
                Err(failure) if failure.code == NO_HUB => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    /// Follows one hub for as long as it goes.
    async fn round<H: History>(
        &mut self,
        state: &State,
        rows: &mut impl Rows<H::Record>,
    ) -> Result<End, Failure> {
        let api = Api::new(state);
        let mut scope = self.place.scope(&api).await?;
        if let Some(tab) = self.tab.as_ref().filter(|_| scope.is_one_tab()) {
            scope.pin(tab);
        }
        if let Some(last) = self.last {
            self.query.set("since", last);
            // Nothing of what was missed is left out.
            self.query.remove("max");
        }
        if self.printer.is_text() && !scope.is_one_tab() {
            self.printer.labels = Labels::of_tabs(tabs_of(&api, &scope).await?);
        }
        let mut answer = api.stream(&scope.path(H::ROUTE, &self.query)).await?;
        let mut reader = Reader::default();
        loop {
            let chunk = match answer.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(End::Orderly),
                Err(_) => return Ok(End::Broken),
            };
            for event in reader.feed(&chunk) {
                if !self.take::<H>(&api, &scope, &event, rows).await {
                    return Ok(End::NobodyReads);
                }
            }
        }
    }

    /// False when nobody reads any more.
    async fn take<H: History>(
        &mut self,
        api: &Api<'_>,
        scope: &Scope,
        event: &Event,
        rows: &mut impl Rows<H::Record>,
    ) -> bool {
        match event.name.as_str() {
            name if name == H::EVENT => {
                self.last = event.id.parse().ok().or(self.last);
                let Ok(record) = serde_json::from_str::<H::Record>(&event.data) else { return true };
                self.meet(api, scope, record.tab()).await;
                return self.printer.record(&record, rows).is_ok();
            }
            "ready" => self.printer.divide(),
            "state" => {
                if let Ok(change) = serde_json::from_str::<Change>(&event.data) {
                    self.printer.note(change.text(&self.printer.labels));
                }
            }
            "dropped" => {
                if let Ok(Dropped { dropped }) = serde_json::from_str(&event.data) {
                    self.printer.missing(dropped, 0);
                }
            }
            _ => {}
        }
        true
    }

    /// Learns which tab a record is of.
    async fn meet(&mut self, api: &Api<'_>, scope: &Scope, tab: &str) {
        if scope.is_one_tab() {
            self.tab.get_or_insert_with(|| tab.to_owned());
        } else if self.printer.labels.is_unknown(tab) {
            // Without an answer its id has to do.
            let tabs = tabs_of(api, scope).await.map(|tabs| tabs.tabs).unwrap_or_default();
            let index = tabs.into_iter().find(|known| known.id == tab).and_then(|known| known.index);
            self.printer.labels.learn(tab, index);
        }
    }

    /// The hub to go on with: the same one, or the next. One that left on purpose is not started again.
    async fn next_hub(&self, before: &State, end: End) -> State {
        let mut told = false;
        loop {
            tokio::time::sleep(PAUSE).await;
            match self.context.meanwhile(|context| context.running_hub()).await {
                Ok(Some(state)) if state.pid == before.pid => return state,
                Ok(Some(state)) => {
                    self.printer.note("the hub is back");
                    return state;
                }
                _ => {}
            }
            if !told {
                self.printer.note("the hub has gone; waiting for the next one");
                told = true;
            }
            if end == End::Broken {
                // The next look finds it; one that would not start may do so later.
                let _ = self.context.meanwhile(|context| context.hub()).await;
            }
        }
    }
}

/// What a `state` event tells.
#[derive(Deserialize)]
struct Change {
    state: String,
    reason: Option<String>,
    tab: Option<String>,
}

impl Change {
    fn text(&self, labels: &Labels) -> String {
        let prefix = self.tab.as_ref().map(|tab| labels.prefix(tab)).unwrap_or_default();
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("{prefix}{}{reason}", self.state)
    }
}

#[derive(Deserialize)]
struct Dropped {
    dropped: u64,
}
