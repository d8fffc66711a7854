//! pueue: tasks on pipes, kept by a daemon of our own that runs all of them at once.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use abide_testkit::ScratchDir;
use abide_testkit::deadline::until;

use super::{Peer, closed, command, of};

pub struct Pueue {
    exe: PathBuf,
    dir: ScratchDir,
    daemon: Option<Child>,
}

impl Pueue {
    pub fn start(exe: &Path) -> io::Result<Self> {
        let dir = ScratchDir::new();
        let run = closed(&dir, "run")?;
        let settings = format!(
            "shared:\n  pueue_directory: {0}\n  runtime_directory: {0}\n  use_unix_socket: true\n\
             client: {{}}\ndaemon: {{}}\n",
            run.display()
        );
        let _ = dir.file("pueue.yml", &settings);
        let mut pueue = Self { exe: exe.to_owned(), dir, daemon: None };
        let mut daemon = pueue.command(&exe.with_file_name("pueued"), &[]);
        daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        pueue.daemon = Some(daemon.spawn()?);
        let mut parallel = pueue.command(exe, &["parallel", "0"]);
        until("pueue answers", || parallel.output().is_ok_and(|ran| ran.status.success()));
        Ok(pueue)
    }

    fn command(&self, exe: &Path, args: &[&str]) -> Command {
        let mut pueue = command(exe, &self.dir);
        pueue.arg("--config").arg(self.dir.join("pueue.yml")).args(args);
        pueue
    }
}

impl Peer for Pueue {
    fn name(&self) -> &'static str {
        "pueue"
    }

    fn create(&self, session: &str, program: &[&str]) -> Command {
        self.command(&self.exe, &[&["add", "--label", session, "--"], program].concat())
    }

    fn list(&self) -> Command {
        self.command(&self.exe, &["status", "status=Running"])
    }

    fn keepers(&self) -> Vec<u32> {
        of(&self.dir, &["pueued"])
    }
}

impl Drop for Pueue {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}
