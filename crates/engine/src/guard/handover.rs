//! What one guard leaves to the next: all that cannot be read off the session's files.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abide_core::evidence::frame::body_to_line;
use abide_sys::sock;
use abide_sys::spawn::{self, Image};
use serde::{Deserialize, Serialize};

use super::{AGAIN, ARGUMENT};
use crate::store::SessionDir;

/// What the next guard must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Handover {
    /// How many bytes of output are on record.
    pub(crate) position: u64,
    /// Queries up to here have been answered.
    pub(crate) answered: u64,
    /// The generation of the host that lives.
    pub(crate) generation: u32,
    /// The last number that was taken of each client.
    pub(crate) taken: Vec<(u64, u64)>,
    /// The same process became another image: it is still the program's parent, and has written so many facts.
    #[serde(default)]
    pub(crate) facts: Option<u64>,
    /// Hosts that the same process started and has not reaped.
    #[serde(default)]
    pub(crate) hosts: Vec<u32>,
}

/// Becomes another image of the guard. Returns only if that failed.
pub(super) fn become_next(handover: &Handover, path: &str, fds: &[BorrowedFd<'_>]) -> io::Error {
    let image = |path| Image {
        paths: vec![path],
        argv: vec![c"abide".to_owned(), ARGUMENT.to_owned(), c"-".to_owned(), AGAIN.to_owned()],
        env: Vec::new(),
        cwd: c"/".to_owned(),
    };
    let parcel = body_to_line(handover).map_err(io::Error::from).and_then(|bytes| spawn::parcel(&bytes));
    match (parcel, CString::new(path)) {
        (Ok(parcel), Ok(path)) => {
            let mut all = vec![parcel.as_fd()];
            all.extend_from_slice(fds);
            spawn::become_image(&image(path), &all)
        }
        (Err(error), _) => error,
        (_, Err(error)) => error.into(),
    }
}

/// Starts the next guard and returns the line to it.
pub(crate) fn start_again(
    handover: &Handover,
    [listener, bell]: [&OwnedFd; 2],
    dir: &SessionDir,
    held: &[OwnedFd; 4],
) -> io::Result<OwnedFd> {
    let (ours, theirs) = sock::line()?;
    let parcel = spawn::parcel(&body_to_line(handover)?)?;
    let image = Image {
        paths: vec![c"/proc/self/exe".to_owned()],
        argv: vec![c"abide".to_owned(), ARGUMENT.to_owned(), c"-".to_owned(), AGAIN.to_owned()],
        env: Vec::new(),
        cwd: c"/".to_owned(),
    };
    let mut fds = vec![parcel.as_fd(), theirs.as_fd(), listener.as_fd(), bell.as_fd(), dir.dir().as_fd()];
    fds.extend(held.iter().map(AsFd::as_fd));
    spawn::detached(&image, &fds)?;
    Ok(ours)
}
