//! tmux: a server of our own, without settings, warm from the beginning.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use abide_testkit::{Observer, Ran, ScratchDir};

use super::{Peer, command, of};
use crate::place::Place;

pub struct Tmux {
    exe: PathBuf,
    dir: ScratchDir,
}

impl Tmux {
    /// The server, with one session that stays: it would end with the last.
    pub fn start(place: &Place) -> io::Result<Self> {
        let exe = place.peers.path("tmux").ok_or_else(|| io::Error::other("there is no tmux"))?;
        let tmux = Self { exe: exe.to_owned(), dir: ScratchDir::new() };
        tmux.done(&["new-session", "-d", "-s", "base", "-x", "80", "-y", "24", "cat", "-"])?;
        tmux.done(&["set-option", "-g", "status", "off"])?;
        Ok(tmux)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut tmux = command(&self.exe, &self.dir);
        tmux.arg("-S").arg(self.dir.join("socket")).args(["-f", "/dev/null", "-u"]).args(args);
        tmux
    }

    pub fn done(&self, args: &[&str]) -> io::Result<Ran> {
        let ran = Ran::of(&mut self.command(args));
        let failed = || io::Error::other(format!("tmux {args:?}: {ran:?}"));
        if ran.code() == Some(0) { Ok(ran.clone()) } else { Err(failed()) }
    }

    /// Whether the screen of a session shows a text.
    pub fn shows(&self, session: &str, text: &str) -> bool {
        self.done(&["capture-pane", "-p", "-t", session]).is_ok_and(|ran| ran.stdout.contains(text))
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

impl Peer for Tmux {
    fn name(&self) -> &'static str {
        "tmux"
    }

    fn create(&self, session: &str, program: &[&str]) -> Command {
        let words = ["new-session", "-d", "-x", "80", "-y", "24", "-s", session];
        self.command(&[&words, program].concat())
    }

    fn list(&self) -> Command {
        self.command(&["list-sessions"])
    }

    fn keepers(&self) -> Vec<u32> {
        of(&self.dir, &["tmux: server"])
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let server: Vec<Observer> = self.keepers().into_iter().filter_map(Observer::find).collect();
        let _ = self.command(&["kill-server"]).output();
        server.iter().for_each(Observer::await_end);
    }
}
