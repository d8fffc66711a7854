//! A terminal of a test's own, and a program that runs in it as in any other: with it as controlling terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};

use abide_core::evidence::Size;
use abide_sys::poll::{self, Interest};
use abide_sys::pty::Pty;

use crate::deadline::Deadline;
use crate::observer::{Ending, Observer};

/// A program in a terminal. Both are gone when this is dropped.
#[derive(Debug)]
pub struct Terminal {
    process: Child,
    observer: Observer,
    master: Option<File>,
    shown: Vec<u8>,
    ended: Option<Ending>,
}

impl Terminal {
    /// Starts a program in a new terminal of 80 by 24.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start(command: &Command) -> Self {
        let pty = Pty::open(Size { cols: 80, rows: 24 }).expect("there are terminals");
        let slave = || pty.slave.try_clone().expect("a descriptor is left");
        // The program itself: `setsid` of util-linux execs it in a session whose terminal is its input.
        let mut inside = Command::new("setsid");
        inside.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inside.stdin(slave()).stdout(slave()).stderr(slave());
        let process = inside.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let observer = Observer::of(process.id());
        Self { process, observer, master: Some(File::from(pty.master)), shown: Vec::new(), ended: None }
    }

    /// Who knows the truth about the program.
    #[must_use]
    pub const fn observer(&self) -> &Observer {
        &self.observer
    }

    /// Waits until a text is shown. What was shown up to it is passed over.
    ///
    /// # Panics
    /// If it never is.
    pub fn until(&mut self, text: &str) {
        let deadline = Deadline::start();
        loop {
            if let Some(at) = self.shown.windows(text.len()).position(|bytes| bytes == text.as_bytes()) {
                self.shown.drain(..at + text.len());
                return;
            }
            let master = self.master.as_mut().expect("the terminal is open");
            let more = deadline.readable(master.as_fd()) && read_some(master, &mut self.shown);
            assert!(more, "never showed {text:?}, only {:?}", String::from_utf8_lossy(&self.shown));
        }
    }

    /// Types, and reads what is shown meanwhile as a terminal does.
    ///
    /// # Panics
    /// If the terminal does not take it.
    pub fn type_in(&mut self, keys: &[u8]) {
        let master = self.master.as_mut().expect("the terminal is open");
        let deadline = Deadline::start();
        let mut typed = 0;
        while typed < keys.len() {
            assert!(!deadline.is_over(), "the terminal takes no keys: {typed} of {}", keys.len());
            let ready = poll::wait(&[Interest { fd: master.as_fd(), read: true, write: true }], Some(1_000));
            if ready[0].read {
                read_some(master, &mut self.shown);
            }
            if ready[0].write {
                typed += master.write(&keys[typed..]).unwrap_or(0);
            }
        }
    }

    /// Closes the terminal, as when its window or its connection is closed.
    pub fn close(&mut self) {
        self.master = None;
    }

    /// Everything that is shown up to the program's end, but for what was passed over.
    ///
    /// # Panics
    /// If it does not end.
    pub fn rest(&mut self) -> String {
        self.reap();
        // What the program wrote last may have to be read yet; behind it comes an error, for nobody else writes.
        let master = self.master.as_mut().expect("the terminal is open");
        let deadline = Deadline::start();
        while deadline.readable(master.as_fd()) && read_some(master, &mut self.shown) {}
        String::from_utf8_lossy(&std::mem::take(&mut self.shown)).into_owned()
    }

    /// Waits for the program's end and reaps it.
    ///
    /// # Panics
    /// If it does not end.
    pub fn reap(&mut self) -> Ending {
        if let Some(ended) = self.ended {
            return ended;
        }
        self.observer.await_end();
        let status = self.process.wait().expect("it is ours to reap");
        let ending = Ending::from_wait_status(status.into_raw());
        self.ended = Some(ending);
        ending
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

/// Reads what is there. False at the end.
fn read_some(master: &mut File, to: &mut Vec<u8>) -> bool {
    let mut piece = [0; 4096];
    match master.read(&mut piece) {
        Ok(length) => {
            to.extend_from_slice(&piece[..length]);
            length > 0
        }
        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
    }
}
