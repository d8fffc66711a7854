//! Bare owners of a terminal: programs that open one, start a program in it and read what it prints, and nothing else.
//! What abide takes beyond that is what it is held to.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command, ExitCode, Stdio};

use abide_core::evidence::Size;
use abide_sys::poll;
use abide_sys::pty::Pty;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A program in a terminal whose output is read, and perhaps written to a file.
pub struct Bare {
    master: File,
    process: Child,
    pidfd: OwnedFd,
    record: Option<File>,
}

impl Bare {
    pub fn start(command: &[&str], record: Option<File>) -> io::Result<Self> {
        let pty = Pty::open(Size { cols: 80, rows: 24 })?;
        let slave = || pty.slave.try_clone().map(Stdio::from);
        let mut inside = Command::new("/usr/bin/setsid");
        inside.arg("--ctty").args(command).env("TERM", "xterm-256color");
        let process = inside.stdin(slave()?).stdout(slave()?).stderr(slave()?).spawn()?;
        let pidfd = pidfd_open(Pid::from_child(&process), PidfdFlags::empty())?;
        Ok(Self { master: File::from(pty.master), process, pidfd, record })
    }

    /// Reads until the program ends.
    pub fn until_end(&mut self, bytes: &mut [u8]) -> io::Result<u8> {
        loop {
            let ready = poll::readable(&[self.master.as_fd(), self.pidfd.as_fd()], None);
            if ready[0] {
                self.read(bytes)?;
            }
            if ready[1] {
                break;
            }
        }
        let code = self.process.wait()?.code();
        Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }

    /// Its side of whoever types and reads.
    pub fn terminal(&self) -> BorrowedFd<'_> {
        self.master.as_fd()
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        match (self.master.read(bytes), &mut self.record) {
            (Ok(length), Some(record)) => record.write_all(&bytes[..length]),
            // Nobody has the other side any more, or there is nothing yet.
            (Ok(_) | Err(_), _) => Ok(()),
        }
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `bench --own PROGRAM...`: a bare owner as a process of its own, which ends when its program does.
pub fn own(program: &[&str]) -> io::Result<ExitCode> {
    Bare::start(program, None)?.until_end(&mut [0; 4096]).map(ExitCode::from)
}
