//! As much of HTTP as agents need of a model: requests with a length or in chunks, answers whole or as a stream.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::{Mood, Stream};

/// A request; a body that is no JSON counts as none.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Value,
}

/// What a line of a request may be long.
const LINE: u64 = 65_536;

/// One connection.
#[derive(Debug)]
pub(crate) struct Client {
    from: BufReader<TcpStream>,
    to: TcpStream,
}

impl Client {
    pub(crate) fn new(connection: TcpStream) -> io::Result<Self> {
        Ok(Self { from: BufReader::new(connection.try_clone()?), to: connection })
    }

    /// The next request; none if there will be no other.
    pub(crate) fn next(&mut self) -> io::Result<Option<Asked>> {
        let first = self.line()?;
        let mut words = first.split(' ').map(str::to_owned);
        let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
        let mut length = 0;
        let mut chunked = false;
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            let value = value.trim().to_ascii_lowercase();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().map_err(io::Error::other)?,
                "transfer-encoding" => chunked = value.contains("chunked"),
                "expect" => self.to.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
                _ => {}
            }
        }
        let body = if chunked { self.chunks()? } else { self.exactly(length)? };
        Ok(Some(Asked { method, path, body: serde_json::from_slice(&body).unwrap_or_default() }))
    }

    /// Answers with a value, and keeps the connection.
    pub(crate) fn give(&mut self, asked: &Asked, body: &Value) -> io::Result<()> {
        let body = body.to_string();
        let shown = if asked.method == "HEAD" { "" } else { &body };
        let length = body.len();
        write!(
            self.to,
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{shown}"
        )
    }

    /// Begins an answer that is as long as the connection.
    pub(crate) fn stream<'a>(&'a mut self, mood: &'a Mood) -> io::Result<Stream<'a>> {
        self.to.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nconnection: close\r\n\r\n",
        )?;
        Ok(Stream::new(&mut self.to, mood))
    }

    /// A line without its end; an empty one also where nothing comes any more.
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.from.by_ref().take(LINE).read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut body = vec![0; length];
        self.from.read_exact(&mut body)?;
        Ok(body)
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let length = line.split(';').next().unwrap_or_default();
            let length = usize::from_str_radix(length.trim(), 16).map_err(io::Error::other)?;
            body.extend(self.exactly(length)?);
            self.line()?;
            if length == 0 {
                return Ok(body);
            }
        }
    }
}
