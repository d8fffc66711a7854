//! A terminal of a test's own, and a program that runs in it as in any other: with it as controlling terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};

use abide_core::evidence::Size;
use abide_core::screen::{Screen, Told};
use abide_sys::clock;
use abide_sys::drill::with_defaults;
use abide_sys::poll::{self, Interest};
use abide_sys::pty::{self, Pty};

use crate::deadline::Deadline;
use crate::observer::{Ending, Observer};

/// A program in a terminal. Both are gone when this is dropped.
#[derive(Debug)]
pub struct Terminal {
    process: Child,
    observer: Observer,
    master: Option<File>,
    shown: Shown,
    ended: Option<Ending>,
}

/// What was shown: what was not passed over yet, and what it looks like.
#[derive(Debug)]
struct Shown {
    bytes: Vec<u8>,
    screen: Screen,
    /// What the program asks its terminal is answered.
    answers: bool,
}

impl Terminal {
    /// Starts a program in a new terminal of 80 by 24.
    #[must_use]
    pub fn start(command: &Command) -> Self {
        Self::of_size(Size { cols: 80, rows: 24 }, command)
    }

    /// Starts a program in a new terminal of this size.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn of_size(size: Size, command: &Command) -> Self {
        let pty = Pty::open(size).expect("there are terminals");
        let slave = || pty.slave.try_clone().expect("a descriptor is left");
        // The program itself: `setsid` of util-linux execs it in a session whose terminal is its input.
        let mut inside = Command::new("setsid");
        inside.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(directory) = command.get_current_dir() {
            inside.current_dir(directory);
        }
        inside.stdin(slave()).stdout(slave()).stderr(slave());
        let process = with_defaults(&mut inside)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let observer = Observer::of(process.id());
        let shown = Shown { bytes: Vec::new(), screen: Screen::new(size, 100), answers: false };
        Self { process, observer, master: Some(File::from(pty.master)), shown, ended: None }
    }

    /// From now on what the program asks its terminal is answered.
    #[must_use]
    pub const fn answering(mut self) -> Self {
        self.shown.answers = true;
        self
    }

    /// Reads what is shown within so many ms, as a terminal does that somebody looks at.
    ///
    /// # Panics
    /// If it is closed.
    pub fn read_for(&mut self, ms: u64) {
        let until = clock::now().boot.saturating_add(ms);
        let master = self.master.as_mut().expect("the terminal is open");
        loop {
            let left = until.saturating_sub(clock::now().boot);
            let ready = poll::readable(&[master.as_fd()], Some(left));
            if left == 0 || !ready[0] || !read_some(master, &mut self.shown) {
                return;
            }
        }
    }

    /// Gives it another size, as when its window is dragged.
    ///
    /// # Panics
    /// If it is closed.
    pub fn resize(&mut self, size: Size) {
        let master = self.master.as_ref().expect("the terminal is open");
        pty::resize(master, size).expect("it is a terminal");
        self.shown.screen.resize(size);
    }

    /// What it looks like, as far as it was read.
    #[must_use]
    pub const fn screen(&self) -> &Screen {
        &self.shown.screen
    }

    /// Waits until it looks like this.
    ///
    /// # Panics
    /// If it never does.
    pub fn until_screen(&mut self, what: &str, mut is_so: impl FnMut(&Screen) -> bool) {
        let deadline = Deadline::start();
        while !is_so(&self.shown.screen) {
            let master = self.master.as_mut().expect("the terminal is open");
            let more = deadline.readable(master.as_fd()) && read_some(master, &mut self.shown);
            assert!(more, "never {what}, but:\n{}", self.shown.screen.live().text());
        }
    }

    /// Who knows the truth about the program.
    #[must_use]
    pub const fn observer(&self) -> &Observer {
        &self.observer
    }

    /// Waits until a text is shown, and gives what was shown up to it.
    ///
    /// # Panics
    /// If it never is.
    pub fn until(&mut self, text: &str) -> String {
        let deadline = Deadline::start();
        loop {
            let shown = &mut self.shown.bytes;
            if let Some(at) = shown.windows(text.len()).position(|bytes| bytes == text.as_bytes()) {
                let passed: Vec<u8> = shown.drain(..at + text.len()).collect();
                return String::from_utf8_lossy(&passed).into_owned();
            }
            let master = self.master.as_mut().expect("the terminal is open");
            let more = deadline.readable(master.as_fd()) && read_some(master, &mut self.shown);
            assert!(more, "never showed {text:?}, only {:?}", String::from_utf8_lossy(&self.shown.bytes));
        }
    }

    /// Waits until something is shown, without reading it.
    ///
    /// # Panics
    /// If nothing ever is.
    pub fn until_unread(&self) {
        let master = self.master.as_ref().expect("the terminal is open");
        assert!(Deadline::start().readable(master.as_fd()), "nothing is shown");
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
        String::from_utf8_lossy(&std::mem::take(&mut self.shown.bytes)).into_owned()
    }

    /// Waits for the program's end, reads the last that it showed, and reaps it.
    ///
    /// # Panics
    /// If it does not end.
    pub fn reap(&mut self) -> Ending {
        if let Some(ended) = self.ended {
            return ended;
        }
        let deadline = Deadline::start();
        // It may wait for us to read; nobody has the other side once it is gone.
        while let Some(master) = &mut self.master
            && deadline.readable(master.as_fd())
            && read_some(master, &mut self.shown)
        {}
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
fn read_some(master: &mut File, to: &mut Shown) -> bool {
    let mut piece = [0; 4096];
    match master.read(&mut piece) {
        Ok(length) => {
            to.bytes.extend_from_slice(&piece[..length]);
            for notice in to.screen.feed(&piece[..length]) {
                if let (Told::Answer(answer), true) = (notice.what, to.answers) {
                    // A program that is gone asks nothing any more.
                    let _ = master.write_all(&answer);
                }
            }
            length > 0
        }
        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
    }
}
