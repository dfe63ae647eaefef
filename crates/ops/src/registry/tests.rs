//! What holds for every op of the table.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{OPS, Set};
use crate::error::Code;

#[test]
fn names_are_unique_and_descriptions_short() {
    let mut names = HashSet::new();
    for op in OPS {
        assert!(
            names.insert(op.name) && (op.name == op.tool || names.insert(op.tool)),
            "{} is there twice",
            op.name
        );
        assert!(!op.about.is_empty() && op.about.len() <= 120, "{}: {} characters", op.name, op.about.len());
        assert!(op.about.ends_with('.'), "{}: a sentence ends with a full stop", op.name);
    }
    for set in Set::ALL {
        assert!(OPS.iter().any(|op| op.set == set), "nothing is in {}", set.as_str());
    }
}

#[test]
fn schemas_are_objects_whose_required_fields_exist() {
    for op in OPS {
        let schema = op.schema();
        assert_eq!(schema["type"], json!("object"), "{}", op.name);
        let properties = schema["properties"].as_object().unwrap();
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(properties.contains_key(name.as_str().unwrap()), "{}: {name}", op.name);
        }
        for (name, property) in properties {
            assert!(
                property["description"].as_str().is_some_and(|about| !about.is_empty()),
                "{}.{name}",
                op.name
            );
        }
    }
}

/// Any JSON, small.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z]{0,6}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever comes in: no panic, and an error names a field that was given or is missing.
    #[test]
    fn bad_input_is_named(
        at in 0..OPS.len(),
        picks in prop::collection::vec((any::<prop::sample::Index>(), any_value()), 0..5),
        stranger in prop::option::of(("[a-z]{3,8}", any_value())),
    ) {
        let op = &OPS[at];
        let fields = (op.fields)();
        let mut input = Map::new();
        for (pick, value) in picks {
            if !fields.is_empty() {
                let field = &fields[pick.index(fields.len())];
                let names: Vec<&str> = std::iter::once(field.name).chain(field.aliases.iter().copied()).collect();
                input.insert(names[pick.index(names.len())].to_owned(), value);
            }
        }
        input.extend(stranger);
        if let Err(error) = op.check(input.clone()) {
            prop_assert_eq!(error.code, Code::BadInput);
            let given = input.keys().any(|name| error.message.contains(&format!("`{name}")));
            let missing = fields.iter().any(|field| error.message.contains(&format!("`{}`", field.name)));
            prop_assert!(given || missing, "{}: {} does not name a field of {:?}", op.name, error.message, input);
            prop_assert!(!error.hint.is_empty());
        } else {
            let known = |name: &String| fields.iter().any(|field| field.name == name || field.aliases.contains(&name.as_str()));
            prop_assert!(input.keys().all(known), "{} took a field that it does not have: {:?}", op.name, input);
        }
    }

    /// A field of the wrong type is named itself.
    #[test]
    fn a_field_of_the_wrong_type_is_named(at in 0..OPS.len(), pick in any::<prop::sample::Index>()) {
        let op = &OPS[at];
        let fields = (op.fields)();
        prop_assume!(!fields.is_empty());
        let field = &fields[pick.index(fields.len())];
        let wrong = match field.schema["type"].as_str() {
            Some("string") => json!(7),
            Some("boolean" | "number" | "integer") => json!("x"),
            Some("array" | "object") => json!(true),
            _ if field.schema.get("enum").is_some() => json!("no such word"),
            _ => return Ok(()),
        };
        let mut input = Map::new();
        input.insert(field.name.to_owned(), wrong);
        let error = op.check(input).unwrap_err();
        prop_assert!(error.message.contains(&format!("`{}`", field.name)), "{}: {}", op.name, error.message);
    }
}
