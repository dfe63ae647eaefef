//! Who listens on a port, for the message that says it is taken.

use std::process::Command;

/// For example `chromium (pid 4711)`.
pub(crate) fn holder_of(port: u16) -> Option<String> {
    let pid = pid_from_proc(port).or_else(|| pid_from_lsof(port))?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|name| name.trim().to_owned());
    let name = name.or_else(|| {
        let output = Command::new("ps").args(["-p", &pid.to_string(), "-o", "comm="]).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()).filter(|name| !name.is_empty())
    });
    Some(match name {
        Some(name) => format!("{name} (pid {pid})"),
        None => format!("pid {pid}"),
    })
}

/// Linux: the socket's inode from the table of listening sockets, then whose descriptor it is.
fn pid_from_proc(port: u16) -> Option<u32> {
    let inode = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| std::fs::read_to_string(table).ok())
        .find_map(|table| listening_inode(&table, port))?;
    let socket = format!("socket:[{inode}]");
    for process in std::fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // Other users' descriptors cannot be read.
        let Ok(descriptors) = std::fs::read_dir(process.path().join("fd")) else { continue };
        for descriptor in descriptors.flatten() {
            if std::fs::read_link(descriptor.path()).is_ok_and(|link| link.as_os_str() == socket.as_str()) {
                return Some(pid);
            }
        }
    }
    None
}

fn listening_inode(table: &str, port: u16) -> Option<String> {
    const LISTENING: &str = "0A";
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let local = u16::from_str_radix(fields.get(1)?.rsplit(':').next()?, 16).ok()?;
        (local == port && *fields.get(3)? == LISTENING)
            .then(|| fields.get(9).map(|inode| (*inode).to_owned()))?
    })
}

fn pid_from_lsof(port: u16) -> Option<u32> {
    let output =
        Command::new("lsof").args(["-nP", "-t", &format!("-iTCP:{port}"), "-sTCP:LISTEN"]).output().ok()?;
    String::from_utf8_lossy(&output.stdout).lines().next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_holder_of_our_own_port_is_this_process() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let holder = holder_of(listener.local_addr().unwrap().port()).unwrap();
        assert!(holder.ends_with(&format!("(pid {})", std::process::id())), "{holder}");
    }

    #[test]
    fn only_listening_sockets_count() {
        let table = "  sl  local_address\n   0: 0100007F:2407 0100007F:1 01 0:0 00:0 0 0 0 77 1\n   1: 0100007F:2407 00000000:0000 0A 0:0 00:0 0 0 0 88 1\n";
        assert_eq!(listening_inode(table, 0x2407).as_deref(), Some("88"));
        assert_eq!(listening_inode(table, 1), None);
    }
}
