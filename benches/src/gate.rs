//! Gates: a FIFO at which programs wait. Who opens it lets all of them go on at once, and no clock is asked when.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use abide_testkit::deadline::until;
use rustix::fs::{CWD, Mode, OFlags, mkfifoat};

#[derive(Debug)]
pub struct Gate(PathBuf);

impl Gate {
    pub fn new(path: PathBuf) -> io::Result<Self> {
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR)?;
        Ok(Self(path))
    }

    /// The argument by which `cat` waits at it, and ends when it is opened.
    pub fn path(&self) -> String {
        self.0.display().to_string()
    }

    /// Waits until somebody waits at it, and holds it open: who waits in `open` goes on, who reads waits until this is
    /// dropped.
    pub fn held(&self) -> File {
        let mut held = None;
        until("somebody waits at a gate", || {
            held = self.try_open().ok();
            held.is_some()
        });
        held.expect("it was waited for")
    }

    pub fn open(&self) {
        drop(self.held());
    }

    /// Fails if nobody waits.
    fn try_open(&self) -> io::Result<File> {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        OpenOptions::new().write(true).custom_flags(flags).open(&self.0)
    }
}

impl Drop for Gate {
    /// Whoever still waits is let go.
    fn drop(&mut self) {
        drop(self.try_open());
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A gate in a directory.
pub fn gate(dir: &Path, name: &str) -> io::Result<Gate> {
    Gate::new(dir.join(name))
}
