//! Another user on the same machine: sees nothing, says nothing to a host, ends nothing, whatever the modes of files are.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use abide_core::evidence::How;
use abide_core::wire::{Message, ToHostFromClient, VERSION};
use abide_testkit::scene::{Scene, dead};
use abide_testkit::{Ran, ScratchDir};
use rustix::process::Uid;

use crate::common::World;

const NOBODY: [&str; 5] = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--"];

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

/// A place where anybody may run our binary, and the binary there.
fn for_all(world: &World) -> (ScratchDir, String) {
    let tools = ScratchDir::new();
    let exe = tools.join("abide");
    let _ = world.abide.copied_to(&exe);
    mode(tools.path(), 0o755);
    let exe = exe.to_str().expect("it is text").to_owned();
    (tools, exe)
}

fn as_nobody(words: &[&str]) -> Ran {
    Ran::of(Command::new("setpriv").args(NOBODY).args(words))
}

/// Whoever is not root cannot be another user, and then there is nothing to ask.
#[test]
fn another_user_can_neither_read_nor_drive_nor_end_a_session_even_where_files_are_open_to_all() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let world = World::new();
    let (_tools, exe) = for_all(&world);
    let life = world.live(&["print secret", "hang"]);
    life.until_shown("secret");
    life.helper("host", None);
    // As an owner might who knows no better. Nobody may write: what others may write to is not trusted at all.
    let (home, dir) = (world.home.path(), world.dir(&life.id));
    for path in [world.home.around().path(), &home, &home.join("sessions"), &dir] {
        mode(path, 0o755);
    }
    mode(&dir.join("socket"), 0o777);
    let home = home.to_str().expect("it is text").to_owned();
    for verb in [
        &["ls", "-a"][..],
        &["inspect", &life.id],
        &["logs", &life.id],
        &["snapshot", &life.id],
        &["search", "secret"],
        &["type", &life.id, "x"],
        &["attach", &life.id],
        &["stop", &life.id],
        &["signal", &life.id, "KILL"],
        &["rm", "--force", &life.id],
        &["wait", "--cap", "1s", &life.id],
        &["doctor", "--fix"],
        &["gc"],
        &["run", "-d", "--", "true"],
    ] {
        let ran = as_nobody(&[&[exe.as_str(), "--home", &home], verb].concat());
        assert!(ran.code().is_some_and(|code| code != 0), "{verb:?}: {ran:?}");
        assert!(!ran.stdout.contains("secret") && !ran.stderr.contains("secret"), "{verb:?}: {ran:?}");
    }
    // Nor does the host say a word to who speaks to it without abide: it hangs up.
    let socket = dir.join("socket");
    let said = std::thread::spawn(move || {
        // What a thread becomes, the others are not.
        let other = Uid::from_raw(65_534);
        rustix::thread::set_thread_res_uid(other, other, other).expect("root may");
        let mut stranger = UnixStream::connect(socket).expect("the socket is open to all");
        let words = [ToHostFromClient::Hello { version: VERSION, client: 1 }, ToHostFromClient::Snapshot];
        let _ = stranger.write_all(&words.iter().flat_map(Message::to_stream).collect::<Vec<u8>>());
        let mut said = Vec::new();
        let _ = stranger.read_to_end(&mut said);
        said
    });
    assert_eq!(said.join().expect("it asked"), b"", "the host answered");
    assert!(life.program.0.lives());
    let session = life.inspect();
    assert_eq!(
        (&session["status"], &session["host"]["generation"]),
        (&"running".into(), &1.into()),
        "{session}"
    );
}

#[test]
fn what_belongs_to_another_user_is_not_believed() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let world = World::new();
    let gone = dead();
    let make = |id: &str| {
        Scene::new(&world.home.path(), id).served(&gone, &gone, &gone).ended(How::Exited { code: 3 })
    };
    let (sound, foreign) = (make("sound000"), make("foreign0"));
    chown(foreign.dir(), Some(65_534), None).expect("root may");
    let told = world.inspect(foreign.id());
    assert_eq!(told["status"], "unknown", "{told}");
    assert_eq!(world.inspect(sound.id())["exit_code"], 3);
    for verb in [&["logs"][..], &["snapshot"], &["rm"], &["stop"], &["rm", "--force"]] {
        let ran = world.abide.run(&[verb, &[foreign.id()]].concat());
        assert!(ran.code().is_some_and(|code| code != 0), "{verb:?}: {ran:?}");
    }
    assert!(foreign.evidence().exists(), "it is not ours to remove");
    chown(world.home.path(), Some(65_534), None).expect("root may");
    for verb in [&["ls"][..], &["run", "-d", "--", "true"], &["doctor", "--fix"], &["gc"]] {
        let ran = world.abide.run(verb);
        assert_eq!(ran.code(), Some(1), "{verb:?}: {ran:?}");
        let all = ran.stdout + &ran.stderr;
        assert!(all.contains("it belongs to uid 65534"), "{verb:?}: {all}");
    }
}
