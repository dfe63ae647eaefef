//! HTTP with a hub or a browser: one exchange, or many over one connection. Knows nothing of what is asked or answered.

use std::io;
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper::http::request::Builder;
use hyper::{Response, StatusCode};
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
    let mut client = Client::connect(authority).await?;
    let (status, body) = client.send(request, body).await?;
    Ok(Answer { status, body, client })
}

/// A connection, for one request after another.
pub(crate) struct Client {
    authority: String,
    connection: Polled,
    /// Without it the connection would close.
    sender: SendRequest<Full<Bytes>>,
}

impl Client {
    pub(crate) async fn connect(authority: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(authority).await?;
        // A request is small and waits for its answer.
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        Ok(Self { authority: authority.to_owned(), connection: Polled(Some(Box::pin(connection))), sender })
    }

    /// Whether the next request may still go this way.
    pub(crate) async fn is_open(&mut self) -> bool {
        self.connection.during(self.sender.ready()).await.is_ok()
    }

    /// Sends a request, to which `Host` is added, and reads the whole answer.
    pub(crate) async fn exchange(
        &mut self,
        request: Builder,
        body: Vec<u8>,
    ) -> io::Result<(StatusCode, Bytes)> {
        let (status, mut body) = self.send(request, body).await?;
        Ok((status, self.whole(&mut body).await?))
    }

    async fn send(&mut self, request: Builder, body: Vec<u8>) -> io::Result<(StatusCode, Incoming)> {
        let request =
            request.header("Host", &self.authority).body(Full::from(body)).map_err(io::Error::other)?;
        let sent = self.connection.during(self.sender.send_request(request)).await;
        let response: Response<Incoming> = sent.map_err(io::Error::other)?;
        Ok((response.status(), response.into_body()))
    }

    /// The next part of a body; `None` at its end. A connection that broke is an error.
    async fn chunk(&mut self, body: &mut Incoming) -> io::Result<Option<Bytes>> {
        loop {
            match self.connection.during(body.frame()).await {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    async fn whole(&mut self, body: &mut Incoming) -> io::Result<Bytes> {
        let mut all = BytesMut::new();
        while let Some(chunk) = self.chunk(body).await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all.freeze())
    }
}

/// An answer whose body is still coming.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    body: Incoming,
    client: Client,
}

impl Answer {
    /// The next part of the body; `None` at its end. A connection that broke is an error.
    pub(crate) async fn chunk(&mut self) -> io::Result<Option<Bytes>> {
        self.client.chunk(&mut self.body).await
    }

    pub(crate) async fn whole(mut self) -> io::Result<Bytes> {
        self.client.whole(&mut self.body).await
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
