//! One HTTP exchange with a hub on this machine. Knows nothing of what is asked or answered.

use std::io;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::http::request::Builder;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Sends a request, to which `Host` is added, and reads the whole answer.
pub(crate) async fn exchange(port: u16, request: Builder, body: Vec<u8>) -> io::Result<(StatusCode, Bytes)> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let request: Request<Full<Bytes>> = request
        .header("Host", format!("127.0.0.1:{port}"))
        .body(Full::from(body))
        .map_err(io::Error::other)?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(io::Error::other)?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(io::Error::other)?;
        Ok((status, body.to_bytes()))
    };
    // The connection makes progress only while it is polled, and may end before the body was taken.
    let mut connection = std::pin::pin!(connection);
    let mut exchange = std::pin::pin!(exchange);
    let mut connected = true;
    loop {
        tokio::select! {
            answer = &mut exchange => return answer,
            _ = &mut connection, if connected => connected = false,
        }
    }
}
