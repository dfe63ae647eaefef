//! What a hub gives back of the load: the numbers that the page gave its lines and its requests.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::bench::rest;
use crate::bench::side::Side;

pub(super) struct Records {
    /// Numbers of the lines, in order.
    pub(super) lines: Vec<usize>,
    /// Numbers of the requests that are recorded from beginning to end, in order.
    pub(super) requests: Vec<usize>,
    /// Kept or counted as dropped.
    pub(super) all_lines: u64,
    pub(super) all_requests: u64,
}

impl Records {
    pub(super) async fn read(hub: &Side, target: &str) -> Result<Self> {
        let console = rest::get(hub, &format!("/browsers/default/tabs/{target}/console")).await?;
        let network = rest::get(hub, &format!("/browsers/default/tabs/{target}/network")).await?;
        let lines = numbers(&console["messages"], line_number).context("console")?;
        let requests = numbers(&network["requests"], request_number).context("network")?;
        Ok(Self { lines, requests, all_lines: all(&console)?, all_requests: all(&network)? })
    }
}

fn all(history: &Value) -> Result<u64> {
    let count = |field: &str| history[field].as_u64().with_context(|| format!("no `{field}`"));
    Ok(count("total")? + count("dropped")?)
}

/// The numbers of those records that have one. Each must be there once, and after the one before it.
fn numbers(records: &Value, number: impl Fn(&Value) -> Option<usize>) -> Result<Vec<usize>> {
    let records = records.as_array().context("no list of records")?;
    let numbers: Vec<usize> = records.iter().filter_map(number).collect();
    let is_ordered = numbers.is_sorted_by(|one, next| one < next);
    ensure!(is_ordered, "records are out of order, or there twice");
    Ok(numbers)
}

/// Of a line that says what the page said.
fn line_number(record: &Value) -> Option<usize> {
    let text = record["text"].as_str()?;
    let (number, rest) = text.strip_prefix("line ")?.split_once(' ')?;
    let has_object = ["has an object ", "has more "].iter().any(|words| rest.starts_with(words));
    let is_whole = if has_object {
        rest.contains(&format!("{{id: {number}, ")) && rest.ends_with('}')
    } else {
        rest.ends_with("as most are")
    };
    number.parse().ok().filter(|_| is_whole)
}

/// Of a request whose answer is recorded, too.
fn request_number(record: &Value) -> Option<usize> {
    let (_, number) = record["url"].as_str()?.split_once("/small?n=")?;
    let is_whole = record["status"] == 200 && record["loadingFinished"] == true && record["bodySize"] != 0;
    number.parse().ok().filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_that_is_not_whole_has_no_number() {
        let number = |text: &str| line_number(&json!({ "text": text }));
        assert_eq!(number("line 12 is a plain text, about as long as most are"), Some(12));
        assert_eq!(number("line 12 is a plain te"), None);
        assert_eq!(number("line 13 has an object {id: 13, name: 'an item'}"), Some(13));
        assert_eq!(number("line 13 has an object Object"), None);
        assert_eq!(number("something else"), None);
    }

    #[test]
    fn records_that_come_twice_or_too_early_are_an_error() {
        let number = |record: &Value| record.as_u64().map(|number| number as usize);
        assert_eq!(numbers(&json!([1, 2, "other", 5]), number).unwrap(), [1, 2, 5]);
        assert!(numbers(&json!([1, 1]), number).is_err());
        assert!(numbers(&json!([2, 1]), number).is_err());
    }
}
