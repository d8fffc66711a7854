//! Sessions in other pid namespaces, and sessions that are seen from there.

use std::fs::File;

use abide_testkit::deadline::until;
use abide_testkit::namespace::unshare;
use abide_testkit::{Ran, Running};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{World, agent, data, ends_are_kept, outcome};

const APART: [&str; 2] = ["--pid", "--mount-proc"];

/// Runs a command of abide in a pid namespace of its own.
fn inside(world: &World, args: &[&str]) -> Value {
    run_inside(world, args).json()
}

// TRUTH 31
#[test]
fn a_session_is_alive_also_where_its_processes_cannot_be_seen() {
    let world = World::new();
    let life = world.live(&["ignore HUP", "trap-exit USR1 2", "print ready", "hang"]);
    life.until_shown("ready");
    life.helper("host", None);
    let told = inside(&world, &["inspect", "--json", &life.id])["data"].take();
    assert_eq!(
        (&told["status"], &told["processes"]["guard"]["liveness"]),
        (&"running".into(), &"alive".into()),
        "{told}"
    );
    assert_eq!(told["processes"]["program"]["liveness"], "unknown", "{told}");
    let told = inside(&world, &["wait", "--json", "--cap", "100ms", &life.id])["data"].take();
    assert_eq!((&told["ended"], &told["status"]), (&false.into(), &"running".into()), "{told}");
    refused_inside(&world, &life.id, &[&["rm", "--force"], &["stop"], &["signal", "USR1"]]);
    life.kill_helpers();
    // With guard and host gone nobody vouches for what cannot be seen.
    let told = inside(&world, &["inspect", "--json", &life.id])["data"].take();
    assert_eq!((&told["status"], &told["wait_code"]), (&"unknown".into(), &Value::Null), "{told}");
    refused_inside(&world, &life.id, &[&["rm"], &["stop"], &["signal", "USR1"]]);
    assert!(life.program.0.lives() && world.dir(&life.id).exists());
}

/// Whoever shares the home and the user drives the same sessions, whichever pid namespace either is in.
#[test]
fn a_session_is_driven_from_another_pid_namespace_by_the_same_user_and_runs_no_line_where_its_shell_cannot_be_seen()
 {
    let world = World::new();
    let life = world.observe(world.launch(&[], &["env", "PS1=% ", "bash", "--norc"]));
    let shown = ["wait", "--timeout", "30s", "--text", "% ", &life.id];
    assert_eq!(run_inside(&world, &shown).code(), Some(0));
    let typed = run_inside(&world, &["type", "--json", "--enter", &life.id, "echo o'n'e"]);
    let since = data(&typed)["seq"].to_string();
    let seen =
        run_inside(&world, &["wait", "--timeout", "30s", "--regex", "^one$", "--since", &since, &life.id]);
    assert_eq!(seen.code(), Some(0), "{seen:?}");
    for act in [&["resize", &life.id, "90x30"][..], &["mark", &life.id, "here"]] {
        let ran = run_inside(&world, act);
        assert_eq!(ran.code(), Some(0), "{act:?}: {ran:?}");
    }
    let looked = run_inside(&world, &["snapshot", "--json", &life.id]);
    assert_eq!((data(&looked)["source"].as_str(), looked.stderr.as_str()), (Some("live"), ""), "{looked:?}");
    let refused = run_inside(&world, &["exec", "--json", &life.id, "--", "true"]);
    assert_eq!(refused.json()["error"]["code"], "no_shell", "{refused:?}");
    let refused = run_inside(&world, &["prompt", "--json", &life.id, "go on"]).json();
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.ends_with("cannot be told from here"), "{refused}");
    let script = "\"$0\" run -d --name inner -- cat; read over";
    let command = world.abide.command(&[]);
    let mut first = unshare(&APART, "bash".as_ref());
    first.args(["-c", script]).arg(command.get_program());
    first.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut first = Running::start(&mut first);
    let id = first.line();
    let typed = world.abide.run(&["type", "--json", "--enter", &id, "from outside"]);
    let since = data(&typed)["seq"].to_string();
    let seen =
        world.abide.run(&["wait", "--timeout", "30s", "--text", "from outside", "--since", &since, &id]);
    assert_eq!(seen.code(), Some(0), "{seen:?}");
}

// TRUTH 31
#[test]
fn a_dead_program_is_not_told_to_run_where_it_cannot_be_seen_though_its_guard_is_stopped() {
    let world = World::new();
    let life = world.live(&["print ready", "hang"]);
    life.until_shown("ready");
    let [guard, _host] = ["guard", "host"].map(|who| life.helper(who, None));
    guard.signal(Signal::STOP);
    life.program.0.signal(Signal::KILL);
    life.program.0.await_end();
    // Its guard holds its lock and says nothing; its host saw it die.
    until("it is told to be over", || {
        let told = inside(&world, &["inspect", "--json", &life.id])["data"].take();
        told["status"] == "exiting" && told["processes"]["program"]["liveness"] == "dead"
    });
    let why = run_inside(&world, &["why", &life.id]);
    assert!(why.stdout.contains("host found program"), "{why:?}");
    guard.signal(Signal::CONT);
    assert_eq!(world.wait(&life.id).0, Some(137));
    let told = inside(&world, &["inspect", "--json", &life.id])["data"].take();
    assert_eq!(outcome(&told), ("exited", None, Some(9)), "{told}");
}

/// The pid namespace that a session was started in is gone with its container, and nobody can ask from there again.
#[test]
fn a_session_of_a_container_that_was_started_anew_is_unknown_and_can_be_removed_by_force() {
    let world = World::new();
    let script = "\"$0\" run -d --name nightly -- \"$1\" hang; read over";
    let command = world.abide.command(&[]);
    let mut first = unshare(&APART, "bash".as_ref());
    first.args(["-c", script]).arg(command.get_program()).arg(agent());
    first.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut first = Running::start(&mut first);
    let id = &first.line();
    // The kernel gives the number of a namespace that is gone to the next one, unless somebody has it open.
    let ours = format!("/proc/{}/ns/pid_for_children", first.pid());
    let _taken = File::open(ours).expect("it is our child");
    first.kill();
    until("nobody vouches for it", || {
        let told = inside(&world, &["inspect", "--json", id])["data"].take();
        assert_ne!(told["status"], "lost", "{told}");
        told["status"] == "unknown" && told["name"] == "nightly"
    });
    for act in [&["rm", "--json", id][..], &["stop", "--json", id]] {
        let ran = run_inside(&world, act);
        let hint = ran.json()["error"]["hint"].as_str().unwrap_or_default().to_owned();
        assert!(ran.code() == Some(5) && hint.contains(&format!("`abide rm --force {id}`")), "{ran:?}");
    }
    assert_eq!(run_inside(&world, &["run", "-d", "--name", "nightly", "--", "true"]).code(), Some(6));
    let removed = run_inside(&world, &["rm", "--force", "--json", id]);
    assert_eq!(removed.code(), Some(0), "{removed:?}");
    assert!(removed.stderr.contains(&format!("session {id} may have been alive")), "{removed:?}");
    let again = run_inside(&world, &["run", "--wait", "--name", "nightly", "--", "true"]);
    assert_eq!(again.code(), Some(0), "its name is free: {again:?}");
}

/// What can be judged only elsewhere is refused for that, and the refusal says where.
fn refused_inside(world: &World, id: &str, acts: &[&[&str]]) {
    for act in acts {
        let ran = run_inside(world, &[*act, &["--json", id]].concat());
        let error = ran.json()["error"].take();
        let hint = error["hint"].as_str().unwrap_or_default();
        let whence = hint.contains("ask from the pid namespace that it was started in");
        assert!(ran.code() == Some(5) && whence, "{act:?}: {ran:?}");
    }
}

/// Runs a command of abide in a pid namespace of its own, whatever comes of it.
pub(crate) fn run_inside(world: &World, args: &[&str]) -> Ran {
    let command = world.abide.command(args);
    let mut inside = unshare(&APART, command.get_program().as_ref());
    inside.args(args).envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ran::of(&mut inside)
}

// TRUTH 6
#[test]
fn the_code_is_exact_after_a_killed_guard_also_under_an_init_that_reaps_at_once() {
    let world = World::new();
    // The shell is the init of its namespace: whoever loses its parent is reaped by it, at once.
    let script = r#"
        exec 2>&1
        id=$("$1" run -d -- "$2" 'trap-exit USR1 44' 'print ready' hang) || exit 1
        field() { "$1" inspect "$id" --json | tr ',{' '\n\n' | grep -A1 "^\"$2\":" | grep -o '[0-9]*$' | head -n 1; }
        until "$1" logs "$id" | grep -q ready; do :; done
        until guard=$(field "$1" guard) host=$(field "$1" host) && [ -n "$host" ]; do :; done
        for round in 1 2 3; do
            kill -KILL "$guard"
            while next=$(field "$1" guard); [ -z "$next" ] || [ "$next" = "$guard" ]; do :; done
            guard=$next
        done
        "$1" inspect "$id" --json
        program=$(field "$1" program)
        kill -USR1 "$program"
        "$1" wait --json "$id"
        echo "code=$?"
        "$1" inspect "$id" --json
    "#;
    let command = world.abide.command(&[]);
    let mut init = unshare(&APART, "bash".as_ref());
    init.args(["-c", script, "init"]).arg(command.get_program()).arg(agent());
    init.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = Ran::of(&mut init);
    let said: Vec<&str> = ran.stdout.lines().collect();
    let [running, waited, code, over] = said.as_slice() else { panic!("{ran:?}") };
    assert!(running.contains(r#""status":"running""#), "{running}");
    let parse = |line: &str| {
        serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{e}: {ran:?}"))["data"].take()
    };
    let (waited, over) = (parse(waited), parse(over));
    assert_eq!((&waited["status"], &waited["exit_code"]), (&over["status"], &over["exit_code"]));
    let (expected, status) = if ends_are_kept() { ("code=44", "exited") } else { ("code=125", "lost") };
    assert_eq!((*code, waited["status"].as_str()), (expected, Some(status)), "{ran:?}");
    let observed_by = waited["outcome"]["observed_by"].as_str();
    assert!(!ends_are_kept() || matches!(observed_by, Some("pidfd" | "procfs")), "{waited}");
    let home: Value = data(&world.abide.run(&["ls", "-a", "--json"]));
    assert_eq!(home["sessions"].as_array().map(Vec::len), Some(1), "{home}");
}

#[test]
fn without_proc_a_stop_says_how_the_session_stands_and_what_helps_and_so_does_the_doctor() {
    let world = World::new();
    let life = world.live(&["hang"]);
    life.helper("host", None);
    let script = "mount -t tmpfs none /proc && exec \"$0\" \"$@\"";
    let without = |args: &[&str]| {
        let command = world.abide.command(args);
        let mut shell = unshare(&["--mount"], "bash".as_ref());
        shell.args(["-c", script]).arg(command.get_program()).args(args);
        shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Ran::of(&mut shell)
    };
    for act in [&["stop", &life.id][..], &["signal", "TERM", &life.id]] {
        let ran = without(act);
        let refused = format!("session {} is running, and its program cannot be judged", life.id);
        assert!(ran.code() == Some(5) && ran.stderr.contains(&refused), "{ran:?}");
        assert!(ran.stderr.contains("mount -t proc proc /proc"), "{ran:?}");
    }
    let doctor = without(&["doctor"]).stdout;
    let says = "! exact ends: whether this kernel keeps the code of a program whose guard was killed could not be tested\n    fix: mount /proc";
    assert!(doctor.contains(says), "{doctor}");
    assert!(life.program.0.lives());
}
