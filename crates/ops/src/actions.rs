//! The browser actions of the bridge: thin names over ops, with the payloads and results that its callers know.
//!
//! An action is made of ops and of nothing else: what it can do, an op can. Its result is built of the ops' data,
//! never of their text.

// Fields are named as they are in payloads.
#![allow(non_snake_case)]

mod act;
mod browsers;
mod debug;
mod dropdowns;
mod elements;
mod forms;
mod history;
mod look;
mod mouse;
mod nearest;
mod page;
mod pictures;
mod questions;
mod tabs;
mod target;
mod watch;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::error::{Code, OpError};
use crate::request::Ops;
use crate::schema::{self, Field, Input};

use act::Act;
use target::Common;
pub use watch::Watched;

type Run = for<'a> fn(&'a Act, Map<String, Value>) -> BoxFuture<'a, Result<Value, OpError>>;

/// An action as doors see it.
#[derive(Clone, Copy)]
pub struct Action {
    pub name: &'static str,
    /// Other names under which it is taken.
    pub aliases: &'static [&'static str],
    pub about: &'static str,
    /// Those of its own; `tabId` or `url`, `browser` and `timeout` are fields of all.
    pub fields: fn() -> Vec<Field>,
    run: Run,
}

macro_rules! action {
    ($name:literal, $module:ident::$run:ident($payload:ident), $about:literal $(, $alias:literal)*) => {
        Action {
            name: $name,
            aliases: &[$($alias),*],
            about: $about,
            fields: <$module::$payload as Input>::fields,
            run: |act, payload| {
                Box::pin(async move {
                    let payload = schema::read::<$module::$payload>($name, payload)?;
                    $module::$run(act, payload).await
                })
            },
        }
    };
}

/// The 46 of the bridge, and after them those that are kept for old callers.
pub static ACTIONS: &[Action] = &[
    action!("getTabs", tabs::get_tabs(Nothing), "The tabs of the browser."),
    action!("getActiveTab", tabs::get_active_tab(Nothing), "The agent's current tab."),
    action!("createTab", tabs::create_tab(CreateTab), "Open a tab, which becomes the current one."),
    action!("closeTab", tabs::close_tab(Nothing), "Close a tab."),
    action!("focusTab", tabs::focus_tab(Nothing), "Make a tab the current one and show it."),
    action!("navigate", tabs::navigate(Navigate), "Go to an address."),
    action!("goBack", tabs::go_back(Nothing), "Go back in the tab's history.", "go_back"),
    action!("goForward", tabs::go_forward(Nothing), "Go forward in the tab's history.", "go_forward"),
    action!("getPageInfo", page::get_page_info(Nothing), "Address, title and measures of the page."),
    action!("getVisibleText", page::get_visible_text(VisibleText), "The page's text as it is drawn."),
    action!(
        "getVisibleHtml",
        page::get_visible_html(VisibleHtml),
        "The HTML of the page or of an element.",
        "get_visible_html"
    ),
    action!("screenshot", pictures::screenshot(Screenshot), "A picture of the view, the page or an element."),
    action!("getUIElements", look::get_ui_elements(Verbosity), "What can be acted on, with a summary."),
    action!(
        "inspectCurrentPage",
        look::inspect_current_page(Inspection),
        "The page, its elements, a picture."
    ),
    action!("getInteractiveElements", look::get_interactive_elements(Verbosity), "What can be acted on."),
    action!("getPageContext", look::get_page_context(Nothing), "The page and what can be acted on."),
    action!(
        "listInteractiveElements",
        look::list_interactive_elements(Listing),
        "What can be acted on, chosen by filters."
    ),
    action!("clickElement", elements::click_element(ClickElement), "Click an element, by selector or text."),
    action!("fillElement", elements::fill_element(FillElement), "Set the value of a field."),
    action!("scrollTo", mouse::scroll_to(ScrollTo), "Scroll the page, or an element into view."),
    action!("hover", mouse::hover(OneElement), "Move the mouse over an element."),
    action!("drag", mouse::drag(Drag), "Drag an element onto another, or to a point."),
    action!(
        "pressKey",
        elements::press_key(PressKey),
        "Press a key, in an element if one is named.",
        "press_key"
    ),
    action!("clickByText", elements::click_by_text(ClickByText), "Click what shows a text."),
    action!("clickMultiple", elements::click_multiple(ClickMultiple), "Click several elements in order."),
    action!(
        "clickElementWithDebug",
        debug::click_element_with_debug(OneElement),
        "Click an element, or tell why it cannot be done."
    ),
    action!("getFormData", forms::get_form_data(Nothing), "The forms of the page and their fields."),
    action!("getFormStructure", forms::get_form_structure(Nothing), "Forms as questions and answers."),
    action!("fillFormField", forms::fill_form_field(FormField), "Fill a field by its label or name."),
    action!("selectOption", dropdowns::select_option(SelectOption), "Choose an option of a dropdown."),
    action!("getDropdownOptions", dropdowns::get_dropdown_options(Dropdown), "The options of a dropdown."),
    action!("answerQuestions", questions::answer_questions(Answers), "Fill in a questionnaire."),
    action!("getConsoleLogs", history::get_console_logs(Filter), "What the tab has logged."),
    action!("getNetworkRequests", history::get_network_requests(Filter), "The requests of the tab."),
    action!("getLocalStorage", history::get_local_storage(StorageKey), "Items of the page's localStorage."),
    action!("getCookies", history::get_cookies(Nothing), "The cookies of the page, HttpOnly ones too."),
    action!(
        "findElementWithDebug",
        debug::find_element_with_debug(OneElement),
        "What fits a selector, and what is like it."
    ),
    action!(
        "isElementVisible",
        debug::is_element_visible(OneElement),
        "Whether an element can be seen, and why not."
    ),
    action!("executeScript", page::execute_script(Script), "Run JavaScript in the page."),
    action!("findTabByUrl", tabs::find_tab_by_url(FindTab), "Find tabs by their address."),
    action!("waitForSelector", elements::wait_for_selector(WaitForSelector), "Wait for an element."),
    action!("waitForPageLoad", page::wait_for_page_load(Nothing), "Wait until the page is loaded."),
    action!(
        "setWatchMode",
        watch::set_watch_mode(WatchMode),
        "Be told of changes in the page, or no longer."
    ),
    action!("uploadFile", forms::upload_file(UploadFile), "Choose files in a file field.", "upload_file"),
    action!("saveAsPdf", pictures::save_as_pdf(SaveAsPdf), "The page as PDF.", "save_as_pdf"),
    action!(
        "getElementForNativeInput",
        mouse::get_element_for_native_input(OneElement),
        "Where an element is on the screen."
    ),
    action!("ping", browsers::ping(Nothing), "Whether somebody is there."),
    action!("searchVisibleText", page::search_visible_text(Search), "Where a text stands on the page."),
    action!("getElementAtPoint", page::get_element_at_point(Point), "The element at a point of the view."),
    action!("listConnected", browsers::list_connected(WhichBrowser), "The browsers that run."),
    action!(
        "setDefaultBrowser",
        browsers::set_default_browser(NewDefault),
        "The browser that is meant when none is named."
    ),
];

/// By its name, or by one of its others.
pub fn find_action(name: &str) -> Option<&'static Action> {
    ACTIONS.iter().find(|action| action.name == name || action.aliases.contains(&name))
}

impl Ops {
    /// The browser that an action would be run in.
    pub fn browser_of(
        &self,
        agent: &Agent,
        browser: Option<&str>,
        payload: &Map<String, Value>,
    ) -> Result<String, OpError> {
        let own = payload.get("browser").and_then(Value::as_str);
        browsers::meant(self.hub(), agent, own.or(browser))
    }

    /// Runs an action of the bridge. `browser` is a name of ours or a kind; the payload's own wins.
    pub async fn act(
        &self,
        agent: &Arc<Agent>,
        browser: Option<&str>,
        action: &str,
        payload: Map<String, Value>,
        cancel: CancellationToken,
    ) -> Result<Value, OpError> {
        let Some(action) = find_action(action) else { return Err(no_such_action(action)) };
        let mut payload = payload;
        let common = Common::take(action, &mut payload)?;
        let act = Act::new(self, agent, browser, common, cancel.clone())?;
        let cancelled = OpError::new(Code::Cancelled, format!("{} was cancelled", action.name), "");
        tokio::select! {
            // Work that is done is not called off.
            biased;
            result = (action.run)(&act, payload) => result.map_err(act::in_words_of_callers),
            () = cancel.cancelled() => Err(cancelled),
        }
    }
}

fn no_such_action(name: &str) -> OpError {
    let names = ACTIONS.iter().flat_map(|action| std::iter::once(&action.name).chain(action.aliases));
    let near = nearest::nearest(name, names.copied(), 3);
    let hint = match near.is_empty() {
        true => "docs list the actions: getTabs, navigate, getPageInfo, clickElement, ...".to_owned(),
        false => format!("did you mean {}?", near.join(", ")),
    };
    let message = format!("there is no action `{name}`");
    OpError::new(Code::NoSuchOp, message, hint).with("nearest", json!(near))
}
