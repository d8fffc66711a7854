//! The kernel's numbers of signals and errors in words for people. Facts and JSON keep the numbers.

use std::fmt;

/// A signal: `SIGTERM (15)`, or `signal 40` where the number has no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal(pub i32);

/// An error of a system call: `ENOENT (no such file or directory)`, or `errno 999`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Signal {
    /// Every signal that has a name.
    pub fn all() -> impl Iterator<Item = Self> {
        SIGNALS.iter().map(|(number, _)| Self(*number))
    }

    /// Its name alone, if it has one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        SIGNALS.iter().find(|(number, _)| *number == self.0).map(|(_, name)| *name)
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "signal {}", self.0),
        }
    }
}

impl Errno {
    /// Its name, if we know it.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        ERRORS.iter().find(|(number, ..)| *number == self.0).map(|(_, name, _)| *name)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ERRORS.iter().find(|(number, ..)| *number == self.0) {
            Some((_, name, says)) => write!(f, "{name} ({says})"),
            None => write!(f, "errno {}", self.0),
        }
    }
}

/// As Linux numbers them on every machine that abide runs on.
const SIGNALS: &[(i32, &str)] = &[
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (10, "SIGUSR1"),
    (11, "SIGSEGV"),
    (12, "SIGUSR2"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
    (16, "SIGSTKFLT"),
    (17, "SIGCHLD"),
    (18, "SIGCONT"),
    (19, "SIGSTOP"),
    (20, "SIGTSTP"),
    (21, "SIGTTIN"),
    (22, "SIGTTOU"),
    (23, "SIGURG"),
    (24, "SIGXCPU"),
    (25, "SIGXFSZ"),
    (26, "SIGVTALRM"),
    (27, "SIGPROF"),
    (28, "SIGWINCH"),
    (29, "SIGIO"),
    (30, "SIGPWR"),
    (31, "SIGSYS"),
];

/// What an exec, and entering a directory before it, can fail with.
const ERRORS: &[(i32, &str, &str)] = &[
    (1, "EPERM", "operation not permitted"),
    (2, "ENOENT", "no such file or directory"),
    (4, "EINTR", "interrupted system call"),
    (5, "EIO", "input/output error"),
    (7, "E2BIG", "argument list too long"),
    (8, "ENOEXEC", "exec format error"),
    (11, "EAGAIN", "resource temporarily unavailable"),
    (12, "ENOMEM", "cannot allocate memory"),
    (13, "EACCES", "permission denied"),
    (14, "EFAULT", "bad address"),
    (16, "EBUSY", "device or resource busy"),
    (20, "ENOTDIR", "not a directory"),
    (21, "EISDIR", "is a directory"),
    (22, "EINVAL", "invalid argument"),
    (23, "ENFILE", "too many open files in system"),
    (24, "EMFILE", "too many open files"),
    (26, "ETXTBSY", "text file busy"),
    (28, "ENOSPC", "no space left on device"),
    (30, "EROFS", "read-only file system"),
    (36, "ENAMETOOLONG", "file name too long"),
    (40, "ELOOP", "too many levels of symbolic links"),
    (80, "ELIBBAD", "accessing a corrupted shared library"),
    (116, "ESTALE", "stale file handle"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_names_where_there_are_any() {
        assert_eq!([15, 9, 40].map(|n| Signal(n).to_string()), ["SIGTERM (15)", "SIGKILL (9)", "signal 40"]);
        let says = [2, 13, 999].map(|n| Errno(n).to_string());
        assert_eq!(says, ["ENOENT (no such file or directory)", "EACCES (permission denied)", "errno 999"]);
    }

    #[test]
    fn the_words_are_the_systems_own() {
        for &(number, name, says) in ERRORS {
            let system = std::io::Error::from_raw_os_error(number).to_string().to_lowercase();
            assert!(system.starts_with(says), "{name}: {system}");
        }
    }
}
