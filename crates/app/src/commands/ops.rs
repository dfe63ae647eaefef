//! `bowline ops`: what verbs, REST and agents can ask for, from the table itself. Needs no hub.

use bowline_ops::differences::{self, DIFFERENCES, Difference, Engine};
use bowline_ops::{Access, Entry, Field, OPS, Set};
use serde_json::{Value, json};

use super::Context;
use crate::cli::OpsArgs;
use crate::failure::{Failure, exit};
use crate::output::table;

pub(super) fn run(context: &Context<'_>, args: &OpsArgs) -> Result<(), Failure> {
    let output = context.output;
    if args.markdown {
        let text = markdown();
        output.result(&json!({ "markdown": text }), |_| text.trim_end().to_owned());
        return Ok(());
    }
    let Some(name) = &args.name else {
        let all: Vec<Value> = OPS.iter().map(entry).collect();
        output.result(&all, |_| {
            let row = |op: &Entry| vec![op.name.to_owned(), op.set.as_str().to_owned(), op.about.to_owned()];
            table(&["OP", "SET", "DOES"], OPS.iter().map(row).collect())
        });
        return Ok(());
    };
    let Some(op) = bowline_ops::find(name) else {
        return Err(Failure::new(exit::USAGE, "no_such_op", format!("there is no op `{name}`"))
            .hint("`bowline ops` lists them"));
    };
    output.result(&entry(op), |_| {
        let fields = offered(op).into_iter().map(|field| {
            let about = format!("{}{}", field.about, if field.is_optional { "" } else { " (required)" });
            vec![field.name.to_owned(), kind(&field), about]
        });
        let fields: Vec<Vec<String>> = fields.collect();
        let head = format!("{} ({}): {}", op.name, op.tool, op.about);
        let fields = match fields.is_empty() {
            true => String::new(),
            false => format!("\n\n{}", table(&["FIELD", "TYPE", "IS"], fields)),
        };
        let differences =
            differences::of(op.name).map(|row| format!("\n{}: {}", where_it_is(row), row.reason));
        let differences: String = differences.collect();
        let space = if differences.is_empty() { "" } else { "\n" };
        format!("{head}{fields}{space}{differences}")
    });
    Ok(())
}

fn entry(op: &Entry) -> Value {
    let differences: Vec<Value> = differences::of(op.name).map(Difference::as_json).collect();
    json!({"name": op.name, "tool": op.tool, "set": op.set.as_str(), "about": op.about, "schema": op.schema(),
        "differences": differences})
}

/// `emulate with cpu, in a launched Firefox`.
fn where_it_is(row: &Difference) -> String {
    let field = row.field.map(|field| format!(" with `{field}`")).unwrap_or_default();
    format!("{}{field}, in {}, is {}", row.op, row.engine.words(), row.effect.as_str())
}

/// Some fields are taken, but not offered.
fn offered(op: &Entry) -> Vec<Field> {
    (op.fields)().into_iter().filter(|field| !field.about.is_empty()).collect()
}

fn kind(field: &Field) -> String {
    kind_of(&field.schema)
}

fn kind_of(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | ");
    }
    match schema["type"].as_str() {
        Some("array") => format!("list of {}", kind_of(&schema["items"])),
        Some("string") => "text".to_owned(),
        Some(other) => other.to_owned(),
        None => "any".to_owned(),
    }
}

/// The document `docs/ops.md`.
fn markdown() -> String {
    let mut text = "# Ops\n\nWhat agents do with pages. An op is asked for as a tool (MCP), with \
        `POST /api/browsers/NAME/tabs/TAB/ops/OP`, and with `bowline run OP`. All take `browser`, `tab`, `timeout` \
        (milliseconds) and `max_chars` besides.\n\nThis page is written by `bowline ops --markdown`.\n"
        .to_owned();
    for set in Set::ALL {
        let ops: Vec<&Entry> = OPS.iter().filter(|op| op.set == set).collect();
        if ops.is_empty() {
            continue;
        }
        text.push_str(&format!("\n## {}\n", set.as_str()));
        for op in ops {
            let access = match op.access {
                Access::Read => "looks only",
                Access::Act => "acts: the tab is leased to the agent",
                Access::Dangerous => "reaches beyond the page",
            };
            text.push_str(&format!("\n### {}\n\n{} Tool `{}`; {access}.\n", op.name, op.about, op.tool));
            let fields = offered(op);
            if fields.is_empty() {
                continue;
            }
            text.push_str("\n| field | type | is |\n| --- | --- | --- |\n");
            for field in fields {
                let required = if field.is_optional { "" } else { " (required)" };
                let kind = kind(&field).replace('|', "\\|");
                let about = field.about.replace('|', "\\|");
                text.push_str(&format!("| `{}` | {kind} | {about}{required} |\n", field.name));
            }
        }
    }
    text.push_str(&markdown_of_differences());
    text
}

fn markdown_of_differences() -> String {
    let mut text = "\n## Differences\n\nWhat some browsers cannot do. `refused`: the op fails; in a launched Firefox with \
        `not_supported` and the reason. `left out`: it is done without that.\n"
        .to_owned();
    for engine in Engine::ALL {
        let rows: Vec<&Difference> = DIFFERENCES.iter().filter(|row| row.engine == engine).collect();
        if rows.is_empty() {
            continue;
        }
        text.push_str(&format!(
            "\n### In {}\n\n| op | field | is | because |\n| --- | --- | --- | --- |\n",
            engine.words()
        ));
        for row in rows {
            let field = row.field.map(|field| format!("`{field}`")).unwrap_or_default();
            text.push_str(&format!("| {} | {field} | {} | {} |\n", row.op, row.effect.as_str(), row.reason));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_every_op_and_every_field_that_is_offered() {
        let text = markdown();
        for op in OPS {
            assert!(text.contains(&format!("\n### {}\n", op.name)), "{}", op.name);
            for field in offered(op) {
                assert!(text.contains(&format!("\n| `{}` | ", field.name)), "{} {}", op.name, field.name);
            }
        }
    }

    #[test]
    fn the_document_is_up_to_date() {
        let stored = include_str!("../../../../docs/ops.md");
        assert!(
            stored.trim_end() == markdown().trim_end(),
            "write it anew: bowline ops --markdown > docs/ops.md"
        );
    }
}
