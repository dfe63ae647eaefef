//! Chromium's debugging pipe: JSON messages, each followed by a NUL byte, on file descriptors 3 and 4.

#![cfg(unix)]

use std::io;
use std::os::fd::OwnedFd;

use bowline_hub::backend::{Link, Outgoing};
use bytes::{BufMut, Bytes, BytesMut};
use tokio::net::unix::pipe;
use tokio_util::codec::{Decoder, Encoder, FramedRead, FramedWrite};

/// Chromium ends its pipe, and itself, at a message beyond 100 MiB.
const LARGEST_TO_BROWSER: usize = (100 << 20) - (64 << 10);
/// Asked of the kernel for either direction; the default of 64 KiB costs a context switch each.
#[cfg(target_os = "linux")]
const KERNEL_BUFFER: usize = 1 << 20;
const READ_BUFFER: usize = 64 << 10;
/// Messages up to this size are copied out, so that one that a slow client keeps does not pin a whole
/// read buffer; larger ones are passed on as they lie.
const COPY_LIMIT: usize = 16 << 10;
/// The read buffer is given back when a large message has left it this big.
const KEEP_LIMIT: usize = 1 << 20;

/// The browser's ends, to become its descriptors 3 (reads) and 4 (writes).
pub(crate) struct BrowserEnds {
    pub(crate) reads: OwnedFd,
    pub(crate) writes: OwnedFd,
}

/// Makes both pipes. Must be called within the runtime.
pub(crate) fn open() -> io::Result<(Link, BrowserEnds)> {
    let (browser_reads, we_write) = io::pipe()?;
    let (we_read, browser_writes) = io::pipe()?;
    let (we_read, we_write) = (OwnedFd::from(we_read), OwnedFd::from(we_write));
    #[cfg(target_os = "linux")]
    for end in [&we_write, &we_read] {
        // A user's quota may refuse; the default size works too.
        let _ = rustix::pipe::fcntl_setpipe_size(end, KERNEL_BUFFER);
    }
    let reader =
        FramedRead::with_capacity(pipe::Receiver::from_owned_fd(we_read)?, NulFrames::default(), READ_BUFFER);
    let writer = FramedWrite::new(pipe::Sender::from_owned_fd(we_write)?, NulFrames::default());
    let link = Link {
        reader: Box::pin(reader),
        writer: Box::pin(writer),
        max_outgoing: LARGEST_TO_BROWSER,
        may_be_closed: true,
        is_virtual: false,
    };
    Ok((link, BrowserEnds { reads: browser_reads.into(), writes: browser_writes.into() }))
}

#[derive(Default)]
struct NulFrames {
    /// Bytes of the buffer that hold no NUL, so that a large message is searched once.
    searched: usize,
}

impl Decoder for NulFrames {
    type Item = Bytes;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
        let Some(offset) = memchr::memchr(0, &buffer[self.searched..]) else {
            self.searched = buffer.len();
            if buffer.is_empty() && buffer.capacity() > KEEP_LIMIT {
                *buffer = BytesMut::with_capacity(READ_BUFFER);
            } else if buffer.is_empty() {
                // What was taken off the front is used again, so that reads do not become small.
                buffer.reserve(READ_BUFFER);
            } else if self.searched > COPY_LIMIT {
                // Grows by doubling, so that a large message is not read in small pieces.
                buffer.reserve(self.searched.min(64 << 20));
            }
            return Ok(None);
        };
        let end = self.searched + offset;
        self.searched = 0;
        let message = if end <= COPY_LIMIT {
            let message = Bytes::copy_from_slice(&buffer[..end]);
            bytes::Buf::advance(buffer, end + 1);
            message
        } else {
            let mut message = buffer.split_to(end + 1);
            message.truncate(end);
            message.freeze()
        };
        Ok(Some(message))
    }
}

impl Encoder<Outgoing> for NulFrames {
    type Error = io::Error;

    fn encode(&mut self, message: Outgoing, buffer: &mut BytesMut) -> io::Result<()> {
        if buffer.is_empty() && buffer.capacity() > KEEP_LIMIT {
            *buffer = BytesMut::new();
        }
        let head = message.head();
        buffer.reserve(head.len() + message.body.len());
        buffer.put_slice(head.as_bytes());
        buffer.put_slice(&message.body[1..]);
        buffer.put_u8(0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bowline_wire::SessionId;

    use super::*;

    #[test]
    fn messages_are_found_however_they_are_cut() {
        let large = "x".repeat(COPY_LIMIT * 2);
        let stream = format!("a\0{large}\0\0b\0").into_bytes();
        for piece in [1, 7, 4096, stream.len()] {
            let (mut frames, mut buffer, mut found) = (NulFrames::default(), BytesMut::new(), Vec::new());
            for part in stream.chunks(piece) {
                buffer.extend_from_slice(part);
                while let Some(message) = frames.decode(&mut buffer).unwrap() {
                    found.push(message);
                }
            }
            assert_eq!(found, ["a", large.as_str(), "", "b"]);
        }
    }

    #[test]
    fn a_session_is_put_in_front() {
        let mut buffer = BytesMut::new();
        for (session, body) in [(None, "{\"id\":1}"), (Some("S"), "{\"id\":1}"), (Some("S"), "{}")] {
            let outgoing =
                Outgoing { session: session.map(SessionId::new), body: Bytes::from_static(body.as_bytes()) };
            NulFrames::default().encode(outgoing, &mut buffer).unwrap();
        }
        assert_eq!(&buffer[..], b"{\"id\":1}\0{\"sessionId\":\"S\",\"id\":1}\0{\"sessionId\":\"S\"}\0");
    }
}
