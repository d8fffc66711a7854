//! An answer as it is streamed: pieces of JSON, each with a name where the dialect has names.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use super::Mood;

/// How often a reply that hangs shows that it lives, and looks whether it is to end.
const PING: Duration = Duration::from_millis(500);

/// The rest of a connection.
#[derive(Debug)]
pub(crate) struct Stream<'a> {
    to: &'a mut TcpStream,
    mood: &'a Mood,
}

impl<'a> Stream<'a> {
    pub(super) const fn new(to: &'a mut TcpStream, mood: &'a Mood) -> Self {
        Self { to, mood }
    }

    /// A piece that is named by its own `type`.
    pub(crate) fn named(&mut self, piece: &Value) -> io::Result<()> {
        let name = piece["type"].as_str().unwrap_or_default();
        self.raw(&format!("event: {name}\ndata: {piece}\n\n"))
    }

    /// A piece without a name.
    pub(crate) fn piece(&mut self, piece: &Value) -> io::Result<()> {
        self.raw(&format!("data: {piece}\n\n"))
    }

    pub(crate) fn raw(&mut self, text: &str) -> io::Result<()> {
        self.to.write_all(text.as_bytes())
    }

    /// Shows a sign of life again and again until the model lets go. Who is gone by then ends it with an error.
    pub(crate) fn hang(&mut self, ping: impl Fn(&mut Self) -> io::Result<()>) -> io::Result<()> {
        self.to.set_read_timeout(Some(PING))?;
        while !self.mood.lets_go() && !self.mood.is_over() {
            ping(self)?;
            match self.to.read(&mut [0]) {
                Ok(0) => return Err(ErrorKind::BrokenPipe.into()),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
