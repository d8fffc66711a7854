//! What all these tests share: a home, the binary that is asked about it, and short ways to an answer.

use std::path::{Path, PathBuf};

use abide_core::evidence::Launched;
use abide_core::identity::Identity;
use abide_testkit::namespace::unshare;
use abide_testkit::scene::{Scene, dead, launch};
use abide_testkit::{Abide, Ran, ScratchDir, ScratchHome};
use serde_json::Value;

/// A home, and abide asked about it.
pub(crate) struct Stage {
    pub(crate) home: ScratchHome,
    pub(crate) abide: Abide,
    memory: Option<ScratchDir>,
}

impl Stage {
    /// Asks where the home is mounted so that nobody can write to it.
    pub(crate) fn read_only(&self, args: &[&str]) -> Ran {
        let home = self.path();
        let script = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && exec \"$@\"";
        let mut command = unshare(&["--mount"], Path::new("sh"));
        command.args(["-c", script]).arg(&home).arg(env!("CARGO_BIN_EXE_abide"));
        command.arg("--home").arg(&home).args(args);
        Ran::of(&mut command)
    }

    pub(crate) fn new() -> Self {
        let home = ScratchHome::new();
        let abide = Abide::new(env!("CARGO_BIN_EXE_abide"), &home);
        Self { home, abide, memory: None }
    }

    /// A home that no disk slows down, where there is memory to be had as files.
    pub(crate) fn in_memory() -> Self {
        let (stage, memory) = (Self::new(), ScratchDir::in_memory());
        Self { abide: stage.abide.at(memory.path()), memory: Some(memory), ..stage }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.memory.as_ref().map_or_else(|| self.home.path(), |memory| memory.path().to_owned())
    }

    /// A new session in this home.
    pub(crate) fn scene(&self, id: &str) -> Scene {
        Scene::new(&self.path(), id)
    }

    /// A session whose processes are all dead.
    pub(crate) fn over(&self, id: &str) -> Scene {
        let gone = dead();
        self.scene(id).served(&gone, &gone, &gone)
    }

    /// A session that runs nothing any more and was launched in a particular way.
    pub(crate) fn launched(&self, id: &str, change: impl FnOnce(&mut Launched)) -> Scene {
        let gone = dead();
        let mut launched = launch(id, &gone);
        change(&mut launched);
        self.scene(id).guarded(&gone).launched_as(launched).hosted(&gone).started(&gone)
    }

    /// What `inspect` says of a session.
    pub(crate) fn inspect(&self, id: &str) -> Value {
        data(self.abide.json(&["inspect", id]))
    }

    /// The sessions that `ls -a` lists, by their IDs.
    pub(crate) fn listed(&self) -> Vec<Value> {
        data(self.abide.json(&["ls", "-a"]))["sessions"].as_array().expect("a list").clone()
    }

    /// What `why` names as the rule.
    pub(crate) fn rule(&self, id: &str) -> String {
        word(&data(self.abide.json(&["why", id]))["rule"])
    }

    /// The text of a command that succeeds and complains of nothing.
    pub(crate) fn text(&self, args: &[&str]) -> String {
        let ran = self.abide.run(args);
        assert_eq!((ran.code(), complaints(&ran).as_str()), (Some(0), ""), "{args:?}: {ran:?}");
        ran.stdout
    }

    /// All that a command that succeeds says.
    pub(crate) fn text_and_errors(&self, args: &[&str]) -> String {
        let ran = self.abide.run(args);
        assert_eq!(ran.code(), Some(0), "{args:?}: {ran:?}");
        ran.stdout + &ran.stderr
    }
}

/// What a command complains of. A machine that is busy may not show its agents in time, and is right to say so.
pub(crate) fn complaints(ran: &Ran) -> String {
    ran.stderr.lines().filter(|line| !line.ends_with(" did not answer in time")).collect()
}

/// The data of an answer that is one.
pub(crate) fn data(mut answer: Value) -> Value {
    assert_eq!((&answer["schema"], &answer["ok"]), (&Value::from("abide/1"), &Value::from(true)), "{answer}");
    answer["data"].take()
}

pub(crate) fn word(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no word: {value}")).to_owned()
}

/// All that a proof says, in one text.
pub(crate) fn proof(session: &Value) -> String {
    let grounds = session["because"].as_array().expect("a proof");
    grounds.iter().map(|ground| word(&ground["says"]) + "\n").collect()
}

/// The same identity for guard, host and program is enough where all that matters is that they are dead.
pub(crate) fn served(scene: Scene, everyone: &Identity) -> Scene {
    scene.served(everyone, everyone, everyone)
}
