//! Paths and queries of requests to the hub.

use std::fmt;

/// What is asked for, behind the path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(&'static str, String)>);

impl Query {
    /// Sets a parameter, in place of an earlier value.
    pub(crate) fn set(&mut self, name: &'static str, value: impl ToString) {
        self.remove(name);
        self.0.push((name, value.to_string()));
    }

    /// Sets a parameter if there is a value for it.
    pub(crate) fn set_if_some(&mut self, name: &'static str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// Sets a parameter that is a list, if it has any.
    pub(crate) fn set_list(&mut self, name: &'static str, values: &[impl ToString]) {
        if !values.is_empty() {
            self.set(name, values.iter().map(ToString::to_string).collect::<Vec<_>>().join(","));
        }
    }

    /// Switches a parameter on.
    pub(crate) fn set_if(&mut self, name: &'static str, on: bool) {
        if on {
            self.set(name, 1);
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| *known != name);
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, value)) in self.0.iter().enumerate() {
            write!(f, "{}{name}={}", if at == 0 { '?' } else { '&' }, encoded(value))?;
        }
        Ok(())
    }
}

/// Text as a part of a path or query.
pub(crate) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_keeps_the_last_value_and_encodes_it() {
        let mut query = Query::default();
        assert_eq!(query.to_string(), "");
        query.set("since", 1);
        query.set_list("statusCodes", &["404", "4xx"]);
        query.set_list("methods", &[""; 0]);
        query.set_if("follow", true);
        query.set("since", 2);
        query.set_if_some("max", None::<u32>);
        assert_eq!(query.to_string(), "?statusCodes=404%2C4xx&follow=1&since=2");
        query.remove("follow");
        assert_eq!(query.to_string(), "?statusCodes=404%2C4xx&since=2");
    }

    #[test]
    fn nothing_of_a_tab_can_end_its_part_of_the_path() {
        assert_eq!(encoded("a/b?c#d e%ä"), "a%2Fb%3Fc%23d%20e%25%C3%A4");
    }
}
