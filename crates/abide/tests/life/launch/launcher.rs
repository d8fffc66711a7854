//! Launchers and terminals that go away: what they launched never notices.

use std::fs::File;
use std::process::{Command, Stdio};

use abide_testkit::deadline::until;
use abide_testkit::{Ending, Ran, Running, Terminal};
use rustix::process::Signal;

use crate::common::{Life, World, agent, streamed};

/// The one session of a world, once its program runs.
fn only(world: &World) -> Life<'_> {
    let mut id = String::new();
    until("the session runs", || {
        id = world.abide.run(&["ls", "-q"]).stdout.trim().to_owned();
        !id.is_empty() && world.inspect(&id)["status"] == "running"
    });
    world.observe(id)
}

/// The session goes on: it shows more and more, nothing is missing, and its code is its own.
fn check_unaffected(world: &World, life: Life<'_>) {
    let before = world.shown(&life.id).len();
    until("output goes on", || world.shown(&life.id).len() > before);
    assert_eq!(life.inspect()["status"], "running");
    File::create(world.beside("until")).expect("there is room");
    assert_eq!(world.wait(&life.id).0, Some(5));
    let lines =
        std::fs::read_to_string(world.beside("said")).expect("it said how much").parse().expect("a number");
    assert!(world.shown(&life.id) == streamed(lines), "what was recorded is not what the program wrote");
}

/// A command that runs a stream in a session.
fn run_stream(world: &World, options: &[&str]) -> Command {
    let stream = format!("stream {} {}", world.beside("until"), world.beside("said"));
    world.abide.command(&[&["run"], options, &["--", &agent(), &stream, "exit 5"]].concat())
}

// TRUTH 9
#[test]
fn a_launcher_that_is_killed_as_soon_as_its_session_is_there_takes_nothing_with_it() {
    for _ in 0..20 {
        let world = World::new();
        let mut launcher = world.start(&["run", "-d", "--", &agent(), "hang"]);
        let names = || std::fs::read_dir(world.home.path().join("sessions")).into_iter().flatten().flatten();
        let id =
            || names().find_map(|entry| entry.file_name().into_string().ok().filter(|n| !n.starts_with('.')));
        let mut found = None;
        until("the session is there", || {
            found = id();
            found.is_some()
        });
        launcher.kill();
        let id = found.expect("it was found");
        until("its program is told to run", || !world.told(&id, "started").is_empty());
        let life = world.observe(id);
        life.helper("guard", None);
        life.helper("host", None);
        assert_eq!(life.inspect()["status"], "running");
    }
}

// TRUTH 9
#[test]
fn whatever_ends_the_launching_command_ends_nothing_else() {
    for signal in [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP] {
        let world = World::new();
        let mut launcher = Running::start(run_stream(&world, &["--wait"]).stderr(Stdio::null()));
        let life = only(&world);
        launcher.signal(signal);
        let ending = launcher.reap();
        assert!(
            matches!(ending, Ending::Signaled { .. }) || ending == Ending::Exited(128 + signal.as_raw()),
            "{signal:?}: {ending:?}"
        );
        check_unaffected(&world, life);
    }
}

/// A shell that runs a command and does not become it.
fn shell(command: &Command) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["-c", "\"$0\" \"$@\"; exit $?"]).arg(command.get_program()).args(command.get_args());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

// TRUTH 9
#[test]
fn closing_the_terminal_of_the_launching_shell_ends_nothing_else() {
    for options in [&["--wait"][..], &[]] {
        let world = World::new();
        let mut terminal = Terminal::start(&shell(&run_stream(&world, options)));
        let life = only(&world);
        terminal.close();
        terminal.reap();
        check_unaffected(&world, life);
    }
}

// TRUTH 9
#[test]
fn killing_the_launching_shell_ends_nothing_else() {
    let world = World::new();
    let mut terminal = Terminal::start(&shell(&run_stream(&world, &[])));
    let life = only(&world);
    terminal.observer().signal(Signal::KILL);
    terminal.reap();
    check_unaffected(&world, life);
}

// TRUTH 59
#[test]
fn a_session_is_reachable_after_its_user_has_logged_out() {
    let world = World::new();
    let runtime = world.beside("runtime");
    std::fs::create_dir(&runtime).expect("there is room");
    let steps = ["print ready", "wait-line", "print heard", "wait-line", "exit 5"];
    let mut command = world.abide.command(&[&["run", "--", agent().as_str()], &steps[..]].concat());
    command.env("XDG_RUNTIME_DIR", &runtime).env("XDG_SESSION_ID", "7");
    let mut login = Terminal::start(&shell(&command));
    login.until("ready");
    let life = only(&world);
    std::fs::remove_dir_all(&runtime).expect("nothing is in use");
    login.close();
    login.reap();
    assert_eq!(life.inspect()["status"], "running");
    let mut again = Terminal::start(&world.abide.command(&["attach", &life.id]));
    again.until("ready");
    again.type_in(b"back again\r");
    again.until("heard");
    again.type_in(b"and out\r");
    assert_eq!(again.reap(), Ending::Exited(5));
    assert_eq!(world.wait(&life.id).0, Some(5));
}

#[test]
fn whatever_the_caller_does_with_the_ends_of_its_children_a_launch_is_a_launch() {
    let world = World::new();
    let ran = Ran::of(
        &mut world.bash("trap '' CHLD; exec \"$0\" run --wait -- sh -c 'sh -c \"exit 3\"; exit $?'", &[]),
    );
    assert_eq!((ran.code(), ran.stdout.as_str()), (Some(3), ""), "{ran:?}");
}

#[test]
fn a_home_that_is_named_from_here_is_the_same_for_a_program_that_is_elsewhere() {
    let world = World::new();
    let script = "cd \"$(dirname \"$ABIDE_HOME\")\"; unset ABIDE_HOME; exec \"$0\" --home ./here run --wait -- sh -c \
                  'cd /; abide=$1; test -d \"$ABIDE_SESSION_DIR\" && \"$abide\" result set success; exit 17' sh \"$0\"";
    let ran = Ran::of(&mut world.bash(script, &[]));
    assert_eq!(ran.code(), Some(0), "the result was declared: {ran:?}");
}
