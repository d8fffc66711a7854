//! Sessions that are removed once they are over: by whoever has the code, or by the guard, and never too soon.

use abide_testkit::deadline::until;
use abide_testkit::running::cpu_ticks;
use abide_testkit::scene::{Scene, dead};
use abide_testkit::trace::traced;
use abide_testkit::{Ending, Observer, Ran, Running, Terminal};
use rustix::process::Signal;

use crate::common::{Life, World, agent, observer, outcome, waits};

/// A session that is to be removed, whose program ends with 7 when it is told to.
fn removed_later(world: &World) -> Life<'_> {
    let life = world
        .observe(world.run(&["--rm", "--name", "nightly"], &["trap-exit USR1 7", "print ready", "hang"]));
    life.until_shown("ready");
    life
}

#[test]
fn whoever_waited_for_it_has_its_code_and_nothing_is_left() {
    let world = World::new();
    for options in [&["--wait"][..], &["--no-tty"]] {
        let command = ["--", &agent(), "print done", "exit 4"];
        let ran = world.abide.run(&[&["run", "--rm", "--name", "nightly"], options, &command].concat());
        assert_eq!(ran.code(), Some(4), "{ran:?}");
        assert_eq!(world.in_sessions(), [""; 0], "after {options:?}");
        assert!(!world.home.path().join("names/nightly").is_symlink(), "its name is kept");
    }
    let failed = world.abide.run(&["run", "-d", "--rm", "--", "/no/such/program"]);
    assert_eq!((failed.code(), world.in_sessions().len()), (Some(127), 0), "{failed:?}");
}

#[test]
fn an_attached_one_is_removed_when_its_end_was_shown_and_goes_on_when_it_is_left() {
    let world = World::new();
    let command = ["run", "--rm", "--name", "nightly", "--", &agent(), "print ready", "wait-line", "exit 6"];
    let mut terminal = Terminal::start(&world.abide.command(&command));
    terminal.until("ready");
    terminal.type_in(b"\r");
    assert_eq!((terminal.reap(), world.in_sessions().len()), (Ending::Exited(6), 0));
    let mut terminal = Terminal::start(&world.abide.command(&command));
    terminal.until("ready");
    let life = world.observe(world.inspect("nightly")["id"].as_str().expect("an ID").to_owned());
    terminal.type_in(b"\x1c\x1c");
    assert_eq!((terminal.reap(), life.inspect()["status"].as_str()), (Ending::Exited(0), Some("running")));
    let guard = life.helper("guard", None);
    life.program.0.signal(Signal::KILL);
    assert_eq!(world.wait(&life.id).0, Some(137));
    guard.await_end();
    assert_eq!(world.in_sessions(), [""; 0]);
}

#[test]
fn a_detached_one_can_still_be_waited_for_and_is_removed_by_its_guard() {
    let world = World::new();
    let id = world.run(&["--rm"], &["exit 6"]);
    let (exit, told) = world.wait(&id);
    assert_eq!((exit, outcome(&told)), (Some(6), ("exited", Some(6), None)), "{told}");
    let guard = observer(&world.inspect(&id), "guard");
    let before = cpu_ticks(guard.pid());
    let other = world.live(&["hang"]);
    assert_eq!(world.abide.run(&["wait", "--cap", "1s", &other.id]).code(), Some(0), "a second passes");
    let used = cpu_ticks(guard.pid()) - before;
    assert!(used < 20, "a guard that lingers used {used} hundredths of a second of one");
    guard.await_end();
    assert_eq!(world.in_sessions(), [&*other.id]);
}

#[test]
fn a_waiter_gets_the_code_of_a_session_that_is_removed_before_it_looks() {
    const MANY: usize = 20;
    let world = World::new();
    let life = removed_later(&world);
    let mut waiters: Vec<Running> = (0..MANY).map(|_| world.start(&["wait", "--json", &life.id])).collect();
    until("all of them wait", || waiters.iter().all(waits));
    waiters.iter().for_each(|waiter| waiter.signal(Signal::STOP));
    waiters.iter().for_each(|waiter| waiter.observer().await_stop());
    let guard = life.helper("guard", None);
    life.program.0.signal(Signal::USR1);
    until("the end is on record", || life.inspect()["status"] == "exited");
    let removed = world.abide.run(&["rm", "nightly"]);
    assert_eq!((removed.code(), world.in_sessions().len()), (Some(0), 0), "{removed:?}");
    // What was ordered is done: the guard has nothing to linger for.
    guard.await_end();
    for waiter in &mut waiters {
        waiter.signal(Signal::CONT);
        let told: serde_json::Value = serde_json::from_str(&waiter.line()).expect("JSON");
        assert_eq!(outcome(&told["data"]), ("exited", Some(7), None), "{told}");
        assert_eq!(waiter.reap(), Ending::Exited(7));
    }
}

#[test]
fn the_guard_that_follows_a_killed_one_removes_it_too() {
    let world = World::new();
    let life = removed_later(&world);
    life.helper("host", None);
    let next = life.replace("guard");
    let mut stop = world.start(&["stop", "--grace", "5s", "--json", &life.id]);
    let told: serde_json::Value = serde_json::from_str(&stop.line()).expect("JSON");
    assert_eq!(outcome(&told["data"]).0, "exited", "{told}");
    assert_eq!(stop.reap(), Ending::Exited(0));
    next.await_end();
    assert_eq!(world.in_sessions(), [""; 0]);
}

#[test]
fn one_whose_guard_was_killed_while_it_lingered_goes_with_the_next_that_keeps_order() {
    let world = World::new();
    let kept = world.run(&[], &["exit 6"]);
    assert_eq!(world.wait(&kept).0, Some(6));
    for order in [&["gc"][..], &["doctor", "--fix"]] {
        let id = world.run(&["--rm", "--name", "nightly"], &["exit 6"]);
        assert_eq!(world.wait(&id).0, Some(6));
        let told = world.inspect(&id);
        let guard = observer(&told, "guard");
        // The guard of what ends at once may have started none.
        let host = told["processes"]["host"]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        host.and_then(Observer::find).inspect(Observer::await_end);
        // Who lingers has ended: that is said of it as of any other.
        let stops = [&id, &kept].map(|id| world.abide.run(&["stop", "--json", id]));
        let said = stops.map(|ran| (ran.code(), ran.json()["error"]["code"].take()));
        assert_eq!(said[0], said[1]);
        guard.signal(Signal::KILL);
        guard.await_end();
        assert_eq!(outcome(&world.inspect(&id)), ("exited", Some(6), None), "it is there until then");
        let done = world.abide.run(order);
        assert_eq!((done.code(), world.in_sessions()), (Some(0), vec![kept.clone()]), "{done:?}");
        assert!(!world.home.path().join("names/nightly").is_symlink(), "its name is kept");
    }
}

/// A removal that was killed when it had just begun to take files away.
fn half_removed(world: &World, options: &[&str], id: &str) {
    let kill = ["-e", "trace=unlinkat", "-e", "inject=unlinkat:signal=KILL:when=1"];
    let command = world.abide.command(&[&["rm"], options, &[id]].concat());
    let killed = Ran::of(&mut traced(&command, &kill, &world.home.around().join("calls")));
    assert_eq!(killed.ending, Ending::Signaled { signal: 9, core: false }, "{killed:?}");
    let status = &world.inspect(id)["status"];
    assert_eq!(status, "destroying");
}

#[test]
fn one_whose_removal_was_interrupted_keeps_its_code_and_can_be_removed_to_its_end() {
    let world = World::new();
    for finish in [&["rm", "nightly"][..], &["doctor", "--fix"]] {
        let id = world.run(&["--name", "nightly"], &["print shown", "exit 3"]);
        assert_eq!(world.wait(&id).0, Some(3));
        half_removed(&world, &[], &id);
        let (code, told) = world.wait(&id);
        assert_eq!((code, &told["ended"], &told["status"]), (Some(3), &true.into(), &"destroying".into()));
        let taken = world.abide.run(&["run", "-d", "--name", "nightly", "--", "true"]);
        let hint =
            format!("hint: its removal began and did not end: `abide rm {id}` or `abide doctor --fix`");
        assert!(taken.code() == Some(6) && taken.stderr.contains(&hint), "{taken:?}");
        assert_eq!(world.abide.run(finish).code(), Some(0));
        assert_eq!(world.in_sessions(), [""; 0], "after {finish:?}");
    }
}

#[test]
fn one_that_was_being_removed_without_an_end_is_not_waited_for() {
    let world = World::new();
    let id = "unknown0";
    let scene = Scene::new(&world.home.path(), id).served(&dead(), &dead(), &dead());
    let scene = scene.bytes_added(b"\nnoise\n");
    std::fs::File::create(scene.dir().join("recording")).expect("there is room");
    half_removed(&world, &["--force"], id);
    let (code, told) = world.wait(id);
    assert_eq!((code, &told["ended"], &told["status"]), (Some(125), &false.into(), &"destroying".into()));
    assert!(told["hint"].as_str().is_some_and(|hint| hint.contains("`abide rm unknown0`")), "{told}");
}

#[test]
fn one_whose_outcome_nobody_saw_is_kept() {
    let world = World::new();
    let mut run =
        world.start(&["run", "--rm", "--wait", "--name", "nightly", "--", &agent(), "print ready", "hang"]);
    until("it runs", || world.abide.json(&["inspect", "nightly"])["data"]["status"] == "running");
    let life = world.observe(world.inspect("nightly")["id"].as_str().expect("an ID").to_owned());
    life.helper("host", None);
    life.program.0.signal(Signal::STOP);
    life.kill_helpers();
    life.program.0.signal(Signal::KILL);
    assert_eq!(run.reap(), Ending::Exited(125));
    assert_eq!(outcome(&life.inspect()), ("lost", None, None));
}
