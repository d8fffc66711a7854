//! GNU screen: a process a session, without settings.

use std::path::PathBuf;
use std::process::Command;

use abide_testkit::ScratchDir;

use super::{Peer, closed, command, of};
use crate::place::Place;

pub struct Screen {
    exe: PathBuf,
    dir: ScratchDir,
    sockets: PathBuf,
}

impl Screen {
    /// None where there is none.
    pub fn new(place: &Place) -> Option<Self> {
        let exe = place.peers.path("screen")?.to_owned();
        let dir = ScratchDir::new();
        let sockets = closed(&dir, "sockets").ok()?;
        Some(Self { exe, dir, sockets })
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut screen = command(&self.exe, &self.dir);
        screen.env("SCREENDIR", &self.sockets).args(["-c", "/dev/null", "-U"]).args(args);
        screen
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

impl Peer for Screen {
    fn name(&self) -> &'static str {
        "screen"
    }

    fn create(&self, session: &str, program: &[&str]) -> Command {
        self.command(&[&["-d", "-m", "-S", session], program].concat())
    }

    fn list(&self) -> Command {
        self.command(&["-ls"])
    }

    fn keepers(&self) -> Vec<u32> {
        of(&self.dir, &["screen"])
    }
}
