//! Walls around a run: namespaces of its own, so that nothing of it reaches the rest of the machine, everything in it ends
//! with it, and faults can be done that need root there. Where they are not permitted, the run goes without.

use std::path::Path;
use std::process::{Command, Stdio};

/// How much room the home has.
const ROOM: &str = "size=96m,mode=700";
/// The first process in a pid namespace must outlive the others and reap them: a shell does.
const FIRST: &str = "mount -t tmpfs -o \"$1\" none \"$2\" || exit 125; shift 2; \"$@\"; exit $?";

/// The words of util-linux's `unshare` that make namespaces, as root of a user namespace or as root.
const WAYS: [&[&str]; 2] = [&["--user", "--map-root-user"], &[]];
const NAMESPACES: [&str; 5] = ["--fork", "--kill-child", "--pid", "--mount", "--mount-proc"];

/// A way to make walls that is permitted here.
#[derive(Debug, Clone, Copy)]
pub struct Walls(&'static [&'static str]);

impl Walls {
    /// Looks for one; else says why there is none.
    ///
    /// # Errors
    /// What `unshare` says.
    pub fn find(scratch: &Path) -> Result<Self, String> {
        let mut said = String::new();
        for way in WAYS {
            let walls = Self(way);
            let tried = walls.around(scratch, Path::new("true")).stdin(Stdio::null()).output();
            match tried {
                Ok(output) if output.status.success() => return Ok(walls),
                Ok(output) => said = String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                Err(error) => return Err(format!("unshare: {error}")),
            }
        }
        Err(said)
    }

    /// The command that runs a program within walls, with a file system of its own at `home`.
    #[must_use]
    pub fn around(self, home: &Path, program: &Path) -> Command {
        let mut command = Command::new("unshare");
        command
            .args(self.0)
            .args(NAMESPACES)
            .args(["--", "sh", "-c", FIRST, "sh", ROOM])
            .arg(home)
            .arg(program);
        command
    }
}
