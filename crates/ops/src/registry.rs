//! All ops in one table. A door takes what it offers from here, so that no op is written down twice.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::error::OpError;
use crate::ops;
use crate::output::Output;
use crate::request::Call;
use crate::schema::{self, Field, Input};

/// What an op does to the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Looks only; any number of agents at once.
    Read,
    /// Acts; the tab is leased to the agent.
    Act,
    /// Reaches beyond the page: files, all cookies, the browser itself.
    Dangerous,
}

/// Which tools a model is offered together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Set {
    Core,
    Network,
    Emulation,
    Storage,
    Devtools,
    Playwright,
    Lifecycle,
}

impl Set {
    pub const ALL: [Self; 7] = [
        Self::Core,
        Self::Network,
        Self::Emulation,
        Self::Storage,
        Self::Devtools,
        Self::Playwright,
        Self::Lifecycle,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Network => "network",
            Self::Emulation => "emulation",
            Self::Storage => "storage",
            Self::Devtools => "devtools",
            Self::Playwright => "playwright",
            Self::Lifecycle => "lifecycle",
        }
    }
}

/// An op: a type that is never made.
pub(crate) trait Op: 'static {
    type Input: Input;
    /// As REST, commands and agents call it.
    const NAME: &'static str;
    /// As models call it.
    const TOOL: &'static str;
    const SET: Set;
    const ACCESS: Access;
    /// One or two sentences; a model reads them with every request, so they are short.
    const ABOUT: &'static str;

    fn run(call: &Call, input: Self::Input) -> impl Future<Output = Result<Output, OpError>> + Send;
}

type Run = for<'a> fn(&'a Call, Map<String, Value>) -> BoxFuture<'a, Result<Output, OpError>>;

/// An op as doors see it.
#[derive(Clone, Copy)]
pub struct Entry {
    pub name: &'static str,
    pub tool: &'static str,
    pub set: Set,
    pub access: Access,
    pub about: &'static str,
    pub fields: fn() -> Vec<Field>,
    check: fn(Map<String, Value>) -> Result<(), OpError>,
    pub(crate) run: Run,
}

impl Entry {
    /// Whether an input can be read; what is wrong with it is named.
    pub fn check(&self, input: Map<String, Value>) -> Result<(), OpError> {
        (self.check)(input)
    }

    /// The JSON schema of its input.
    pub fn schema(&self) -> Value {
        schema::object_schema(&(self.fields)())
    }
}

pub(crate) const fn entry<O: Op>() -> Entry {
    Entry {
        name: O::NAME,
        tool: O::TOOL,
        set: O::SET,
        access: O::ACCESS,
        about: O::ABOUT,
        fields: O::Input::fields,
        check: |input| schema::read::<O::Input>(O::NAME, input).map(|_| ()),
        run: |call, input| {
            Box::pin(async move {
                let input = schema::read::<O::Input>(O::NAME, input)?;
                O::run(call, input).await
            })
        },
    }
}

/// By its name, or by the name of its tool.
pub fn find(name: &str) -> Option<&'static Entry> {
    OPS.iter().find(|op| op.name == name || op.tool == name)
}

pub static OPS: &[Entry] = &[
    entry::<ops::navigation::Navigate>(),
    entry::<ops::navigation::Back>(),
    entry::<ops::navigation::Forward>(),
    entry::<ops::navigation::Reload>(),
    entry::<ops::look::Snapshot>(),
    entry::<ops::look::Find>(),
    entry::<ops::look::Text>(),
    entry::<ops::act::Click>(),
    entry::<ops::act::Hover>(),
    entry::<ops::act::Drag>(),
    entry::<ops::act::Scroll>(),
    entry::<ops::act::Dialog>(),
    entry::<ops::fields::Type>(),
    entry::<ops::fields::FillForm>(),
    entry::<ops::fields::SelectOption>(),
    entry::<ops::fields::Check>(),
    entry::<ops::fields::PressKey>(),
    entry::<ops::fields::Upload>(),
    entry::<ops::wait::WaitFor>(),
    entry::<ops::script::Evaluate>(),
    entry::<ops::picture::Screenshot>(),
    entry::<ops::emulation::Resize>(),
    entry::<ops::tabs::Tabs>(),
    entry::<ops::history::Console>(),
    entry::<ops::history::Network>(),
    entry::<ops::history::Body>(),
    entry::<ops::history::Har>(),
    entry::<ops::storage::Fetch>(),
    entry::<ops::storage::Storage>(),
    entry::<ops::storage::Cookies>(),
    entry::<ops::storage::SaveState>(),
    entry::<ops::storage::LoadState>(),
    entry::<ops::emulation::Emulate>(),
    entry::<ops::look::Html>(),
    entry::<ops::look::Forms>(),
    entry::<ops::look::Get>(),
    entry::<ops::look::Is>(),
    entry::<ops::look::Inspect>(),
    entry::<ops::fields::Fill>(),
    entry::<ops::act::MouseAt>(),
    entry::<ops::picture::Pdf>(),
    entry::<ops::picture::Highlight>(),
    entry::<ops::picture::Pick>(),
    entry::<ops::trace::Trace>(),
    entry::<ops::lifecycle::ListBrowsers>(),
    entry::<ops::lifecycle::Status>(),
    entry::<ops::lifecycle::LaunchBrowser>(),
    entry::<ops::lifecycle::StopBrowser>(),
    entry::<ops::lifecycle::RestartBrowser>(),
    entry::<ops::execute::Execute>(),
    entry::<ops::execute::Reset>(),
];

#[cfg(test)]
mod tests;
