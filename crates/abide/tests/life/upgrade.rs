//! Another abide is installed while sessions run: they go on as it, and nobody notices.

use std::path::{Path, PathBuf};
use std::process::Command;

use abide_testkit::deadline::until;
use abide_testkit::tools::need;
use abide_testkit::{Abide, Ending, Observer, Ran, Running, Terminal};
use rustix::process::Signal;
use serde_json::json;

use crate::common::{Gate, Life, World, pid, streamed, waits};

/// The executable of a process.
fn image(pid: u32) -> PathBuf {
    std::fs::read_link(Path::new("/proc").join(pid.to_string()).join("exe")).expect("it lives")
}

/// Guard and host of a session, once both are there.
fn helpers(life: &Life<'_>) -> [u32; 2] {
    ["guard", "host"].map(|who| life.helper(who, None).pid())
}

// TRUTH 39
#[test]
fn every_session_becomes_the_new_version_and_nobody_notices() {
    let world = World::new();
    let new = world.home.around().join("abide-new");
    let other = world.abide.copied_to(&new);
    let stream = format!("stream {} {}", world.beside("until"), world.beside("said"));
    let busy = world.observe(world.run(&[], &[&stream, "exit 5"]));
    let typed =
        world.observe(world.run(&[], &["print ready", "wait-line", "print heard", "wait-line", "exit 6"]));
    let piped = world.observe(world.run(&["--no-tty"], &["trap-exit USR1 7", "print ready", "hang"]));
    let mut attached = Terminal::start(&world.abide.command(&["attach", &typed.id]));
    attached.until("ready");
    piped.until_shown("ready");
    let all = [&busy, &typed, &piped];
    let mut waiting = all.map(|life| world.start(&["wait", &life.id]));
    until("all of them wait", || waiting.iter().all(waits));
    let guards = all.map(|life| helpers(life)[0]);
    let programs = all.map(|life| life.program.0.pid());
    let upgraded = other.json(&["upgrade"]);
    assert_eq!(upgraded["data"]["upgraded"].as_array().map(Vec::len), Some(3), "{upgraded}");
    for (life, (guard, program)) in all.into_iter().zip(guards.into_iter().zip(programs)) {
        let images = helpers(life).map(image);
        assert_eq!(images, [new.clone(), new.clone()], "guard and host of {}", life.id);
        let session = life.inspect();
        assert_eq!((pid(&session, "guard"), pid(&session, "program")), (guard, program), "{session}");
        assert!(life.program.0.lives() && session["status"] == "running", "{session}");
    }
    attached.type_in(b"still here\r");
    attached.until("heard");
    attached.type_in(b"and out\r");
    assert_eq!(attached.reap(), Ending::Exited(6));
    let before = world.shown(&busy.id).len();
    until("output goes on", || world.shown(&busy.id).len() > before);
    std::fs::File::create(world.beside("until")).expect("there is room");
    piped.program.0.signal(Signal::USR1);
    for (wait, code) in waiting.iter_mut().zip([5, 6, 7]) {
        assert_eq!(wait.reap(), Ending::Exited(code));
    }
    let lines =
        std::fs::read_to_string(world.beside("said")).expect("it said how much").parse().expect("a number");
    assert!(world.shown(&busy.id) == streamed(lines), "what was recorded is not what the program wrote");
}

/// Another executable, the same program.
fn another(world: &World) -> Abide {
    world.abide.copied_to(&world.home.around().join("abide-new"))
}

#[test]
fn an_upgrade_of_many_says_how_far_it_is_to_who_looks_on_and_a_stop_of_them_needs_few_descriptors() {
    let world = World::new();
    let ids: Vec<String> = (0..20).map(|_| world.launch(&[], &["sleep", "300"])).collect();
    let shown = Terminal::start(&another(&world).command(&["upgrade"])).rest();
    assert!(shown.contains("abide: upgrading: 100% of 20 sessions"), "{shown:?}");
    assert!(shown.contains("\r\u{1b}[K20 sessions now run as"), "the line is given back: {shown:?}");
    let all = world.abide.run(&["ls", "-q"]).stdout.replace('\n', " ");
    let stop = format!("ulimit -n 40; \"$0\" --json stop --grace 0s {all}");
    let stopped = Ran::of(&mut world.bash(&stop, &[]));
    assert_eq!((stopped.code(), &stopped.json()["data"]["failed"]), (Some(0), &json!([])), "{stopped:?}");
    for id in ids {
        assert_eq!(world.inspect(&id)["outcome"]["signal"], 15, "{id}");
    }
}

#[test]
fn a_stream_that_was_closed_does_not_turn_the_other_into_it() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    let script = "exec >&-; echo early >&2; read go < \"$0\"; echo late >&2; exit 4";
    let life = world.observe(world.launch(&["--no-tty"], &["sh", "-c", script, &world.beside("gate")]));
    life.until_shown("early");
    assert_eq!(another(&world).run(&["upgrade"]).code(), Some(0));
    life.replace("guard");
    gate.open();
    assert_eq!(world.wait(&life.id).0, Some(4));
    let told = world.abide.run(&["logs", "--json", &life.id]).stdout;
    assert!(told.contains("late") && !told.contains("\"output\""), "both came as errors: {told}");
}

/// A session whose host stands still, and an upgrade that has come so far that its guard is the new version.
fn half_upgraded<'a>(world: &'a World, new: &Abide) -> (Life<'a>, [Observer; 2], Running) {
    let life = world.live(&["trap-exit USR1 9", "print ready", "hang"]);
    life.until_shown("ready");
    let helpers = [life.helper("guard", None), life.helper("host", None)];
    helpers[1].signal(Signal::STOP);
    until("the host stands still", || life.inspect()["processes"]["host"]["qualifier"] == "stopped");
    let upgrading = Running::start(new.command(&["upgrade"]).stdout(std::process::Stdio::null()));
    until("the guard is the new one", || image(helpers[0].pid()) == world.home.around().join("abide-new"));
    (life, helpers, upgrading)
}

#[test]
fn a_host_that_stands_still_is_replaced_all_the_same() {
    let world = World::new();
    let (life, [guard, host], mut upgrading) = half_upgraded(&world, &another(&world));
    host.await_end();
    assert_eq!(upgrading.reap(), Ending::Exited(0));
    let new = world.home.around().join("abide-new");
    assert_eq!(helpers(&life).map(image), [new.clone(), new]);
    assert!(guard.lives() && life.program.0.lives());
    life.program.0.signal(Signal::USR1);
    assert_eq!(world.wait(&life.id).0, Some(9));
}

#[test]
fn a_guard_that_is_killed_in_the_middle_of_an_upgrade_is_replaced_by_the_host_that_stood_by() {
    let world = World::new();
    let (life, [guard, host], mut upgrading) = half_upgraded(&world, &another(&world));
    guard.signal(Signal::KILL);
    guard.await_end();
    host.signal(Signal::CONT);
    let next = life.helper("guard", Some(guard.pid()));
    assert!(life.program.0.lives() && life.inspect()["status"] == "running");
    assert_eq!(image(next.pid()), PathBuf::from(env!("CARGO_BIN_EXE_abide")), "it is the version before");
    assert_eq!(upgrading.reap(), Ending::Exited(1), "the session goes on as it was");
    life.program.0.signal(Signal::USR1);
    assert_eq!(world.wait(&life.id).0, Some(9));
}

#[test]
fn wherever_a_guard_is_killed_in_an_upgrade_its_session_goes_on() {
    let world = World::new();
    let new = another(&world);
    std::thread::scope(|scope| {
        // A little later each time.
        for scene in (0..12).map(|turn| (turn * turn * 16_000, turn % 2 == 0)) {
            let (world, new) = (&world, &new);
            scope.spawn(move || killed_in_an_upgrade(world, new, scene));
        }
    });
}

/// The old host leaves slowly in every second scene: it waits for a disk, as it may at any time.
fn killed_in_an_upgrade(world: &World, new: &Abide, (spins, slowly): (u32, bool)) {
    let slow =
        ["-f", "-qq", "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_enter=300000"];
    let life = world.live(&["trap-exit USR1 9", "print ready", "hang"]);
    life.until_shown("ready");
    let [guard, host] = [life.helper("guard", None), life.helper("host", None)];
    let log = world.beside(&format!("calls-{spins}"));
    let tracer = slowly.then(|| {
        let mut strace = Command::new(need("strace"));
        let tracer = Running::start(strace.args(slow).args(["-o", &log, "-p", &host.pid().to_string()]));
        until("it is traced", || traced_by(host.pid()) == tracer.pid());
        tracer
    });
    let mut upgrading =
        Running::start(new.command(&["upgrade", &life.id]).stderr(std::process::Stdio::null()));
    (0..spins).for_each(|_| std::hint::spin_loop());
    guard.signal(Signal::KILL);
    guard.await_end();
    upgrading.reap();
    life.helper("guard", Some(guard.pid()));
    assert!(life.program.0.lives(), "after {spins}: {}", life.inspect());
    takes_marks(world, &life);
    life.program.0.signal(Signal::USR1);
    assert_eq!(world.wait(&life.id).0, Some(9), "after {spins}: {}", life.inspect());
    if let Some(mut tracer) = tracer {
        tracer.reap();
    }
}

/// A session is served when it does what it is told: guard and host have each other.
fn takes_marks(world: &World, life: &Life<'_>) {
    until("it is served", || world.abide.run(&["mark", &life.id, "here"]).code() == Some(0));
}

#[test]
fn upgrades_that_come_at_once_leave_every_session_served() {
    let world = World::new();
    let [one, other] =
        ["abide-one", "abide-other"].map(|name| world.abide.copied_to(&world.home.around().join(name)));
    let lives = [(); 4].map(|()| world.live(&["trap-exit USR1 9", "print ready", "hang"]));
    lives.iter().for_each(|life| life.until_shown("ready"));
    for round in 0..3 {
        let upgrade = |abide: &Abide| {
            let mut command = abide.command(&["upgrade"]);
            Running::start(command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()))
        };
        let both = if round % 2 == 0 { [&one, &one] } else { [&one, &other] };
        let mut running = both.map(upgrade);
        for running in &mut running {
            // Of two that disagree one is refused.
            let _ = running.reap();
        }
        lives.iter().for_each(|life| takes_marks(&world, life));
    }
    for life in &lives {
        assert!(life.program.0.lives(), "{}", life.inspect());
        life.program.0.signal(Signal::USR1);
        assert_eq!(world.wait(&life.id).0, Some(9));
    }
}

/// Who traces a process.
fn traced_by(pid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    line.and_then(|pid| pid.trim().parse().ok()).unwrap_or(0)
}

#[test]
fn an_end_that_comes_in_the_middle_of_an_upgrade_is_recorded_and_nobody_stays() {
    let world = World::new();
    let (life, helpers, mut upgrading) = half_upgraded(&world, &another(&world));
    life.program.0.signal(Signal::USR1);
    assert_eq!(world.wait(&life.id).0, Some(9));
    helpers.iter().for_each(Observer::await_end);
    upgrading.reap();
    assert_eq!(world.inspect(&life.id)["status"], "exited");
}

#[test]
fn what_a_guard_does_not_heed_in_time_is_withdrawn_and_what_is_being_stopped_is_left_alone() {
    let world = World::new();
    let still = world.live(&["print ready", "hang"]);
    let stopping = world.live(&["ignore TERM", "print ready", "hang"]);
    for life in [&still, &stopping] {
        life.until_shown("ready");
    }
    let guard = still.helper("guard", None);
    guard.signal(Signal::STOP);
    let mut stop = world.start(&["stop", "--grace", "1h", &stopping.id]);
    until("it is being stopped", || stopping.inspect()["stopping"] == true);
    let answer = another(&world).run(&["upgrade", "--json"]);
    assert_eq!(answer.code(), Some(1));
    let failed = answer.json()["data"]["failed"].clone();
    let reason = |id: &str| {
        let one = failed.as_array().and_then(|all| all.iter().find(|one| one["id"] == id));
        one.and_then(|one| one["reason"].as_str()).unwrap_or_default().to_owned()
    };
    assert!(reason(&still.id).contains("the order was withdrawn"), "{failed}");
    assert!(reason(&stopping.id).contains("it is being stopped"), "{failed}");
    assert!(!world.dir(&still.id).join("next").is_symlink(), "the order stands");
    guard.signal(Signal::CONT);
    assert_eq!(world.abide.run(&["stop", &still.id]).code(), Some(0), "it was never another version");
    assert_eq!(world.abide.run(&["stop", "--grace", "0s", &stopping.id]).code(), Some(0));
    stop.reap();
}
