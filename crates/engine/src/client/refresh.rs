//! What of a caller's environment is refreshed through a stable path. A program keeps the environment that it was
//! started with, but what a path in it leads to can change: the path is a link of ours in the session's directory,
//! and whoever attaches has it lead to their own socket. Plain values such as DISPLAY cannot be refreshed, nor can
//! what the program was started without.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::store::{SSH_AGENT, SessionDir};

/// The variables, and the links that they name. WAYLAND_DISPLAY and XAUTHORITY are none of them: what uses them puts
/// the first behind a directory and is of no use without a DISPLAY that fits the second.
const REFRESHED: [(&str, &str); 1] = [("SSH_AUTH_SOCK", SSH_AGENT)];
/// The kernel connects to no longer path.
const LONGEST_SOCKET: usize = 107;
/// A chain of links that is longer is a circle.
const LONGEST_CHAIN: usize = 40;

/// Gives a program that is to be started the stable paths in the place of its caller's own. What the caller has not,
/// or set for this program alone, stays as it is.
pub(crate) fn launched(dir: &SessionDir, path: &Path, env: &mut BTreeMap<OsString, OsString>) {
    for (name, link) in REFRESHED {
        let key = OsStr::new(name);
        let Some(own) = own(name).filter(|own| env.get(key).is_some_and(|value| value == own)) else {
            continue;
        };
        let Some(stable) = std::path::absolute(path.join(link)).ok().filter(|path| can_be_connected(path))
        else {
            continue;
        };
        // Without the link the program has what it always had.
        if own.to_str().is_some_and(|own| dir.set_link(link, own).is_ok()) {
            env.insert(key.to_owned(), stable.into());
        }
    }
}

/// Has the stable paths of a session lead to what this process has. Where the program has no such path, or this process
/// no such socket, nothing changes.
pub(crate) fn attached(dir: &SessionDir, path: &Path) {
    for (name, link) in REFRESHED {
        let Ok(Some(before)) = dir.link(link) else {
            continue;
        };
        let stable = path.join(link);
        let own = own(name).filter(|own| is_socket(own) && !leads_to(own, &stable));
        if let Some(own) = own.as_deref().and_then(OsStr::to_str).filter(|own| *own != before) {
            // It leads where it did; the session is attached all the same.
            let _ = dir.set_link(link, own);
        }
    }
}

/// What this process has: an absolute path, or nothing.
fn own(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| Path::new(value).is_absolute())
}

fn can_be_connected(path: &Path) -> bool {
    path.as_os_str().as_bytes().len() <= LONGEST_SOCKET
}

fn is_socket(path: &OsStr) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_socket())
}

/// Whether a path is the stable one, or a link to it: it would lead to itself.
fn leads_to(path: &OsStr, stable: &Path) -> bool {
    let place =
        |path: &Path| Some((std::fs::canonicalize(path.parent()?).ok()?, path.file_name()?.to_owned()));
    let stable = place(stable);
    let mut path = PathBuf::from(path);
    for _ in 0..LONGEST_CHAIN {
        if place(&path) == stable {
            return true;
        }
        let Ok(next) = std::fs::read_link(&path) else {
            return false;
        };
        path = path.parent().unwrap_or(Path::new("/")).join(next);
    }
    true
}
