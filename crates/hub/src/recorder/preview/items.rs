//! What stands between the brackets of a preview: properties, elements and entries.

use std::collections::BTreeMap;

use super::{EntryPreview, ObjectPreview, PropertyPreview, inner, short, words};

pub(super) fn of_entries(entries: &[EntryPreview]) -> Vec<String> {
    let text = |entry: &EntryPreview| match &entry.key {
        Some(key) => format!("{} => {}", inner(key), inner(&entry.value)),
        None => inner(&entry.value),
    };
    entries.iter().map(text).collect()
}

/// Properties in DevTools' order. Getters are not shown, as their value is not known.
pub(super) fn of_object(preview: &ObjectPreview, nested: &BTreeMap<String, String>) -> Vec<String> {
    let shown = preview.properties.iter().filter(|property| property.kind != "accessor");
    let mut properties: Vec<&PropertyPreview> = shown.collect();
    properties.sort_by_key(|property| rank(property));
    let mut items = Vec::with_capacity(properties.len());
    let mut properties = properties.into_iter().peekable();
    while let Some(property) = properties.next() {
        let state = property.value.as_deref().unwrap_or_default();
        match (property.name.as_str(), preview.subtype.as_deref()) {
            ("[[PromiseState]]", Some("promise")) => {
                let result = properties.next_if(|next| next.name == "[[PromiseResult]]");
                items.push(match result.filter(|_| state != "pending") {
                    Some(result) => format!("<{state}>: {}", value(result, nested)),
                    None => format!("<{state}>"),
                });
            }
            ("[[GeneratorState]]", Some("generator")) => items.push(format!("<{state}>")),
            ("[[WeakRefTarget]]", _) if property.kind == "undefined" => items.push("<cleared>".to_owned()),
            ("[[PrimitiveValue]]" | "[[WeakRefTarget]]", _) => items.push(value(property, nested)),
            _ => items.push(named(property, nested)),
        }
    }
    items
}

/// Elements by index, then the array's other properties.
pub(super) fn of_array(
    preview: &ObjectPreview,
    length: u32,
    nested: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut elements = Vec::new();
    let mut others = Vec::new();
    for property in &preview.properties {
        match index(&property.name, length) {
            Some(index) => elements.push((index, property)),
            None => others.push(property),
        }
    }
    elements.sort_by_key(|(index, _)| *index);
    others.sort_by_key(|property| rank(property));

    let mut items = Vec::with_capacity(preview.properties.len());
    let mut expected = 0;
    for (position, (index, property)) in elements.iter().enumerate() {
        // What is missing is a hole only if everything else is there.
        if !preview.overflow {
            items.extend(holes(index.saturating_sub(expected)));
            items.push(value(property, nested));
        } else if *index as usize == position {
            items.push(value(property, nested));
        } else {
            items.push(named(property, nested));
        }
        expected = index.saturating_add(1);
    }
    if !preview.overflow {
        items.extend(holes(length.saturating_sub(expected)));
    }
    items.extend(others.into_iter().map(|property| named(property, nested)));
    items
}

fn holes(count: u32) -> Option<String> {
    match count {
        0 => None,
        1 => Some("empty".to_owned()),
        _ => Some(format!("empty × {count}")),
    }
}

fn named(property: &PropertyPreview, nested: &BTreeMap<String, String>) -> String {
    format!("{}: {}", words::name(&property.name), value(property, nested))
}

fn value(property: &PropertyPreview, nested: &BTreeMap<String, String>) -> String {
    if property.kind == "object"
        && property.subtype.as_deref() != Some("null")
        && let Some(text) = nested.get(&property.name)
    {
        return text.clone();
    }
    match &property.value_preview {
        Some(preview) => inner(preview),
        None => short(&property.kind, property.subtype.as_deref(), property.value.as_deref()),
    }
}

/// Internal properties come first, methods and private ones last.
fn rank(property: &PropertyPreview) -> u8 {
    match property.name.as_str() {
        "[[PromiseState]]" => 1,
        "[[PromiseResult]]" => 2,
        "[[GeneratorState]]" | "[[PrimitiveValue]]" | "[[WeakRefTarget]]" => 3,
        name if property.kind == "function" || name.starts_with('#') => 5,
        _ => 4,
    }
}

/// Only `7` is an index, neither `07` nor what lies behind the end.
fn index(name: &str, length: u32) -> Option<u32> {
    let index: u32 = name.parse().ok()?;
    let canonical = name == "0" || name.starts_with(|c: char| ('1'..='9').contains(&c));
    (canonical && index < length).then_some(index)
}
