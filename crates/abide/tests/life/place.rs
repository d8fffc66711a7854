//! Where sessions live: cgroups of their own where the kernel delegates any, the process tree where it does not, and
//! what is said of a logout. Each test proves one or the other, whatever machine it runs on.

mod strangers;
mod used;

use std::process::Command;

use abide_sys::cgroup::{self, Cgroup};
use abide_testkit::cgroup::{OldMemory, inside, without};
use abide_testkit::deadline::until;
use abide_testkit::observer::Doomed;
use abide_testkit::{Ending, Observer, Ran, Running, ScratchCgroup};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Life, World, agent, data, outcome, pid};

/// Runs a command that launches a session, and gives the session.
fn launched<'a>(world: &'a World, command: &mut Command) -> Life<'a> {
    let ran = Ran::of(command);
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    world.observe(ran.stdout.trim().to_owned())
}

fn run(world: &World, steps: &[&str]) -> Command {
    world.abide.command(&[&["run", "-d", "--", agent().as_str()], steps].concat())
}

/// The cgroup that is on record for a session.
fn recorded(world: &World, id: &str) -> Option<String> {
    world.told(id, "started")[0]["cgroup"].as_str().map(str::to_owned)
}

/// The cgroup that a process is in, as the kernel has it.
fn cgroup_of(pid: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("it lives");
    abide_core::place::Paths::parse(&text).unified
}

/// Whether the kernel lets us make cgroups here.
fn is_delegated() -> bool {
    cgroup::paths().unified.as_deref().and_then(Cgroup::at).is_some_and(|own| own.is_delegated())
}

/// Those that a program said it started, by the word in front.
fn started(world: &World, id: &str, word: &str) -> Vec<Doomed> {
    let shown = world.shown(id);
    let pids = shown.lines().filter_map(|line| line.strip_prefix(word)?.trim().parse().ok());
    pids.map(|pid| Doomed(Observer::of(pid))).collect()
}

#[test]
fn a_program_lives_in_a_cgroup_of_its_own_until_its_end_and_nothing_else_is_moved() {
    let world = World::new();
    let scratch = ScratchCgroup::new();
    let mut command = run(&world, &["trap-exit USR1 7", "print ready", "hang"]);
    if let Some(scratch) = &scratch {
        command = inside(scratch.cgroup(), &command);
    }
    let life = launched(&world, &mut command);
    life.until_shown("ready");
    let (guard, host) = (life.helper("guard", None), life.helper("host", None));
    let around = scratch.as_ref().map(|scratch| scratch.cgroup().path().to_owned());
    let own = around.as_ref().map(|around| format!("{around}/abide-{}", life.id));
    assert_eq!(recorded(&world, &life.id), own);
    let here = around.or_else(|| cgroup::paths().unified);
    assert_eq!(cgroup_of(life.program.0.pid()), own.clone().or_else(|| here.clone()));
    assert_eq!([&guard, &host].map(|helper| cgroup_of(helper.pid())), [here.clone(), here]);
    life.program.0.signal(Signal::USR1);
    assert_eq!(world.wait(&life.id).0, Some(7));
    guard.await_end();
    assert_eq!(own.as_deref().and_then(Cgroup::at), None, "the cgroup is left behind");
}

#[test]
fn a_cgroup_that_a_removed_session_left_is_cleared_once_it_is_empty_and_old() {
    let Some(scratch) = ScratchCgroup::new() else { return };
    let world = World::new();
    let life = launched(&world, &mut inside(scratch.cgroup(), &run(&world, &["daemon hang", "wait-line"])));
    life.until_shown("\r\n");
    let daemon = started(&world, &life.id, "daemon").remove(0);
    let left = scratch.cgroup().of_session(&life.id);
    life.program.0.signal(Signal::KILL);
    assert_eq!(world.wait(&life.id).0, Some(137));
    assert_eq!(world.abide.run(&["rm", &life.id]).code(), Some(0));
    let clear = |command: &[&str]| {
        let ran = Ran::of(&mut inside(scratch.cgroup(), &world.abide.command(command)));
        assert_eq!(ran.code(), Some(0), "{ran:?}");
    };
    let make_old = || {
        let [then, never] = [1_000_000_000, 0].map(|tv_sec| Timespec { tv_sec, tv_nsec: 0 });
        let times = Timestamps { last_access: never, last_modification: then };
        utimensat(CWD, left.dir(), &times, AtFlags::empty()).expect("it is there");
    };
    make_old();
    clear(&["gc"]);
    assert!(left.exists() && daemon.0.lives(), "somebody lived in it");
    daemon.0.signal(Signal::KILL);
    assert!(left.changes().expect("it is there").await_empty(10_000));
    clear(&["gc", "--dry-run"]);
    assert!(left.exists(), "a dry run removes nothing");
    clear(&["doctor", "--fix"]);
    assert!(!left.exists(), "it is left for good");
    left.make().expect("it is gone");
    clear(&["gc"]);
    assert!(left.exists(), "a session may be about to start in it");
    left.remove().expect("it is empty");
}

/// A session with processes that no tree connects with it, once its guard was killed and another took over.
fn taken_over<'a>(world: &'a World, command: &mut Command) -> (Life<'a>, Vec<Doomed>) {
    let life = launched(world, command);
    until("all are started", || world.shown(&life.id).matches("here").count() == 4);
    let hidden = [started(world, &life.id, "daemon"), started(world, &life.id, "forked")];
    life.replace("guard");
    (life, hidden.into_iter().flatten().collect())
}

const HIDING: [&str; 6] = [
    "daemon ignore TERM HUP ; print here ; hang",
    "daemon print here ; hang",
    "fork ignore TERM HUP ; print here ; hang",
    "fork print here ; hang",
    "print ready",
    "hang",
];

fn lives(hidden: &[Doomed]) -> usize {
    hidden.iter().filter(|one| one.0.lives()).count()
}

// TRUTH 14
#[test]
fn a_stop_by_the_next_guard_ends_also_whom_no_tree_connects_with_it() {
    let world = World::new();
    for command in [run(&world, &HIDING), without(&run(&world, &HIDING))] {
        let (life, hidden) = taken_over(&world, &mut { command });
        assert_eq!(hidden.len(), 4);
        let guard = life.helper("guard", None);
        let stop = world.abide.run(&["stop", "--json", "--grace", "1s", &life.id]);
        assert_eq!((stop.code(), life.program.0.lives(), lives(&hidden)), (Some(0), false, 0), "{stop:?}");
        guard.await_end();
        assert_eq!(recorded(&world, &life.id).as_deref().and_then(Cgroup::at), None);
    }
}

#[test]
fn whose_descent_nobody_can_prove_is_named_by_a_stop_and_not_touched() {
    let world = World::new();
    let life = launched(&world, &mut without(&run(&world, &["print ready", "hang"])));
    life.until_shown("ready");
    // Started elsewhere with the session's environment, as a service or a timer would be; and one that says nothing of it.
    let mut elsewhere = Running::start(Command::new("cat").env("ABIDE_SESSION", &life.id));
    let mut other = Running::start(Command::new("cat").env("ABIDE_SESSION", "another0"));
    let stop = |life: &Life<'_>| {
        let stop = world.abide.run(&["stop", "--json", "--grace", "1s", &life.id]);
        let survivors = stop.json()["data"]["survivors"].take();
        let pids = survivors.as_array().expect("a list").iter().filter_map(|one| one["pid"].as_u64());
        (stop.code(), pids.collect::<Vec<_>>())
    };
    life.replace("guard");
    assert_eq!(stop(&life), (Some(1), vec![u64::from(elsewhere.pid())]));
    let removed = world.abide.run(&["rm", &life.id]);
    assert!(removed.stderr.contains(&format!("live on: {} (cat)", elsewhere.pid())), "{removed:?}");
    assert!(elsewhere.observer().lives() && other.observer().lives());
    // A guard that was there from the beginning knows all of its own.
    let life = launched(&world, &mut without(&run(&world, &["print ready", "hang"])));
    life.until_shown("ready");
    let mut again = Running::start(Command::new("cat").env("ABIDE_SESSION", &life.id));
    assert_eq!(stop(&life), (Some(0), Vec::new()));
    for one in [&mut elsewhere, &mut other, &mut again] {
        one.signal(Signal::KILL);
        one.reap();
    }
}

// TRUTH 15
#[test]
fn what_outlives_its_program_is_named_also_by_the_next_guard() {
    let world = World::new();
    let script = ["daemon print here ; hang", "trap-exit USR1 0", "print ready", "hang"];
    for command in [run(&world, &script), without(&run(&world, &script))] {
        let life = launched(&world, &mut { command });
        life.until_shown("ready");
        life.until_shown("here");
        let daemon = started(&world, &life.id, "daemon").remove(0);
        life.replace("guard");
        life.program.0.signal(Signal::USR1);
        let (_, told) = world.wait(&life.id);
        assert_eq!(told["ended"], true, "{told}");
        let session = life.inspect();
        let named = session["survivors"].as_array().expect("a list").iter();
        let named: Vec<u64> = named.filter_map(|survivor| survivor["pid"].as_u64()).collect();
        assert_eq!(named, [u64::from(daemon.0.pid())], "{told}");
        assert!(daemon.0.lives(), "nobody asked for its end");
    }
}

#[test]
fn what_a_guard_that_was_killed_over_a_stop_left_is_ended_by_whoever_asked_for_it() {
    let world = World::new();
    let script = ["daemon ignore TERM HUP ; print here ; hang", "print ready", "hang"];
    let life = launched(&world, &mut without(&run(&world, &script)));
    life.until_shown("ready");
    life.until_shown("here");
    let daemon = started(&world, &life.id, "daemon").remove(0);
    let guard = life.helper("guard", None);
    let mut stop = world.start(&["stop", "--grace", "1s", &life.id]);
    life.program.0.await_end();
    until("the end is on record", || life.inspect()["status"] == "exited");
    guard.signal(Signal::KILL);
    guard.await_end();
    assert_eq!((stop.reap(), daemon.0.lives()), (Ending::Exited(0), false));
}

// TRUTH 7
#[test]
fn an_unattended_session_is_stopped_with_all_that_is_left_of_it() {
    let world = World::new();
    let life = world.live(&[&["ignore HUP"], &HIDING[..]].concat());
    until("all are started", || world.shown(&life.id).matches("here").count() == 4);
    let hidden: Vec<Doomed> =
        ["daemon", "forked"].into_iter().flat_map(|word| started(&world, &life.id, word)).collect();
    life.helper("host", None);
    life.kill_helpers();
    assert_eq!(life.inspect()["status"], "unattended");
    let stop = world.abide.run(&["stop", "--json", "--grace", "1s", &life.id]);
    assert_eq!((stop.code(), life.program.0.lives(), lives(&hidden)), (Some(0), false, 0), "{stop:?}");
    assert_eq!(recorded(&world, &life.id).as_deref().and_then(Cgroup::at), None);
}

#[test]
fn nobody_escapes_the_kill_by_forking_faster_than_they_are_listed() {
    let world = World::new();
    // Each starts the next and ends; without the file they end by themselves.
    let go = world.home.around().file("go", "");
    let chain =
        world.home.around().file("chain", "trap '' TERM HUP\n[ -e \"$1\" ] || exit\nsh \"$0\" \"$1\" &\n");
    let (go, chain) = (go.to_str().unwrap(), chain.to_str().unwrap());
    let script = "sh \"$0\" \"$1\" & exec \"$2\" 'print ready' hang";
    let id = world.launch(&[], &["sh", "-c", script, chain, go, &agent()]);
    let life = world.observe(id);
    life.until_shown("ready");
    let guard = life.helper("guard", None);
    let stop = world.abide.run(&["stop", "--json", "--grace", "1s", &life.id]);
    assert!(!life.program.0.lives(), "{stop:?}");
    guard.await_end();
    let cgroup = recorded(&world, &life.id);
    let populated = cgroup.as_deref().and_then(Cgroup::at);
    std::fs::remove_file(go).expect("it is there");
    assert_eq!((cgroup.is_some(), populated), (is_delegated(), None), "some live on");
}

#[test]
fn a_session_within_a_session_is_spared_when_the_outer_one_is_stopped() {
    let world = World::new();
    let abide = env!("CARGO_BIN_EXE_abide");
    let script = "\"$0\" run -d --name inner -- \"$1\" 'print ready' hang; exec \"$1\" 'print ready' hang";
    let outer = world.observe(world.launch(&["--name", "outer"], &["sh", "-c", script, abide, &agent()]));
    outer.until_shown("ready");
    let inner = world.observe(world.inspect("inner")["id"].as_str().expect("an ID").to_owned());
    inner.until_shown("ready");
    let (before, within) = (recorded(&world, &outer.id), recorded(&world, &inner.id));
    assert_eq!(within, before.as_ref().map(|around| format!("{around}/abide-{}", inner.id)));
    let helpers = [inner.helper("guard", None), inner.helper("host", None)];
    // Also by a guard that took over, who knows them by the cgroup alone.
    outer.replace("guard");
    let stop = world.abide.run(&["stop", "--json", "--grace", "1s", &outer.id]);
    assert_eq!((stop.code(), outer.program.0.lives()), (Some(0), false), "{stop:?}");
    assert_eq!(stop.json()["data"]["survivors"], Value::Array(Vec::new()), "{stop:?}");
    assert!(inner.program.0.lives() && helpers.iter().all(Observer::lives));
    assert_eq!(inner.inspect()["status"], "running");
    assert_eq!(world.abide.run(&["stop", "--grace", "1s", &inner.id]).code(), Some(0));
    helpers.iter().for_each(Observer::await_end);
    assert_eq!(within.as_deref().and_then(Cgroup::at), None);
    assert_eq!(world.abide.run(&["rm", &outer.id]).code(), Some(0));
    assert_eq!(before.as_deref().and_then(Cgroup::at), None, "nobody is left in it");
}

/// A session that ended while somebody lived on in its cgroup, who is gone by now.
fn leaves_a_cgroup(world: &World) -> (String, Option<String>) {
    let life = world.live(&["daemon print here ; hang", "trap-exit USR1 0", "print ready", "hang"]);
    life.until_shown("ready");
    life.until_shown("here");
    let guard = life.helper("guard", None);
    let daemon = started(world, &life.id, "daemon").remove(0);
    life.program.0.signal(Signal::USR1);
    assert_eq!(world.wait(&life.id).0, Some(0));
    guard.await_end();
    let cgroup = recorded(world, &life.id);
    let left = |what: &str| world.abide.run(&["doctor"]).stdout.contains(what);
    assert!(!left("empty cgroup"), "somebody lives in it");
    daemon.0.signal(Signal::KILL);
    daemon.0.await_end();
    let populated = |path: &str| Cgroup::at(path).and_then(|cgroup| cgroup.is_populated()) == Some(true);
    until("it has left", || !cgroup.as_deref().is_some_and(populated));
    assert_eq!(left(&format!("! empty cgroup: session {} is over", life.id)), cgroup.is_some());
    (life.id.clone(), cgroup)
}

#[test]
fn an_empty_cgroup_that_was_left_is_told_by_the_doctor_and_removed_by_fix_rm_and_gc() {
    let world = World::new();
    for way in [&["doctor", "--fix"][..], &["rm", "ID"], &["gc", "--keep", "0"]] {
        let (id, cgroup) = leaves_a_cgroup(&world);
        assert_eq!(cgroup.is_some(), is_delegated());
        assert_eq!(cgroup.as_deref().is_some_and(|path| Cgroup::at(path).is_some()), cgroup.is_some());
        let args: Vec<&str> = way.iter().map(|word| if *word == "ID" { &id } else { *word }).collect();
        let ran = world.abide.run(&args);
        assert_eq!(ran.code(), Some(0), "{ran:?}");
        assert_eq!(cgroup.as_deref().and_then(Cgroup::at), None, "{way:?} left it: {ran:?}");
        let mended = ran.stdout.contains(&format!("+ empty cgroup: session {id} is over"));
        assert_eq!(mended, way[0] == "doctor" && cgroup.is_some(), "{ran:?}");
    }
}

#[test]
fn the_cgroup_of_a_lost_session_is_removed_when_it_is_sealed() {
    let world = World::new();
    let life = world.live(&["ignore HUP", "print ready", "hang"]);
    life.until_shown("ready");
    life.helper("host", None);
    life.kill_helpers();
    life.program.0.signal(Signal::KILL);
    life.program.0.await_end();
    let cgroup = recorded(&world, &life.id);
    let populated = |path: &str| Cgroup::at(path).and_then(|cgroup| cgroup.is_populated()) == Some(true);
    until("it has left", || !cgroup.as_deref().is_some_and(populated));
    assert_eq!(cgroup.as_deref().is_some_and(|path| Cgroup::at(path).is_some()), is_delegated());
    let fixed = world.abide.run(&["doctor", "--fix"]);
    assert!(fixed.stdout.contains(&format!("+ seal: session {} sealed", life.id)), "{fixed:?}");
    assert_eq!(cgroup.as_deref().and_then(Cgroup::at), None);
}

#[test]
fn a_launch_that_fails_leaves_no_cgroup() {
    let world = World::new();
    let scratch = ScratchCgroup::new();
    let around = |command: Command| match &scratch {
        Some(scratch) => inside(scratch.cgroup(), &command),
        None => command,
    };
    let ran = Ran::of(&mut around(world.abide.command(&["run", "-d", "--json", "--", "/no/such/program"])));
    assert_eq!((ran.code(), outcome(&data(&ran)).0), (Some(127), "failed"), "{ran:?}");
    let gone = |who| Observer::find(pid(&data(&ran), who)).is_none_or(|helper| !helper.lives());
    until("its guard is gone", || gone("guard"));
    let left = scratch.as_ref().map(|scratch| scratch.cgroup().sessions()).unwrap_or_default();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn without_a_cgroup_everything_works_by_descent_and_the_doctor_says_so() {
    let world = World::new();
    let life = launched(&world, &mut without(&run(&world, &HIDING)));
    until("all are started", || world.shown(&life.id).matches("here").count() == 4);
    assert_eq!(recorded(&world, &life.id), None);
    let hidden =
        [started(&world, &life.id, "daemon"), started(&world, &life.id, "forked")].into_iter().flatten();
    let hidden: Vec<Doomed> = hidden.collect();
    let stop = world.abide.run(&["stop", "--json", "--grace", "1s", &life.id]);
    assert_eq!(
        (stop.code(), &stop.json()["data"]["survivors"]),
        (Some(0), &Value::Array(Vec::new())),
        "{stop:?}"
    );
    assert!(!life.program.0.lives() && hidden.iter().all(|one| !one.0.lives()));
    let doctor = Ran::of(&mut without(&world.abide.command(&["doctor"])));
    assert_eq!(doctor.code(), Some(0), "{doctor:?}");
    assert!(
        doctor.stdout.contains("! cgroup: a program started here has no cgroup of its own"),
        "{doctor:?}"
    );
    let here = world.abide.run(&["doctor"]).stdout;
    assert_eq!(here.contains("✓ cgroup: each program gets one of its own, below "), is_delegated(), "{here}");
}

// TRUTH 59
#[test]
fn a_logout_that_would_end_a_session_is_told_where_it_is_started_and_by_the_doctor() {
    const USER: &str = "nobody-of-this-name";
    let world = World::new();
    let Some(scratch) = ScratchCgroup::new() else {
        // Where we cannot be put into a user's manager, there is nothing to warn of but what is true anyway.
        let told = world.abide.json(&["run", "-d", "--", "true"]);
        let doctor = data(&world.abide.run(&["doctor", "--json"]));
        let logout =
            doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "logout").unwrap();
        assert_eq!(told["warnings"].is_array(), logout["health"] == "weak", "{told} {logout}");
        return;
    };
    let manager = scratch.below("user.slice/user-4000000.slice/user@4000000.service/app.slice");
    let command = |args: &[&str]| {
        let mut command = world.abide.command(args);
        Ran::of(&mut inside(&manager, command.env("USER", USER)))
    };
    let says = format!("a logout will end what is started here: {USER} does not linger");
    let fix = format!("loginctl enable-linger {USER}");
    let ran = command(&["run", "-d", "--", "cat"]);
    assert_eq!(
        (ran.code(), ran.stderr.as_str()),
        (Some(0), format!("abide: warning: {says}; fix: {fix}\n").as_str())
    );
    let life = world.observe(ran.stdout.trim().to_owned());
    assert_eq!(recorded(&world, &life.id), Some(format!("{}/abide-{}", manager.path(), life.id)));
    let json = command(&["run", "-d", "--json", "--", "true"]);
    assert_eq!(
        (&json.json()["warnings"], json.stderr.as_str()),
        (&vec![format!("{says}; fix: {fix}")].into(), ran.stderr.as_str())
    );
    let doctor = command(&["doctor"]);
    assert!(doctor.stdout.contains(&format!("! logout: {says}\n    fix: {fix}\n")), "{doctor:?}");
    // A service of the system is not the login's, and nothing is said.
    let service = scratch.below("system.slice/some.service");
    let ran = Ran::of(&mut inside(&service, &world.abide.command(&["run", "-d", "--json", "--", "true"])));
    assert_eq!(ran.json().get("warnings"), None, "{ran:?}");
}

// TRUTH 37
#[test]
fn a_kill_for_want_of_memory_that_no_cgroup_of_ours_counted_has_no_cause() {
    let world = World::new();
    let (ran, memory) = match OldMemory::new(16 << 20) {
        Some(memory) => {
            let script = "echo $$ > \"$0\" && exec tail /dev/zero";
            let procs = memory.procs();
            let procs = procs.to_str().expect("it is text");
            (world.abide.run(&["run", "--wait", "--json", "--", "sh", "-c", script, procs]), Some(memory))
        }
        None => (world.abide.run(&["run", "--wait", "--json", "--", "sh", "-c", "kill -KILL $$"]), None),
    };
    let told = data(&ran);
    assert_eq!((ran.code(), outcome(&told)), (Some(137), ("exited", None, Some(9))), "{told}");
    assert_eq!(told["outcome"]["cause"], Value::Null, "{told}");
    if let Some(memory) = memory {
        assert_eq!(memory.kills(), Some(1), "it was killed for another reason");
    }
}
