use super::*;
use crate::recorder::record::RequestFailure;

fn console(level: Level, text: &str) -> ConsoleRecord {
    ConsoleRecord {
        seq: 10,
        tab: "T".to_owned(),
        frame: None,
        origin: None,
        navigation: 0,
        timestamp: 1000.0,
        level,
        source: Source::Console,
        api: None,
        text: text.to_owned(),
        args: Vec::new(),
        location: None,
        stack_trace: Vec::new(),
        truncated: 0,
        historical: None,
    }
}

fn request(method: &str, kind: &str, status: Option<u16>) -> NetworkRecord {
    NetworkRecord {
        seq: 10,
        changed: 12,
        timestamp: 1000.0,
        url: "https://example.com/api/users?id=1".to_owned(),
        method: method.to_owned(),
        resource_type: kind.to_owned(),
        status,
        state: RequestState::Finished,
        ..NetworkRecord::default()
    }
}

fn status(text: &str) -> StatusMatch {
    text.parse().unwrap()
}

#[test]
fn an_empty_filter_lets_everything_through() {
    assert!(ConsoleFilter::default().matches(&console(Level::Debug, "")));
    assert!(NetworkFilter::default().matches(&NetworkRecord::default()));
}

#[test]
fn console_records_are_chosen_by_level_and_source() {
    let filter = ConsoleFilter { types: vec![Level::Warn, Level::Error], ..ConsoleFilter::default() };
    assert!(filter.matches(&console(Level::Warn, "")));
    assert!(filter.matches(&console(Level::Error, "")));
    assert!(!filter.matches(&console(Level::Log, "")));
    let filter = ConsoleFilter { source: Some(Source::Exception), ..ConsoleFilter::default() };
    assert!(!filter.matches(&console(Level::Error, "")));
    assert!(filter.matches(&ConsoleRecord { source: Source::Exception, ..console(Level::Error, "") }));
}

#[test]
fn console_records_are_chosen_by_text() {
    let filter = |text| ConsoleFilter { text: Some(pattern(text).unwrap()), ..ConsoleFilter::default() };
    assert!(filter("fail(ed|ure)").matches(&console(Level::Log, "it failed")));
    assert!(!filter("^failed").matches(&console(Level::Log, "it failed")));
    assert!(filter("(?i)FAILED").matches(&console(Level::Log, "it failed")));
}

#[test]
fn both_ends_of_a_time_span_count() {
    let between = |start, end| ConsoleFilter { start, end, ..ConsoleFilter::default() };
    let record = console(Level::Log, "");
    assert!(between(Some(1000.0), Some(1000.0)).matches(&record));
    assert!(between(None, Some(1000.5)).matches(&record));
    assert!(!between(Some(1000.5), None).matches(&record));
    assert!(!between(None, Some(999.5)).matches(&record));
    let filter = NetworkFilter { start: Some(1000.0), end: Some(1000.0), ..NetworkFilter::default() };
    assert!(filter.matches(&request("GET", "Fetch", None)));
    let filter = NetworkFilter { start: Some(1001.0), ..NetworkFilter::default() };
    assert!(!filter.matches(&request("GET", "Fetch", None)));
}

#[test]
fn since_is_the_last_number_already_seen() {
    for (since, seen) in [(9, true), (10, false), (11, false)] {
        let filter = ConsoleFilter { since: Some(since), ..ConsoleFilter::default() };
        assert_eq!(filter.matches(&console(Level::Log, "")), seen);
    }
    // A request is news again when it changes.
    for (since, seen) in [(10, true), (11, true), (12, false)] {
        let filter = NetworkFilter { since: Some(since), ..NetworkFilter::default() };
        assert_eq!(filter.matches(&request("GET", "Fetch", None)), seen);
    }
}

#[test]
fn methods_and_types_are_compared_without_case() {
    let filter = NetworkFilter { methods: vec!["put".into(), "Post".into()], ..NetworkFilter::default() };
    assert!(filter.matches(&request("POST", "Fetch", None)));
    assert!(!filter.matches(&request("GET", "Fetch", None)));
    let filter = NetworkFilter { resource_types: vec!["xhr".into(), "fetch".into()], ..Default::default() };
    assert!(filter.matches(&request("GET", "Fetch", None)));
    assert!(filter.matches(&request("GET", "XHR", None)));
    assert!(!filter.matches(&request("GET", "Image", None)));
}

#[test]
fn requests_are_chosen_by_status() {
    let filter = NetworkFilter { statuses: vec![status("404"), status("5xx")], ..NetworkFilter::default() };
    for (code, fits) in [(Some(404), true), (Some(503), true), (Some(200), false), (None, false)] {
        assert_eq!(filter.matches(&request("GET", "Fetch", code)), fits, "{code:?}");
    }
}

#[test]
fn requests_are_chosen_by_address() {
    let filter = |text| NetworkFilter { url: Some(pattern(text).unwrap()), ..NetworkFilter::default() };
    assert!(filter(r"/api/.*id=\d").matches(&request("GET", "Fetch", None)));
    assert!(!filter("^/api").matches(&request("GET", "Fetch", None)));
}

#[test]
fn only_what_got_no_whole_answer_failed() {
    let filter = NetworkFilter { failed: true, ..NetworkFilter::default() };
    assert!(!filter.matches(&request("GET", "Fetch", Some(500))));
    let failed = NetworkRecord { state: RequestState::Failed, ..request("GET", "Fetch", None) };
    assert!(filter.matches(&failed));
    let failure = Some(RequestFailure { error_text: "net::ERR_ABORTED".into(), ..Default::default() });
    assert!(filter.matches(&NetworkRecord { failure, ..request("GET", "Fetch", Some(200)) }));
}

#[test]
fn a_status_is_a_code_a_class_or_a_range() {
    for (text, first, last) in [
        ("404", 404, 404),
        ("4xx", 400, 499),
        ("5XX", 500, 599),
        ("400-499", 400, 499),
        (" 200 - 204 ", 200, 204),
    ] {
        assert_eq!(text.parse(), Ok(StatusMatch { first, last }), "{text}");
    }
    assert!(status("4xx").includes(400) && status("4xx").includes(499));
    assert!(!status("4xx").includes(399) && !status("4xx").includes(500));
}

#[test]
fn what_is_no_status_is_named() {
    for text in ["", "xx", "40", "4040", "4x", "0xx", "40xx", "499-400", "400-", "-400", "abc", "+40", "４04"]
    {
        let error = text.parse::<StatusMatch>().expect_err(text);
        assert_eq!(error.to_string(), format!("{text:?} is no status; write 404, 4xx or 400-499"));
    }
    let error = "9".repeat(1000).parse::<StatusMatch>().expect_err("too long");
    assert!(error.to_string().len() < 200);
}

#[test]
fn a_bad_pattern_is_explained_in_one_line() {
    let message = |text: &str| pattern(text).expect_err(text).to_string();
    assert_eq!(message("(a"), r#""(a" is no usable regular expression: unclosed group"#);
    assert_eq!(
        message("x{9999}{9999}"),
        r#""x{9999}{9999}" is no usable regular expression: it takes too much memory"#
    );
    for text in ["(a\nb", "[", "*", "a{2,1}", "(?<n", r"\", "(?=a)"] {
        let message = message(text);
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(!message.ends_with(": "), "{message}");
    }
    let long = message(&"(".repeat(10_000));
    assert!(long.len() < 300, "{long}");
}

#[test]
fn the_latest_are_kept() {
    assert_eq!(keep_latest(vec![1, 2, 3], None), [1, 2, 3]);
    assert_eq!(keep_latest(vec![1, 2, 3], Some(2)), [2, 3]);
    assert_eq!(keep_latest(vec![1, 2, 3], Some(9)), [1, 2, 3]);
    assert!(keep_latest(vec![1, 2, 3], Some(0)).is_empty());
}
