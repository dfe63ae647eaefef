//! Which requests are wanted, as a query for the hub.

use regex::Regex;

use super::Query;
use crate::cli::{NetworkArgs, Outcome};
use crate::clock;

pub(crate) struct NetworkFilter {
    outcomes: Vec<Outcome>,
    methods: Vec<String>,
    url: Option<Regex>,
    types: Vec<String>,
    /// Milliseconds since 1970.
    start: Option<i64>,
    after: Option<u64>,
    max: Option<u32>,
    bodies: bool,
    pub(crate) reveal: bool,
}

impl NetworkFilter {
    pub(crate) fn of(args: &NetworkArgs) -> Self {
        Self {
            outcomes: args.status.clone(),
            methods: args.method.iter().map(|method| method.to_uppercase()).collect(),
            url: args.url.clone(),
            types: args.types.clone(),
            start: args.list.since.and_then(|since| since.start(clock::now())),
            after: args.list.since.and_then(|since| since.record()),
            max: args.list.max,
            bodies: args.bodies,
            reveal: args.reveal,
        }
    }

    /// Whether there may be requests that it leaves out, so that finding none means something.
    pub(crate) fn is_narrow(&self) -> bool {
        !(self.outcomes.is_empty() && self.methods.is_empty() && self.types.is_empty())
            || self.url.is_some()
            || self.start.is_some()
            || self.after.is_some()
    }

    pub(crate) fn query(&self) -> Query {
        let mut query = Query::default();
        let codes: Vec<_> = self.outcomes.iter().filter(|outcome| **outcome != Outcome::Failed).collect();
        query.set_list("methods", &self.methods);
        query.set_list("statusCodes", &codes);
        query.set_if("failed", self.outcomes.contains(&Outcome::Failed));
        query.set_if_some("urlPattern", self.url.as_ref());
        query.set_list("resourceTypes", &self.types);
        query.set_if_some("startTime", self.start);
        query.set_if_some("since", self.after);
        query.set_if_some("max", self.max);
        query.set_if("includeResponseBody", self.bodies);
        query.set_if("reveal", self.reveal);
        query
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn filter(words: &[&str]) -> NetworkFilter {
        let words = [&["bowline", "network"], words].concat();
        let Command::Network(args) = Cli::try_parse_from(words).unwrap().command else { panic!("network") };
        NetworkFilter::of(&args)
    }

    #[test]
    fn every_option_finds_its_way_into_the_query() {
        let words = ["--status", "404,failed,5xx", "--method", "get,post", "--grep", "/api", "--bodies"];
        assert_eq!(
            filter(&words).query().to_string(),
            "?methods=GET%2CPOST&statusCodes=404%2C5xx&failed=1&urlPattern=%2Fapi&includeResponseBody=1"
        );
        let words = ["--type", "fetch,xhr", "--reveal", "--since", "#9", "-n", "2"];
        assert_eq!(filter(&words).query().to_string(), "?resourceTypes=fetch%2Cxhr&since=9&max=2&reveal=1");
    }

    #[test]
    fn only_what_selects_is_narrow() {
        assert!(!filter(&["--bodies", "--reveal", "-v"]).is_narrow());
        assert!(filter(&["--url", "/other"]).is_narrow());
    }
}
