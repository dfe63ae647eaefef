//! One HTTP exchange with a hub or a browser. Knows nothing of what is asked or answered.

use std::io;
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper::http::request::Builder;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Sends a request, to which `Host` is added, and reads the whole answer.
pub(crate) async fn exchange(
    authority: &str,
    request: Builder,
    body: Vec<u8>,
) -> io::Result<(StatusCode, Bytes)> {
    let answer = open(authority, request, body).await?;
    Ok((answer.status, answer.whole().await?))
}

/// Sends a request, to which `Host` is added, and returns when the head of the answer is there.
pub(crate) async fn open(authority: &str, request: Builder, body: Vec<u8>) -> io::Result<Answer> {
    let stream = TcpStream::connect(authority).await?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let request: Request<Full<Bytes>> =
        request.header("Host", authority).body(Full::from(body)).map_err(io::Error::other)?;
    let mut connection = Polled(Some(Box::pin(connection)));
    let response = connection.during(sender.send_request(request)).await.map_err(io::Error::other)?;
    Ok(Answer { status: response.status(), body: response.into_body(), connection, _sender: sender })
}

/// An answer whose body is still coming.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    body: Incoming,
    connection: Polled,
    /// Without it the connection would close.
    _sender: SendRequest<Full<Bytes>>,
}

impl Answer {
    /// The next part of the body; `None` at its end. A connection that broke is an error.
    pub(crate) async fn chunk(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            match self.connection.during(self.body.frame()).await {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    pub(crate) async fn whole(mut self) -> io::Result<Bytes> {
        let mut body = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }
}

type Wire = Connection<TokioIo<TcpStream>, Full<Bytes>>;

/// A connection makes progress only while it is polled, and may end before the body was taken.
struct Polled(Option<Pin<Box<Wire>>>);

impl Polled {
    async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            let Some(connection) = &mut self.0 else { return work.await };
            tokio::select! {
                done = &mut work => return done,
                _ = connection => self.0 = None,
            }
        }
    }
}
