//! The tools as a model is offered them, made from the table of ops.
//!
//! A model reads all of this with every request, so nothing is said twice: what every tool takes is in the
//! server's instructions, and hints that are MCP's defaults are left out.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use bowline_ops::{Access, Entry, OPS, Set};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::sets::Sets;

/// The tool that switches sets on.
pub(super) const SETS_TOOL: &str = "browser_tool_sets";

/// Results are objects; what is in them is told by their names.
static OBJECT: LazyLock<Arc<JsonObject>> = LazyLock::new(|| Arc::new(object(json!({"type": "object"}))));

/// The tools that are switched on.
pub(super) fn listed(sets: &Sets, allow_lifecycle: bool) -> Vec<Tool> {
    let mut tools: Vec<Tool> =
        OPS.iter().filter(|op| sets.contains(op.set) && is_allowed(op, allow_lifecycle)).map(tool).collect();
    if let Some(switch) = switch(sets) {
        tools.push(switch);
    }
    tools
}

/// Whether this server offers the op at all: what ends other agents' browsers must be allowed.
pub(super) fn is_allowed(op: &Entry, allow_lifecycle: bool) -> bool {
    allow_lifecycle || !(op.set == Set::Lifecycle && op.access == Access::Dangerous)
}

fn tool(op: &Entry) -> Tool {
    let mut tool = Tool::new(op.tool, op.about, Arc::new(object(op.schema())));
    tool.output_schema = Some(OBJECT.clone());
    tool.annotations = match op.access {
        Access::Read => Some(ToolAnnotations::new().read_only(true)),
        // May destroy something, for all that is known: MCP's default.
        Access::Act | Access::Dangerous => None,
    };
    tool
}

/// The tool for the sets that are off; none if all are on.
fn switch(sets: &Sets) -> Option<Tool> {
    let off: Vec<&str> = Set::ALL
        .into_iter()
        .filter(|set| !sets.contains(*set))
        // It runs code on the user's machine, so the user alone switches it on.
        .filter(|set| *set != Set::Playwright)
        .map(Set::as_str)
        .collect();
    if off.is_empty() {
        return None;
    }
    let schema = json!({
        "type": "object",
        "properties": {"sets": {"type": "array", "items": {"enum": off}}},
        "required": ["sets"],
    });
    let about = "Switch on more tools for this session, by set.";
    let mut tool = Tool::new(SETS_TOOL, Cow::Borrowed(about), Arc::new(object(schema)));
    tool.annotations = Some(ToolAnnotations::new().destructive(false).open_world(false));
    Some(tool)
}

pub(super) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a model pays for the tools of a session in which nothing was switched on.
    const MOST_BYTES_OF_CORE: usize = 12_000;

    #[test]
    fn the_core_tools_are_cheap() {
        let tools = listed(&Sets::default(), false);
        let bytes = serde_json::to_vec(&json!({"tools": tools})).unwrap().len();
        assert!(bytes <= MOST_BYTES_OF_CORE, "{bytes} bytes for {} tools", tools.len());
    }

    #[test]
    fn every_op_is_a_tool_of_its_set_and_of_no_other() {
        let core = listed(&Sets::default(), false);
        let all = listed(&"all".parse().unwrap(), true);
        assert_eq!(all.len(), OPS.len(), "and nothing is left to switch on");
        for op in OPS {
            assert!(all.iter().any(|tool| tool.name == op.tool), "{}", op.tool);
            assert_eq!(core.iter().any(|tool| tool.name == op.tool), op.set == Set::Core, "{}", op.tool);
        }
        assert_eq!(core.last().unwrap().name, SETS_TOOL);
    }

    #[test]
    fn tools_that_only_look_say_so() {
        for tool in listed(&"all".parse().unwrap(), true) {
            let op = bowline_ops::find(&tool.name).unwrap();
            let hint = tool.annotations.and_then(|hints| hints.read_only_hint);
            assert_eq!(hint, (op.access == Access::Read).then_some(true), "{}", tool.name);
            assert_eq!(tool.input_schema["type"], "object");
        }
    }

    #[test]
    fn ending_browsers_must_be_allowed() {
        let offered = listed(&"all".parse().unwrap(), false);
        let ends = |op: &&Entry| op.set == Set::Lifecycle && op.access == Access::Dangerous;
        for op in OPS.iter().filter(ends) {
            assert!(!offered.iter().any(|tool| tool.name == op.tool), "{}", op.tool);
        }
    }
}
