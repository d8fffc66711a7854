//! shpool: a daemon of our own, without settings.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use abide_testkit::ScratchDir;
use abide_testkit::deadline::until;

use super::{Peer, closed, command, of};

pub struct Shpool {
    exe: PathBuf,
    dir: ScratchDir,
    daemon: Option<Child>,
}

impl Shpool {
    pub fn start(exe: &Path) -> io::Result<Self> {
        let dir = ScratchDir::new();
        closed(&dir, "run")?;
        let mut shpool = Self { exe: exe.to_owned(), dir, daemon: None };
        let mut daemon = shpool.command(&["daemon"]);
        daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        shpool.daemon = Some(daemon.spawn()?);
        until("shpool answers", || shpool.list().output().is_ok_and(|ran| ran.status.success()));
        Ok(shpool)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut shpool = command(&self.exe, &self.dir);
        shpool.env("XDG_RUNTIME_DIR", self.dir.join("run"));
        shpool.arg("--socket").arg(self.dir.join("run/socket")).args(args);
        shpool
    }
}

impl Peer for Shpool {
    fn name(&self) -> &'static str {
        "shpool"
    }

    fn create(&self, session: &str, program: &[&str]) -> Command {
        self.command(&["attach", "--background", "--cmd", &program.join(" "), session])
    }

    fn list(&self) -> Command {
        self.command(&["list"])
    }

    /// Now and then it keeps a session whose program has ended by itself.
    fn gone(&self, session: &str) {
        let _ = self.command(&["kill", session]).output();
    }

    fn keepers(&self) -> Vec<u32> {
        of(&self.dir, &["shpool"])
    }
}

impl Drop for Shpool {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}
