//! Programs that tests and figures run and a machine may lack: installed where that needs nobody's word, else named. A test
//! that lacks one fails; it never passes without having asked anything.

use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::Abide;

/// The program of this name, for a test that cannot do without it.
///
/// # Panics
/// As `needed` fails.
#[track_caller]
pub fn need(program: &str) -> &str {
    needed(&[program]).unwrap_or_else(|missing| panic!("{missing}"));
    program
}

/// Sees to it that these programs are on this machine.
///
/// # Errors
/// If one is not and cannot be installed: which, and how to get it.
pub fn needed(programs: &[&str]) -> io::Result<()> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _alone = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let missing: Vec<&str> = programs.iter().copied().filter(|program| !is_installed(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> =
        missing.iter().map(|&program| if program == "top" { "procps" } else { program }).collect();
    if rustix::process::geteuid().is_root() && is_installed("apt-get") {
        let _ = install(&packages) || (apt(&["update"]) && install(&packages));
    }
    if missing.iter().all(|program| is_installed(program)) {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "not installed in {}: {} (apt-get install {})",
        Abide::PATH,
        missing.join(", "),
        packages.join(" ")
    )))
}

fn is_installed(program: &str) -> bool {
    Abide::PATH
        .split(':')
        .any(|folder| Path::new(folder).join(program).metadata().is_ok_and(|it| it.is_file()))
}

fn install(packages: &[&str]) -> bool {
    apt(&[&["install", "--yes", "--no-install-recommends"], packages].concat())
}

/// Asks nothing, and waits for whoever installs something at the same time.
fn apt(args: &[&str]) -> bool {
    let mut command = Command::new("apt-get");
    command.args(["--quiet", "-o", "DPkg::Lock::Timeout=300"]).args(args);
    command.env("DEBIAN_FRONTEND", "noninteractive").output().is_ok_and(|ran| ran.status.success())
}
