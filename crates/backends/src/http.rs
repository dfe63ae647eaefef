//! One small HTTP GET to a browser's `/json` on this machine or another.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

const LARGEST: usize = 64 << 20;

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}

pub(crate) async fn get(authority: &str, path: &str, within: Duration) -> io::Result<Answer> {
    let work = async {
        let stream = TcpStream::connect(authority).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        let request = hyper::Request::get(path)
            .header("Host", authority)
            .body(Empty::<Bytes>::new())
            .map_err(io::Error::other)?;
        let exchange = async {
            let response = sender.send_request(request).await.map_err(io::Error::other)?;
            let status = response.status().as_u16();
            let body =
                Limited::new(response.into_body(), LARGEST).collect().await.map_err(io::Error::other)?;
            Ok(Answer { status, body: body.to_bytes() })
        };
        // The connection makes progress only while it is polled, and may end before the body was taken.
        tokio::pin!(exchange);
        let mut connection = std::pin::pin!(connection);
        let mut connected = true;
        loop {
            tokio::select! {
                answer = &mut exchange => return answer,
                _ = &mut connection, if connected => connected = false,
            }
        }
    };
    tokio::time::timeout(within, work).await.unwrap_or_else(|_| {
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("{authority} did not answer in time")))
    })
}
