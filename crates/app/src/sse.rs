//! Reads `text/event-stream`: bytes go in as they come, whole events come out.

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Event {
    /// Empty if the stream gave it no name.
    pub(crate) name: String,
    /// The last id that the stream gave, to this event or to one before it.
    pub(crate) id: String,
    pub(crate) data: String,
}

#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    /// The last line ended with CR; a LF that follows belongs to it.
    after_cr: bool,
    event: Event,
}

impl Reader {
    /// The events that `bytes` completes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for &byte in bytes {
            let after_cr = std::mem::take(&mut self.after_cr);
            match byte {
                b'\n' if after_cr => {}
                b'\r' | b'\n' => {
                    self.after_cr = byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    // Whole lines only, so a character that two chunks share is whole by now.
                    events.extend(self.end_line(&String::from_utf8_lossy(&line)));
                }
                _ => self.line.push(byte),
            }
        }
        events
    }

    fn end_line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "id" => value.clone_into(&mut self.event.id),
            "data" => {
                self.event.data.push_str(value);
                self.event.data.push('\n');
            }
            // A comment has no field name; other fields are not ours.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.event.name);
        let mut data = std::mem::take(&mut self.event.data);
        // Ends with the line end that was added last; without data there is no event.
        data.pop()?;
        Some(Event { name, id: self.event.id.clone(), data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": hello\r\nevent: console\r\nid: 7\r\ndata: {\"text\":\"Käse\"}\r\n\r\n\
                          event:ready\ndata:a\ndata: b\n\n:\n\nid: 8\n\ndata\r\rdata:  x\n\n";

    fn expected() -> Vec<Event> {
        let event = |name: &str, id: &str, data: &str| Event {
            name: name.to_owned(),
            id: id.to_owned(),
            data: data.to_owned(),
        };
        vec![
            event("console", "7", "{\"text\":\"Käse\"}"),
            event("ready", "7", "a\nb"),
            event("", "8", ""),
            event("", "8", " x"),
        ]
    }

    #[test]
    fn events_are_the_same_wherever_the_chunks_end() {
        let bytes = STREAM.as_bytes();
        assert_eq!(Reader::default().feed(bytes), expected());
        for border in 0..bytes.len() {
            let mut reader = Reader::default();
            let mut events = reader.feed(&bytes[..border]);
            events.extend(reader.feed(&bytes[border..]));
            assert_eq!(events, expected(), "border at {border}");
        }
        let mut reader = Reader::default();
        let single: Vec<Event> = bytes.iter().flat_map(|byte| reader.feed(&[*byte])).collect();
        assert_eq!(single, expected());
    }

    #[test]
    fn an_event_without_its_empty_line_is_not_complete() {
        let mut reader = Reader::default();
        assert_eq!(reader.feed(b"data: a\n"), []);
        assert_eq!(reader.feed(b"\n").len(), 1);
        assert_eq!(reader.feed(b"\n\n: keep-alive\n\n"), []);
    }
}
