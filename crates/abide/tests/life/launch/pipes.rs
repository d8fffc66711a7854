//! Programs on pipes: what they read is the launcher's own input itself, and what they say keeps its streams apart.

use std::path::Path;
use std::process::Stdio;

use abide_testkit::deadline::until;
use abide_testkit::{Ending, Ran, Running};
use rustix::process::Signal;

use crate::common::{Gate, Life, World, agent, data, outcome};

/// The session of this name, once its program runs.
fn named<'a>(world: &'a World, name: &str) -> Life<'a> {
    until("it runs", || world.abide.json(&["inspect", name])["data"]["status"] == "running");
    world.observe(world.inspect(name)["id"].as_str().expect("an ID").to_owned())
}

#[test]
fn what_is_piped_in_reaches_the_program_and_that_it_was_so_is_on_record() {
    let world = World::new();
    let ran = Ran::of(&mut world.bash(r#"echo hello | "$0" run --no-tty --wait --json -- cat"#, &[]));
    let told = data(&ran);
    assert_eq!((ran.code(), outcome(&told)), (Some(0), ("exited", Some(0), None)), "{ran:?}");
    let id = told["id"].as_str().expect("an ID");
    assert_eq!(world.shown(id), "hello\n");
    assert_eq!(world.told(id, "launched")[0]["stdin"], "pipe");
}

#[test]
fn what_is_piped_to_a_program_with_a_terminal_is_told_to_reach_it_on_pipes_only() {
    let world = World::new();
    let script = r#"printf 'hello\n' > "$1"
        "$0" run --wait -- true < "$1" && echo and >&2 && "$0" run --wait -- true < /dev/null
        "$0" run --no-tty --wait -- cat < "$1""#;
    let ran = Ran::of(&mut world.bash(script, &[&world.beside("lines")]));
    let hint = "hint: what comes through a pipe or from a file reaches a program with --no-tty only\n";
    let hints: Vec<usize> = ran.stderr.split("and\n").map(|said| said.matches(hint).count()).collect();
    assert_eq!((ran.code(), hints), (Some(0), vec![1, 0]), "{ran:?}");
}

#[test]
fn a_hundred_megabytes_come_through_to_the_last_byte() {
    let world = World::new();
    let script = r#"
        seq 1 20000000 | head -c 100000000 | "$0" run --no-tty -- md5sum
        seq 1 20000000 | head -c 100000000 | md5sum"#;
    let ran = Ran::of(&mut world.bash(script, &[]));
    let sums: Vec<&str> = ran.stdout.lines().collect();
    assert!(sums.len() == 2 && sums[0] == sums[1], "{ran:?}");
}

#[test]
fn a_detached_program_reads_nothing_unless_it_is_given_our_input() {
    let world = World::new();
    let script = r#"printf 'one\ntwo\n' > "$1"; exec < "$1"; read -r first
        a=$("$0" run -d --no-tty -- wc -l); b=$("$0" run -d --no-tty --stdin -- cat)
        "$0" wait "$a" "$b" 2>/dev/null && "$0" logs "$a" && "$0" logs "$b""#;
    let ran = Ran::of(&mut world.bash(script, &[&world.beside("lines")]));
    assert_eq!((ran.code(), ran.stdout.as_str()), (Some(0), "0\ntwo\n"), "{ran:?}");
}

#[test]
fn output_and_errors_are_passed_on_apart_and_to_the_byte_with_the_code() {
    let world = World::new();
    let script = r#"
        say() { for n in {1..2000}; do printf 'out \xff\0 %s\r' $n; printf 'err \xfe %s' $n >&2; done; exit 7; }
        export -f say
        code=0; "$0" run --no-tty -- bash -c say > "$1/out" 2> "$1/err" || code=$?
        (say) > "$1/right-out" 2> "$1/right-err"
        echo $code; cmp "$1/out" "$1/right-out" && cmp "$1/err" "$1/right-err""#;
    let ran = Ran::of(&mut world.bash(script, &[&world.beside("")]));
    assert_eq!((ran.code(), ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "7\n", ""));
}

#[test]
fn what_a_killed_launcher_was_fed_still_reaches_its_program() {
    let world = World::new();
    let mut command = world.abide.command(&["run", "--no-tty", "--wait", "--name", "eater", "--", "cat"]);
    let mut launcher = Running::start(command.stderr(Stdio::null()));
    launcher.tell("before");
    let life = named(&world, "eater");
    life.until_shown("before");
    launcher.kill();
    launcher.tell("after");
    life.until_shown("after");
    // The last writer goes: that is the end of the input, and of a program that reads to it.
    drop(launcher);
    assert_eq!((world.wait(&life.id).0, world.shown(&life.id).as_str()), (Some(0), "before\nafter\n"));
}

#[test]
fn nobody_but_the_program_keeps_its_input_open() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    let script = r#"{ yes; echo told > "$2"; } 2>/dev/null |
        "$0" run --no-tty --wait --name deaf -- sh -c 'exec 0<&-; echo deaf; read go < "$0"; exit 3' "$1"
        echo "${PIPESTATUS[1]}""#;
    let told = world.beside("told");
    let mut shell = Running::start(world.bash(script, &[&world.beside("gate"), &told]).stderr(Stdio::null()));
    let life = named(&world, "deaf");
    life.until_shown("deaf");
    until("who feeds it is told that nobody reads", || Path::new(&told).exists());
    assert!(life.program.0.lives());
    gate.open();
    assert_eq!(shell.line(), "3");
    assert_eq!(shell.reap(), Ending::Exited(0));
}

#[test]
fn a_reader_that_leaves_ends_the_passing_on_and_not_the_session() {
    let world = World::new();
    let script = r#""$0" run --no-tty --name stubborn -- "$1" 'flood 100000000' hang | head -n 1; echo "${PIPESTATUS[0]}""#;
    let ran = Ran::of(&mut world.bash(script, &[&agent()]));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((lines.len(), lines[1], ran.stderr.as_str()), (2, "141", ""), "{ran:?}");
    let life = named(&world, "stubborn");
    assert!(life.program.0.lives());
    life.program.0.signal(Signal::KILL);
    assert_eq!(world.wait(&life.id).0, Some(137));
}

#[test]
fn without_a_terminal_there_is_nothing_to_attach_and_nothing_is_started() {
    let world = World::new();
    let ran = world.abide.run(&["run", "--json", "--", &agent(), "hang"]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(125), &"usage".into()), "{ran:?}");
    assert!(!world.home.path().exists(), "something was started");
}
