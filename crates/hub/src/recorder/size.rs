//! How much memory a record takes, nearly: its own size and that of its texts.

use super::record::{ConsoleRecord, Headers, Location, NetworkRecord, StreamMessage};

/// What the allocator and the queues add to each text.
const TEXT: usize = 16;

pub(super) fn console(record: &ConsoleRecord) -> usize {
    let args = record.args.iter().map(|arg| {
        let value = arg.value.as_ref().and_then(|value| value.as_str()).map_or(0, str::len);
        size_of_val(arg) + arg.kind.len() + arg.text.len() + value + 3 * TEXT
    });
    size_of::<ConsoleRecord>()
        + record.text.len()
        + record.tab.len()
        + record.frame.as_ref().map_or(0, String::len)
        + record.origin.as_ref().map_or(0, |origin| origin.kind.len() + origin.url.len() + 2 * TEXT)
        + record.location.iter().chain(&record.stack_trace).map(location).sum::<usize>()
        + args.sum::<usize>()
        + 4 * TEXT
}

pub(super) fn network(record: &NetworkRecord) -> usize {
    size_of::<NetworkRecord>()
        + record.url.len()
        + record.tab.len()
        + record.request_id.len()
        + record.frame.as_ref().map_or(0, String::len)
        + record.post_data.as_ref().map_or(0, String::len)
        + record.redirected_to.as_ref().map_or(0, String::len)
        + record.origin.as_ref().map_or(0, |origin| origin.kind.len() + origin.url.len() + 2 * TEXT)
        + headers(&record.headers)
        + headers(&record.response_headers)
        + record.messages.iter().map(message).sum::<usize>()
        + 16 * TEXT
}

pub(super) fn message(message: &StreamMessage) -> usize {
    size_of_val(message) + message.data.len() + message.kind.len() + 2 * TEXT
}

fn headers(headers: &Headers) -> usize {
    headers
        .iter()
        .map(|(name, value)| name.len() + value.len() + size_of::<(String, String)>() + 2 * TEXT)
        .sum()
}

fn location(location: &Location) -> usize {
    size_of_val(location) + location.url.len() + location.function_name.len() + 2 * TEXT
}
