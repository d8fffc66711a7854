//! Whom a stop must not take for one of the session: strangers that know its name, sessions within it, and itself.

use abide_testkit::cgroup::without;
use abide_testkit::deadline::until;
use abide_testkit::observer::Doomed;
use abide_testkit::{Observer, Ran};
use serde_json::{Value, json};

use super::{launched, started};
use crate::common::{Gate, Life, World, agent};

/// A session without a cgroup that runs a script, in which `$0` is abide, `$1` an agent and `$2` what is given.
fn scripted<'a>(world: &'a World, script: &str, given: &str) -> Life<'a> {
    let abide = env!("CARGO_BIN_EXE_abide");
    let command = ["run", "-d", "--", "sh", "-c", script, abide, &agent(), given];
    launched(world, &mut without(&world.abide.command(&command)))
}

fn parent_of(pid: u32) -> u32 {
    abide_sys::probe::Probe::new().parent(pid).expect("it lives")
}

#[test]
fn an_orphan_that_was_given_a_sessions_name_by_hand_is_named_by_its_stop_and_not_touched() {
    let world = World::new();
    // Both within the same namespaces: else the guard may not even look at the stranger.
    let script = "ID=$(\"$0\" run -d -- \"$1\" 'print ready' hang); \
                  ABIDE_SESSION=$ID \"$1\" hang > /dev/null 2>&1 & echo $ID $!";
    let ran = Ran::of(&mut without(&world.bash(script, &[&agent()])));
    let (id, stranger) = ran.stdout.trim().split_once(' ').expect("an ID and a pid");
    let life = world.observe(id.to_owned());
    life.until_shown("ready");
    let stranger = Doomed(Observer::of(stranger.parse().expect("a pid")));
    let guard = life.replace("guard");
    assert_eq!(parent_of(stranger.0.pid()), parent_of(guard.pid()), "it is no orphan like ours");
    let stop = world.abide.run(&["stop", "--json", "--grace", "1s", &life.id]);
    assert_eq!((stop.code(), life.program.0.lives(), stranger.0.lives()), (Some(1), false, true), "{stop:?}");
    assert_eq!(stop.json()["data"]["survivors"][0]["pid"], stranger.0.pid(), "{stop:?}");
}

#[test]
fn a_session_within_a_session_is_spared_also_once_its_program_fell_to_the_outer_guard() {
    let world = World::new();
    let script = "\"$0\" run -d --name inner -- \"$1\" 'daemon print here ; hang' 'print ready' hang; \
                  exec \"$1\" 'print ready' hang";
    let outer = scripted(&world, script, "");
    outer.until_shown("ready");
    let inner = world.observe(world.inspect("inner")["id"].as_str().expect("an ID").to_owned());
    inner.until_shown("ready");
    inner.until_shown("here");
    let daemon = started(&world, &inner.id, "daemon").remove(0);
    inner.replace("guard");
    let above = outer.helper("guard", None).pid();
    assert_eq!([&inner.program, &daemon].map(|one| parent_of(one.0.pid())), [above; 2]);
    let stop = world.abide.run(&["stop", "--json", "--grace", "1s", &outer.id]);
    assert_eq!((stop.code(), outer.program.0.lives()), (Some(0), false), "{stop:?}");
    assert_eq!(stop.json()["data"]["survivors"], Value::Array(Vec::new()), "{stop:?}");
    assert!(inner.program.0.lives() && daemon.0.lives());
    assert_eq!(inner.inspect()["status"], "running");
    assert_eq!(world.abide.run(&["stop", "--grace", "1s", &inner.id]).code(), Some(0));
    assert!(!daemon.0.lives(), "the inner one knows its own");
}

#[test]
fn a_stop_from_within_an_unattended_session_lives_to_record_it_and_names_everyone_once() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    let script = "trap '' HUP; \"$1\" hang & echo forked $!; echo ready; read go < \"$2\"; \
                  \"$0\" stop --grace 1s \"$ABIDE_SESSION\" > /dev/null 2>&1; :";
    let life = scripted(&world, script, &world.beside("gate"));
    life.until_shown("ready");
    let forked = started(&world, &life.id, "forked").remove(0);
    life.kill_helpers();
    assert!(forked.0.lives() && life.program.0.lives());
    gate.open();
    until("it is sealed", || !world.told(&life.id, "sealed").is_empty());
    assert!(!forked.0.lives() && !life.program.0.lives());
    let killed = world.told(&life.id, "signalled").pop().expect("it was recorded first");
    assert_eq!(killed["pids"], json!([forked.0.pid()]), "{killed}");
}
