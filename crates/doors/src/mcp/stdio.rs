//! MCP over stdin and stdout, for `bowline mcp`.

use std::io;

use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::caller::Caller;
use super::server::{Options, Server};

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Serves one client until it closes stdin, or until told to stop. Stdout belongs to the protocol.
pub async fn serve_stdio(
    caller: impl Caller,
    version: &'static str,
    options: Options,
    stop: CancellationToken,
) -> io::Result<()> {
    let server = Server::new(caller, version, options);
    match rmcp::service::serve_server_with_ct(server, transport(), stop).await {
        Ok(running) => match running.waiting().await {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(io::Error::other(error)),
            Ok(_) => Ok(()),
        },
        // One that left before it had said anything, as a host does that only looks whether we start.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Pipes and sockets are waited for with everything else; only a file or a terminal needs threads of its own.
fn transport() -> (Reader, Writer) {
    #[cfg(unix)]
    if let Some((input, output)) = sockets() {
        return (Box::new(input), Box::new(output));
    }
    let (input, output) = rmcp::transport::stdio_pipes();
    (Box::new(input), Box::new(output))
}

/// Node gives its children sockets for stdin and stdout.
#[cfg(unix)]
fn sockets() -> Option<(tokio::net::UnixStream, tokio::net::UnixStream)> {
    use std::os::fd::AsFd;
    // Neither is touched unless both are sockets.
    let (input, output) = (socket(io::stdin().as_fd())?, socket(io::stdout().as_fd())?);
    input.set_nonblocking(true).ok()?;
    output.set_nonblocking(true).ok()?;
    Some((tokio::net::UnixStream::from_std(input).ok()?, tokio::net::UnixStream::from_std(output).ok()?))
}

#[cfg(unix)]
fn socket(fd: std::os::fd::BorrowedFd<'_>) -> Option<std::os::unix::net::UnixStream> {
    use std::os::unix::fs::FileTypeExt;
    let file = std::fs::File::from(fd.try_clone_to_owned().ok()?);
    if !file.metadata().ok()?.file_type().is_socket() {
        return None;
    }
    let stream = std::os::unix::net::UnixStream::from(std::os::fd::OwnedFd::from(file));
    // A socket of another kind has no such address.
    stream.local_addr().ok()?;
    Some(stream)
}
