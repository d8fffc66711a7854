//! dtach, and abduco, which is asked likewise: a process a session, and no server. dtach lists nothing: `ls` of its
//! sockets does.

use std::path::{Path, PathBuf};
use std::process::Command;

use abide_testkit::ScratchDir;

use super::{Peer, command, of};

pub struct Dtach {
    name: &'static str,
    exe: PathBuf,
    dir: ScratchDir,
}

impl Dtach {
    pub fn new(name: &'static str, exe: &Path) -> Self {
        Self { name, exe: exe.to_owned(), dir: ScratchDir::new() }
    }
}

impl Peer for Dtach {
    fn name(&self) -> &'static str {
        self.name
    }

    fn create(&self, session: &str, program: &[&str]) -> Command {
        let mut create = command(&self.exe, &self.dir);
        create.env("ABDUCO_SOCKET_DIR", self.dir.path()).arg("-n").arg(session).args(program);
        create
    }

    fn list(&self) -> Command {
        if self.name == "abduco" {
            let mut list = command(&self.exe, &self.dir);
            list.env("ABDUCO_SOCKET_DIR", self.dir.path());
            return list;
        }
        command("/bin/ls".as_ref(), &self.dir)
    }

    fn keepers(&self) -> Vec<u32> {
        of(&self.dir, &[self.name])
    }
}
