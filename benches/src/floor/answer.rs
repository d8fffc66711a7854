//! One who holds an answer, and one who asks for it and prints it.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;

use abide_testkit::ScratchDir;

use super::relay::pass;

/// Gives the same answer to everyone who asks, for as long as this process lives.
pub struct Answerer(ScratchDir);

impl Answerer {
    pub fn of(answer: String) -> io::Result<Self> {
        let dir = ScratchDir::new();
        let listener = UnixListener::bind(dir.join("socket"))?;
        std::thread::spawn(move || {
            // Who asks and goes away needs no answer.
            listener.incoming().flatten().for_each(|mut client| drop(client.write_all(answer.as_bytes())));
        });
        Ok(Self(dir))
    }

    /// Who asks.
    pub fn asking(&self) -> io::Result<Command> {
        super::command(&["ask", &self.0.join("socket").display().to_string()])
    }
}

pub fn ask(socket: &Path) -> io::Result<()> {
    let (from, out, mut bytes) = (UnixStream::connect(socket)?, io::stdout(), [0; 16384]);
    while pass(from.as_fd(), out.as_fd(), &mut bytes) {}
    Ok(())
}
