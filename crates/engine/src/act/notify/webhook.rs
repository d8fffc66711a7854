//! An address of the user's: one plain HTTP request, done if it is answered with success. No TLS: for https a command such as
//! curl does it, so that no part of abide carries a TLS library.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use abide_sys::{clock, poll};

/// So long it may take in all.
const WITHIN_MS: u64 = 10_000;
/// No line of an answer that matters is longer.
const LONGEST: usize = 1_024;
/// No host has more to say of its addresses that matters.
const LONGEST_LIST: usize = 64 * 1_024;

/// Where a message is posted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// With its port, as it is connected to.
    authority: String,
    /// As the other side is told.
    host: String,
    path: String,
}

impl Address {
    /// The address that `http://HOST[:PORT][/PATH]` names.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("http://")?;
        let sound = text.bytes().all(|byte| byte.is_ascii_graphic()) && !rest.contains(['@', '#', '\\']);
        let (host, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
        // The colons of an IPv6 address stand in brackets.
        let port = host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map(|(_, port)| port);
        let known = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
        let name = port.map_or(host, |port| &host[..host.len() - port.len() - 1]);
        let named = !name.is_empty() && (name.starts_with('[') == name.contains(':'));
        let authority = if port.is_some() { host.to_owned() } else { format!("{host}:80") };
        let slash = if path.starts_with('/') { "" } else { "/" };
        let path = format!("{slash}{path}");
        (sound && known && named).then(|| Self { authority, host: host.to_owned(), path })
    }
}

/// Posts a message. Done if the answer is a success.
pub(super) fn post(address: &str, key: &str, message: &[u8]) -> Result<(), String> {
    let to = Address::parse(address).ok_or_else(|| "its address makes no sense".to_owned())?;
    let answer = exchange(&to, key, message).map_err(|e| format!("{}: {e}", to.authority))?;
    let code = answer.split(' ').nth(1).and_then(|code| code.parse::<u16>().ok());
    match code {
        Some(200..=299) => Ok(()),
        Some(code) => Err(format!("{}: it answered with {code}", to.authority)),
        None => Err(format!("{}: what it answered is not HTTP", to.authority)),
    }
}

/// The first line of the answer.
fn exchange(to: &Address, key: &str, message: &[u8]) -> io::Result<String> {
    let deadline = clock::now().boot.saturating_add(WITHIN_MS);
    let left = || {
        let left = deadline.saturating_sub(clock::now().boot);
        if left == 0 {
            Err(io::Error::from(io::ErrorKind::TimedOut))
        } else {
            Ok(Duration::from_millis(left))
        }
    };
    let mut stream = connect(&to.authority, &left)?;
    let version = env!("CARGO_PKG_VERSION");
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: abide/{version}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nIdempotency-Key: {key}\r\nConnection: close\r\n\r\n",
        to.path,
        to.host,
        message.len(),
    );
    stream.set_write_timeout(Some(left()?))?;
    stream.write_all(&[head.as_bytes(), message].concat())?;
    let mut answer = Vec::new();
    while !answer.contains(&b'\n') && answer.len() < LONGEST {
        stream.set_read_timeout(Some(left()?))?;
        let mut piece = [0; 256];
        match stream.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => answer.extend_from_slice(&piece[..length]),
        }
    }
    let line = answer.split(|&byte| byte == b'\n').next().unwrap_or_default();
    Ok(String::from_utf8_lossy(line).trim_end().to_owned())
}

/// The first of its addresses that takes us.
fn connect(authority: &str, left: &impl Fn() -> io::Result<Duration>) -> io::Result<TcpStream> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for address in resolve(authority, left)? {
        match TcpStream::connect_timeout(&address, left()?) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// The addresses of a host with its port. Names are known to libraries that a static executable must not load: the system's own
/// `getent` asks them.
fn resolve(authority: &str, left: &impl Fn() -> io::Result<Duration>) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = authority.parse() {
        return Ok(vec![address]);
    }
    let (name, port) = authority.rsplit_once(':').ok_or(io::ErrorKind::InvalidInput)?;
    let port = port.parse().map_err(io::Error::other)?;
    if name.starts_with('-') {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let told = said_by(Command::new("getent").args(["ahosts", name]), left)
        .map_err(|e| io::Error::new(e.kind(), format!("getent, which looks up names: {e}")))?;
    let mut found: Vec<SocketAddr> = Vec::new();
    for line in told.lines() {
        let address = line.split_ascii_whitespace().next().and_then(|word| word.parse::<IpAddr>().ok());
        // Each is told once for each kind of socket.
        let address = address.map(|address| SocketAddr::new(address, port));
        found.extend(address.filter(|address| !found.contains(address)));
    }
    if found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "nobody has that name"));
    }
    Ok(found)
}

/// What a command says, as far as there is time and it matters; then it is ended.
fn said_by(command: &mut Command, left: &impl Fn() -> io::Result<Duration>) -> io::Result<String> {
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut said = Vec::new();
    let mut listen = || {
        let stdout = process.stdout.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        while said.len() < LONGEST_LIST {
            let left_ms = u64::try_from(left()?.as_millis()).unwrap_or(u64::MAX);
            let mut piece = [0; 4_096];
            if poll::readable(&[stdout.as_fd()], Some(left_ms)).contains(&true) {
                match stdout.read(&mut piece)? {
                    0 => break,
                    length => said.extend_from_slice(&piece[..length]),
                }
            }
        }
        Ok(())
    };
    let heard = listen();
    // One that has ended by itself, as it should, has only to be waited for.
    process.kill().and_then(|()| process.wait())?;
    heard.map(|()| String::from_utf8_lossy(&said).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::PoisonError;

    #[test]
    fn a_host_is_found_by_its_address_and_by_its_name() {
        let _alone = crate::place::tree::tests::ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let left = || Ok(Duration::from_secs(10));
        let found = |authority: &str| resolve(authority, &left).unwrap_or_default();
        assert_eq!(found("127.0.0.1:9"), ["127.0.0.1:9".parse().expect("an address")]);
        assert_eq!(found("[::1]:80"), ["[::1]:80".parse().expect("an address")]);
        let local = found("localhost:8080");
        assert!(!local.is_empty() && local.iter().all(|one| one.ip().is_loopback() && one.port() == 8080));
        assert_eq!(
            resolve("no-such-host.invalid:80", &left).map_err(|e| e.kind()),
            Err(io::ErrorKind::NotFound)
        );
        assert!(resolve("-s:80", &left).is_err());
    }

    #[test]
    fn a_lookup_that_hangs_is_ended_and_one_that_says_no_end_of_things_is_not_heard_to_its_end() {
        let _alone = crate::place::tree::tests::ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = std::cell::Cell::new(0);
        let soon_over = || {
            asked.set(asked.get() + 1);
            if asked.get() > 2 { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Duration::from_millis(1)) }
        };
        let hung = said_by(Command::new("sleep").arg("infinity"), &soon_over);
        assert_eq!(hung.map_err(|e| e.kind()), Err(io::ErrorKind::TimedOut));
        let endless = said_by(&mut Command::new("yes"), &|| Ok(Duration::from_secs(10)));
        assert!(endless.is_ok_and(|said| (LONGEST_LIST..2 * LONGEST_LIST).contains(&said.len())));
    }

    #[test]
    fn an_address_is_plain_http_with_a_host_and_nothing_odd() {
        let parsed = |text: &str| Address::parse(text).map(|to| (to.authority, to.path));
        let some = |authority: &str, path: &str| Some((authority.to_owned(), path.to_owned()));
        assert_eq!(parsed("http://127.0.0.1:8080/hook?x=1"), some("127.0.0.1:8080", "/hook?x=1"));
        assert_eq!(parsed("http://box"), some("box:80", "/"));
        assert_eq!(parsed("http://box?x"), some("box:80", "/?x"));
        assert_eq!(parsed("http://[::1]:9"), some("[::1]:9", "/"));
        assert_eq!(parsed("http://[::1]"), some("[::1]:80", "/"));
        let odd =
            ["", "box", "https://box", "http://", "http://:80", "http://box:0", "http://box:x", "http://::1"];
        for text in
            odd.iter().chain(&["http://a b", "http://u:p@box", "http://box/\r\nX: y", "http://box:99999"])
        {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
