//! What `--verbose` and `--bodies` show of a request below its line.

use bowline_hub::recorder::record::{Body, Direction, Headers, NetworkRecord, Timing};

use super::amounts::{duration, size};
use crate::clock;
use crate::output::FAINT;
use crate::safe_text::{one_line, safe};

const INDENT: &str = "        ";

pub(super) fn details(record: &NetworkRecord, verbose: bool, now: i64) -> Vec<String> {
    let mut lines = Vec::new();
    if verbose {
        lines.extend(headers('>', &record.headers));
        if let Some(data) = &record.post_data {
            lines.extend(indented("> ", data));
        }
        lines.extend(headers('<', &record.response_headers));
        lines.extend(record.timing.as_ref().map(|times| timing(times, record.duration)));
        lines.extend(messages(record, 0, now));
    }
    if let Some(body) = &record.response_body {
        lines.extend(body_lines(body));
    }
    lines
}

/// Messages of a stream from one on, counted from its beginning.
pub(super) fn messages(record: &NetworkRecord, first: u64, now: i64) -> Vec<String> {
    let mut lines = Vec::new();
    if first < record.messages_dropped {
        let count = record.messages_dropped - first;
        lines.push(format!("{INDENT}{FAINT}({count} messages were dropped){FAINT:#}"));
    }
    let skip = usize::try_from(first.saturating_sub(record.messages_dropped)).unwrap_or(usize::MAX);
    for message in record.messages.iter().skip(skip) {
        let arrow = match message.direction {
            Direction::Sent => '>',
            Direction::Received => '<',
        };
        let time = clock::shown(message.timestamp, now);
        let cut = match message.truncated {
            0 => String::new(),
            bytes => format!(" {FAINT}({bytes} more bytes){FAINT:#}"),
        };
        let (kind, data) = (one_line(&message.kind), one_line(&message.data));
        lines.push(format!("{INDENT}{FAINT}{time}{FAINT:#} {arrow} {kind}  {data}{cut}"));
    }
    lines
}

fn headers(arrow: char, headers: &Headers) -> Vec<String> {
    // Several values of one name stand on lines of their own.
    let lines = headers.iter().flat_map(|(name, value)| value.split('\n').map(move |value| (name, value)));
    lines
        .map(|(name, value)| {
            format!("{INDENT}{arrow} {FAINT}{}:{FAINT:#} {}", one_line(name), one_line(value))
        })
        .collect()
}

/// The phases that took place, and how long each took.
fn timing(times: &Timing, total: Option<f64>) -> String {
    let phases = [
        ("proxy", times.proxy_start, times.proxy_end),
        ("dns", times.dns_start, times.dns_end),
        ("connect", times.connect_start, times.connect_end),
        ("tls", times.ssl_start, times.ssl_end),
        ("worker", times.worker_start, times.worker_ready),
        ("send", times.send_start, times.send_end),
        ("wait", times.send_end, times.receive_headers_end),
        ("receive", times.receive_headers_end, total.unwrap_or(-1.0)),
    ];
    let took: Vec<String> = phases
        .into_iter()
        .filter(|(_, start, end)| *start >= 0.0 && end >= start && *end > 0.0)
        .map(|(name, start, end)| format!("{name} {}", duration(end - start)))
        .collect();
    format!("{INDENT}{FAINT}timing:{FAINT:#} {}", took.join(", "))
}

fn body_lines(body: &Body) -> Vec<String> {
    let mut lines = if body.base64_encoded {
        vec![format!("{INDENT}{FAINT}(binary, {}){FAINT:#}", size(body.size))]
    } else {
        indented("", &body.body)
    };
    if body.truncated {
        lines.push(format!("{INDENT}{FAINT}(cut off; {} in all){FAINT:#}", size(body.size)));
    }
    lines
}

fn indented(mark: &str, text: &str) -> Vec<String> {
    safe(text).lines().map(|line| format!("{INDENT}{mark}{line}")).collect()
}

#[cfg(test)]
mod tests {
    use bowline_hub::recorder::record::StreamMessage;

    use super::*;

    fn plain(lines: Vec<String>) -> Vec<String> {
        lines
            .iter()
            .map(|line| anstream::adapter::strip_str(line).to_string().trim_start().to_owned())
            .collect()
    }

    #[test]
    fn phases_that_did_not_happen_are_left_out() {
        let times = Timing {
            dns_start: -1.0,
            dns_end: -1.0,
            proxy_start: -1.0,
            proxy_end: -1.0,
            connect_start: 1.0,
            connect_end: 3.0,
            ssl_start: -1.0,
            ssl_end: -1.0,
            worker_start: -1.0,
            worker_ready: -1.0,
            send_start: 3.0,
            send_end: 3.5,
            receive_headers_start: 20.0,
            receive_headers_end: 20.5,
        };
        let line = plain(vec![timing(&times, Some(30.5))]).concat();
        assert_eq!(line, "timing: connect 2.0 ms, send 0.5 ms, wait 17 ms, receive 10 ms");
    }

    #[test]
    fn messages_go_on_where_they_were_left() {
        let message = |data: &str| StreamMessage {
            timestamp: 0.0,
            direction: Direction::Received,
            kind: "text".to_owned(),
            data: data.to_owned(),
            truncated: 0,
        };
        let record = NetworkRecord {
            messages: vec![message("c"), message("d\ne")],
            messages_dropped: 2,
            ..NetworkRecord::default()
        };
        let shown = plain(messages(&record, 1, 0));
        assert_eq!(
            shown,
            ["(1 messages were dropped)", "00:00:00.000Z < text  c", "00:00:00.000Z < text  d\\ne"]
        );
        assert_eq!(plain(messages(&record, 3, 0)), ["00:00:00.000Z < text  d\\ne"]);
    }

    #[test]
    fn headers_with_several_values_have_several_lines() {
        let headers = Headers(vec![("set-cookie".to_owned(), "a=1\nb=2".to_owned())]);
        assert_eq!(plain(super::headers('<', &headers)), ["< set-cookie: a=1", "< set-cookie: b=2"]);
    }
}
