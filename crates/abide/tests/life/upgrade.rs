//! Another abide is installed while sessions run: they go on as it, and nobody notices.

use std::path::{Path, PathBuf};

use abide_testkit::deadline::until;
use abide_testkit::{Abide, Ending, Observer, Running, Terminal};
use rustix::process::Signal;

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
    std::fs::copy(env!("CARGO_BIN_EXE_abide"), &new).expect("there is room");
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
    let upgraded = Abide::new(&new, &world.home).json(&["upgrade"]);
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
    let new = world.home.around().join("abide-new");
    std::fs::copy(env!("CARGO_BIN_EXE_abide"), &new).expect("there is room");
    Abide::new(&new, &world.home)
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

#[test]
fn an_end_that_comes_in_the_middle_of_an_upgrade_is_recorded_and_nobody_stays() {
    let world = World::new();
    let life = world.live(&["trap-exit USR1 9", "print ready", "hang"]);
    life.until_shown("ready");
    let helpers = [life.helper("guard", None), life.helper("host", None)];
    // A host that does not go keeps the guard from becoming another.
    helpers[1].signal(Signal::STOP);
    until("the host stands still", || life.inspect()["processes"]["host"]["qualifier"] == "stopped");
    let new = another(&world);
    let mut upgrading = Running::start(new.command(&["upgrade"]).stderr(std::process::Stdio::null()));
    until("the guard was asked", || world.dir(&life.id).join("next").is_symlink());
    life.program.0.signal(Signal::USR1);
    assert_eq!(world.wait(&life.id).0, Some(9));
    helpers[1].signal(Signal::CONT);
    helpers.iter().for_each(Observer::await_end);
    upgrading.reap();
    assert_eq!(world.inspect(&life.id)["status"], "exited");
}
