//! The least that an evaluation from the shell can cost: a process that dials the WebSocket of a page, sends one CDP
//! command and reads its answer. `cargo xtask bench agents` measures `bowline eval` against it. Argument: the ws:// URL.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;

const COMMAND: &[u8] = br#"{"id":1,"method":"Runtime.evaluate","params":{"expression":"1+1"}}"#;

fn main() -> ExitCode {
    let answer = std::env::args().nth(1).ok_or_else(|| io::Error::other("no URL")).and_then(|url| ask(&url));
    match answer {
        Ok(answer) if answer.contains(r#""value":2"#) => {
            println!("2");
            ExitCode::SUCCESS
        }
        Ok(answer) => failed(&answer),
        Err(error) => failed(&error.to_string()),
    }
}

fn failed(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}

fn ask(url: &str) -> io::Result<String> {
    let rest = url.strip_prefix("ws://").and_then(|rest| rest.split_once('/'));
    let (authority, path) = rest.ok_or_else(|| io::Error::other("not a ws:// URL"))?;
    let mut stream = TcpStream::connect(authority)?;
    stream.set_nodelay(true)?;
    let hello = format!(
        "GET /{path} HTTP/1.1\r\nHost: {authority}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    );
    stream.write_all(hello.as_bytes())?;
    // Nothing follows the head before something is asked.
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut piece = [0; 1024];
        match stream.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => head.extend_from_slice(&piece[..length]),
        }
    }
    // Text, all of it, short, and masked with zeros, which leave it as it is.
    let mut frame = vec![0x81, 0x80 | COMMAND.len() as u8, 0, 0, 0, 0];
    frame.extend_from_slice(COMMAND);
    stream.write_all(&frame)?;
    let mut start = [0; 2];
    stream.read_exact(&mut start)?;
    let length = match start[1] {
        126 => {
            let mut long = [0; 2];
            stream.read_exact(&mut long)?;
            usize::from(u16::from_be_bytes(long))
        }
        short => usize::from(short),
    };
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
