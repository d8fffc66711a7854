//! Runs `sys-drill` here or in namespaces of its own, made by util-linux's `unshare` as root of a user namespace, so
//! that root and ordinary users run the same tests. Where that is not permitted, a test fails and says so.

use std::path::Path;
use std::process::Command;

use crate::running::{Ran, Running};

/// What must be permitted for the tests that need namespaces.
const NEEDS: &str = "needs `unshare` of util-linux 2.36 or later, and the permission to make user namespaces: \
    user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1 where it exists, \
    kernel.apparmor_restrict_unprivileged_userns=0 where it exists or root; in a container also an unmasked /proc \
    (--privileged, or --security-opt systempaths=unconfined with seccomp=unconfined)";

/// The command that runs a program in new namespaces: `flags` are `unshare`'s, `--pid --mount-proc` for example.
#[must_use]
pub fn unshare(flags: &[&str], program: &Path) -> Command {
    let mut command = Command::new("unshare");
    // A new pid or time namespace holds only what is started in it; killing `unshare` must end that too.
    command.args(["--user", "--map-root-user", "--fork", "--kill-child"]).args(flags).arg("--").arg(program);
    command
}

/// The same without a user namespace, so that all users exist in it. Only for root.
#[must_use]
pub fn unshare_as_root(flags: &[&str], program: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--fork", "--kill-child"]).args(flags).arg("--").arg(program);
    command
}

/// Lets `sys-drill` do some steps in new namespaces, and gives the lines it says.
///
/// # Panics
/// If it fails, or namespaces are not permitted: then with what is missing.
#[must_use]
pub fn inside(flags: &[&str], steps: &[&str]) -> Vec<String> {
    lines(unshare(flags, &crate::bin("sys-drill")).args(steps))
}

/// Lets `sys-drill` do some steps in a process of its own.
///
/// # Panics
/// If it fails.
#[must_use]
pub fn drill(steps: &[&str]) -> Vec<String> {
    lines(Command::new(crate::bin("sys-drill")).args(steps))
}

/// Starts `sys-drill` in new namespaces, to be talked to.
///
/// # Panics
/// If namespaces are not permitted: then with what is missing.
#[must_use]
pub fn start_inside(flags: &[&str], steps: &[&str]) -> Running {
    let sys_drill = crate::bin("sys-drill");
    let _ = lines(&mut unshare(flags, &sys_drill));
    Running::start(unshare(flags, &sys_drill).args(steps))
}

/// Starts `sys-drill` in a process of its own, to be talked to.
#[must_use]
pub fn start_drill(steps: &[&str]) -> Running {
    Running::start(Command::new(crate::bin("sys-drill")).args(steps))
}

/// Runs a command that may need namespaces, and gives what it printed on stdout.
///
/// # Panics
/// If it fails: with what it said, and what it needs.
#[must_use]
pub fn lines(command: &mut Command) -> Vec<String> {
    let ran = Ran::of(command);
    assert!(ran.code() == Some(0), "{command:?} failed: {ran:?}\n{NEEDS}");
    ran.stdout.lines().map(str::to_owned).collect()
}
