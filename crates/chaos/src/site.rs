//! The place of a run: a scratch directory with a home of its own, and abide's command line asked in it, each question
//! with a deadline.

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use abide_sys::{clock, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::judge::Asked;

/// How long any answer may take. A deadline is a failure, never a pace.
const HANGS_AFTER_MS: u64 = 20_000;
const PUPPET: &str = include_str!("run/puppet.sh");

/// Where everything of a run lies.
#[derive(Debug, Clone)]
pub struct Site {
    root: PathBuf,
    exe: PathBuf,
}

/// What a command said.
#[derive(Debug)]
pub struct Said {
    pub asked: Asked,
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    pub hung: bool,
}

impl Site {
    /// Prepares a directory that is there and empty. `exe` is the abide that is asked.
    ///
    /// # Errors
    /// If it cannot be filled.
    pub fn prepare(root: &Path, exe: &Path) -> io::Result<Self> {
        let site = Self { root: root.to_owned(), exe: exe.to_owned() };
        for folder in ["orders", "home"] {
            match DirBuilder::new().mode(0o700).create(root.join(folder)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        File::create(root.join("puppet"))?.write_all(PUPPET.as_bytes())?;
        fifo(&site.reports())?;
        Ok(site)
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    #[must_use]
    pub fn session(&self, id: &str) -> PathBuf {
        self.home().join("sessions").join(id)
    }

    #[must_use]
    pub fn reports(&self) -> PathBuf {
        self.root.join("reports")
    }

    /// The same site, asked through another executable.
    #[must_use]
    pub fn with_exe(&self, exe: &Path) -> Self {
        Self { exe: exe.to_owned(), ..self.clone() }
    }

    #[must_use]
    pub fn exe(&self) -> &Path {
        &self.exe
    }

    /// A command of abide's about our home.
    #[must_use]
    pub fn abide(&self, args: &[&str]) -> Command {
        self.in_the_environment(Command::new(&self.exe), args)
    }

    /// The same behind other words, such as those that make a namespace.
    #[must_use]
    pub fn abide_behind(&self, words: &[&str], args: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(&self.exe);
        self.in_the_environment(command, args)
    }

    fn in_the_environment(&self, mut command: Command, args: &[&str]) -> Command {
        command.args(args).env_clear().env("ABIDE_HOME", self.home()).env("HOME", &self.root);
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin").env("ABIDE_CONFIG", "/dev/null");
        command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC").current_dir(&self.root);
        command
    }

    /// The program of a session, and the FIFO through which it is told what to do.
    ///
    /// # Errors
    /// If the FIFO cannot be made.
    pub fn puppet(&self, tag: u32) -> io::Result<Vec<String>> {
        let orders = self.orders(tag);
        fifo(&orders)?;
        let path = |path: PathBuf| path.to_string_lossy().into_owned();
        // The name of the script is what we know our programs by.
        Ok(vec!["sh".to_owned(), "puppet".to_owned(), tag.to_string(), path(self.reports()), path(orders)])
    }

    #[must_use]
    pub fn orders(&self, tag: u32) -> PathBuf {
        self.root.join("orders").join(tag.to_string())
    }
}

fn fifo(path: &Path) -> io::Result<()> {
    match mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Runs a command to its end.
///
/// # Errors
/// If it cannot be started.
pub fn ask(command: &mut Command) -> io::Result<Said> {
    ask_within(command, HANGS_AFTER_MS)
}

/// The same with another deadline.
///
/// # Errors
/// If it cannot be started.
pub fn ask_within(command: &mut Command, ms: u64) -> io::Result<Said> {
    let call = clock::boot_micros();
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    finish(&mut process, call, ms)
}

/// Reads all that a process says, up to its end; kills it if that takes too long.
///
/// # Errors
/// If it is not ours to wait for.
pub fn finish(process: &mut Child, call: u64, ms: u64) -> io::Result<Said> {
    let deadline = call + ms * 1000;
    let mut said = [Vec::new(), Vec::new()];
    let mut hung = false;
    if let (Some(mut out), Some(mut err)) = (process.stdout.take(), process.stderr.take()) {
        let mut open = [true, true];
        while open != [false, false] && !hung {
            let both = [out.as_fd(), err.as_fd()];
            let fds: Vec<_> =
                both.into_iter().zip(open).filter(|(_, open)| *open).map(|(fd, _)| fd).collect();
            let left = deadline.saturating_sub(clock::boot_micros()) / 1000;
            let mut ready = poll::readable(&fds, Some(left)).into_iter();
            let ready = open.map(|open| open && ready.next().unwrap_or(false));
            if ready[0] {
                open[0] = piece(&mut out, &mut said[0]);
            }
            if ready[1] {
                open[1] = piece(&mut err, &mut said[1]);
            }
            hung = clock::boot_micros() >= deadline && ready == [false, false];
        }
    }
    if hung {
        let _ = process.kill();
    }
    let status = process.wait()?;
    let back = clock::boot_micros();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Said {
        asked: Asked { call, back },
        code: status.code(),
        out: text(&said[0]),
        err: text(&said[1]),
        hung,
    })
}

/// Reads what is there. False at the end.
fn piece(from: &mut impl Read, to: &mut Vec<u8>) -> bool {
    let mut piece = [0; 65_536];
    let length = from.read(&mut piece).unwrap_or(0);
    to.extend_from_slice(&piece[..length]);
    length > 0
}
