//! What one guard leaves to the next: all that cannot be read off the session's files.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abide_core::evidence::frame::body_to_line;
use abide_core::identity::Identity;
use abide_core::recording::Kind;
use abide_sys::sock;
use abide_sys::spawn::{self, Image};
use serde::{Deserialize, Serialize};

use super::program::Program;
use super::recorder::Recorder;
use super::{AGAIN, ARGUMENT};

/// What the next guard must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Handover {
    /// How many bytes of output there have been, and how far they are on record.
    pub(crate) position: u64,
    #[serde(default)]
    pub(crate) recorded: u64,
    /// What closes the last frame of the recording, if it was torn.
    #[serde(default)]
    pub(crate) torn: Vec<u8>,
    /// How many entries are on record; a guard that did not number them does not know.
    #[serde(default)]
    pub(crate) entries: Option<u64>,
    /// Queries up to here have been answered.
    pub(crate) answered: u64,
    /// The generation of the host that lives.
    pub(crate) generation: u32,
    /// The last number that was taken of each client.
    pub(crate) taken: Vec<(u64, u64)>,
    /// What was taken and is not all in the terminal yet: whose it is, and how much of it was written.
    #[serde(default)]
    pub(crate) pending: Vec<((u64, u64), Vec<u8>, usize)>,
    /// Clients of a guard that died, who will say again what came after this number; a host leaves that to the spill.
    #[serde(default)]
    pub(crate) owed: Vec<(u64, u64)>,
    /// Whom the guard follows; a host holds that one and does not know its name.
    #[serde(default)]
    pub(crate) program: Option<Identity>,
    /// It is the program's parent, so the kernel tells it how that ends.
    #[serde(default)]
    pub(crate) parent: bool,
    /// The same process became another image, and has written so many facts.
    #[serde(default)]
    pub(crate) facts: Option<u64>,
    /// Hosts that the same process started and has not reaped.
    #[serde(default)]
    pub(crate) hosts: Vec<u32>,
}

/// A descriptor that is handed over, by its name: a guard of another version knows what it is given.
pub(crate) type Named<'a> = (&'a str, BorrowedFd<'a>);

pub(crate) const PARCEL: &str = "parcel";
/// The evidence with the lock of the guard that became this one.
pub(crate) const EVIDENCE: &str = "evidence";
/// The evidence once more, with no lock of anybody's: it goes on also where its name is gone.
pub(crate) const FACTS: &str = "facts";
/// The line to the host that lives, and that host itself; for a host, the one whose place it takes.
pub(crate) const LINE: &str = "line";
pub(crate) const HOST: &str = "host";
pub(crate) const LISTENER: &str = "listener";
pub(crate) const BELL: &str = "bell";
pub(crate) const DIR: &str = "dir";
pub(crate) const WAITERS: &str = "waiters";
pub(crate) const SLAVE: &str = "slave";
pub(crate) const RECORDING: &str = "recording";
pub(crate) const OUTPUT: &str = "output";
pub(crate) const ERRORS: &str = "errors";
pub(crate) const PROGRAM: &str = "program";
pub(crate) const SPILL: &str = "spill";

/// What a host and the next guard must hold too: what waiters wait on, the program and what it writes to; and the recording
/// itself, whatever became of its name.
pub(super) fn held<'a>(
    waiters: Option<&'a File>,
    program: &'a Program,
    recorder: &'a Recorder,
    outputs: &'a [(Kind, File)],
) -> Vec<Named<'a>> {
    let mut held = vec![
        (PROGRAM, program.pidfd.as_fd()),
        (SPILL, recorder.spill().as_fd()),
        (RECORDING, recorder.file()),
    ];
    held.extend(waiters.map(|waiters| (WAITERS, waiters.as_fd())));
    held.extend(outputs.iter().map(|(kind, file)| {
        let name = if *kind == Kind::Errors { ERRORS } else { OUTPUT };
        (name, file.as_fd())
    }));
    held
}

/// The descriptors that a guard or a host was handed.
pub(crate) struct Given(Vec<(String, OwnedFd)>);

impl Given {
    /// Their names are in this argument.
    pub(crate) fn inherited(argument: usize) -> io::Result<Self> {
        let names = std::env::args().nth(argument).unwrap_or_default();
        let names: Vec<String> = names.split(',').map(str::to_owned).collect();
        let fds = spawn::inherited(names.len())?;
        Ok(Self(names.into_iter().zip(fds).collect()))
    }

    /// Takes one of them; none if the one who handed them over knew of no such thing.
    pub(crate) fn take(&mut self, name: &str) -> Option<OwnedFd> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Takes one that every version hands over.
    pub(crate) fn must(&mut self, name: &str) -> io::Result<OwnedFd> {
        self.take(name).ok_or_else(|| io::Error::other(format!("no {name} was handed over")))
    }

    /// One of them, to be used here and handed on; none as for `take`.
    pub(crate) fn copy(&self, name: &str) -> Option<OwnedFd> {
        self.rest().find(|(known, _)| *known == name)?.1.try_clone_to_owned().ok()
    }

    /// Those that were not taken.
    pub(crate) fn rest(&self) -> impl Iterator<Item = Named<'_>> {
        self.0.iter().map(|(name, fd)| (name.as_str(), fd.as_fd()))
    }
}

/// Becomes another image of the guard. Returns only if that failed.
pub(super) fn become_next(handover: &Handover, path: &str, named: &[Named<'_>]) -> io::Error {
    let packed = CString::new(path).map_err(io::Error::from).and_then(|path| pack(handover, path, named));
    match packed {
        Ok((image, parcel)) => spawn::become_image(&image, &all(&parcel, named)),
        Err(error) => error,
    }
}

/// The image of the next guard, which is told the names of what it is handed, and what it must know.
fn pack(handover: &Handover, path: CString, named: &[Named<'_>]) -> io::Result<(Image, OwnedFd)> {
    let names = names(std::iter::once(PARCEL).chain(named.iter().map(|(name, _)| *name)))?;
    let image = Image {
        paths: vec![path],
        argv: vec![c"abide".to_owned(), ARGUMENT.to_owned(), names, AGAIN.to_owned()],
        env: Vec::new(),
        cwd: c"/".to_owned(),
    };
    Ok((image, spawn::parcel(&body_to_line(handover)?)?))
}

/// Their names as one argument.
pub(crate) fn names<'a>(names: impl Iterator<Item = &'a str>) -> io::Result<CString> {
    Ok(CString::new(names.collect::<Vec<_>>().join(","))?)
}

fn all<'a>(parcel: &'a OwnedFd, named: &[Named<'a>]) -> Vec<BorrowedFd<'a>> {
    std::iter::once(parcel.as_fd()).chain(named.iter().map(|(_, fd)| *fd)).collect()
}

/// Starts the next guard and returns the line to it.
pub(crate) fn start_again(handover: &Handover, given: &[Named<'_>]) -> io::Result<OwnedFd> {
    let (ours, theirs) = sock::line()?;
    let named = [&[(LINE, theirs.as_fd())], given].concat();
    let (image, parcel) = pack(handover, c"/proc/self/exe".to_owned(), &named)?;
    spawn::detached(&image, &all(&parcel, &named))?;
    Ok(ours)
}
