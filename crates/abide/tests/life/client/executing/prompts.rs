//! Where a line may be run, and how it is told that it was not: nothing is typed where no empty prompt is, and whoever
//! types at the same time loses nothing.

use abide_testkit::tools::need;

use super::{BASH, assert_unseen, exec, shell, shells};
use crate::common::{Life, World, data};

/// Types a line, and returns when nothing happens any more.
fn type_line(world: &World, life: &Life<'_>, line: &str) {
    assert_eq!(world.abide.run(&["type", &life.id, line, "--enter"]).code(), Some(0), "{line}");
    rest(world, life);
}

fn press(world: &World, life: &Life<'_>, key: &str) {
    assert_eq!(world.abide.run(&["keys", &life.id, key]).code(), Some(0), "{key}");
    rest(world, life);
}

fn rest(world: &World, life: &Life<'_>) {
    let ran = world.abide.run(&["wait", &life.id, "--idle", "300ms", "--timeout", "20s"]);
    assert_eq!(ran.code(), Some(0), "{ran:?}");
}

/// The line is refused, has not run, and nothing was typed; the way out that was told.
fn assert_refused(world: &World, life: &Life<'_>, why: &str) -> String {
    let (file, before) = (world.beside("ran"), world.shown(&life.id));
    let ran = world.abide.run(&["exec", "--json", &life.id, "--", &format!("echo ran >{file}")]);
    let told = ran.json();
    assert_eq!((ran.code(), &told["error"]["code"]), (Some(125), &"no_shell".into()), "{why}: {told}");
    rest(world, life);
    assert!(!std::path::Path::new(&file).exists(), "{why}: it ran");
    assert_eq!(world.shown(&life.id), before, "{why}");
    told["error"]["hint"].as_str().unwrap_or_default().to_owned()
}

/// Each shell on its own, all at once: most of it is waiting until one is quiet.
fn in_each(shells: impl Iterator<Item = &'static [&'static str]>, check: impl Fn(&[&str]) + Sync) {
    std::thread::scope(|scope| {
        for command in shells {
            scope.spawn(|| check(command));
        }
    });
}

#[test]
fn exec_in_the_middle_of_a_command_is_refused_and_types_nothing() {
    in_each(shells(), |command| {
        let world = World::new();
        let life = shell(&world, command);
        rest(&world, &life);
        for line in ["false &&", "echo foo \\", "echo 'one"] {
            type_line(&world, &life, line);
            let hint = assert_refused(&world, &life, &format!("{command:?} {line}"));
            assert!(hint.contains(&life.id), "{hint}");
            press(&world, &life, "Ctrl-C");
            assert_eq!(exec(&world, &life, "echo next").stdout, "next\n", "{command:?} after {line}");
        }
        assert_unseen(&world, &life);
    });
}

#[test]
fn exec_answers_no_read_of_the_shell() {
    in_each(shells(), |command| {
        let reads: &[&str] = match command[0] {
            "bash" => &["read -n1 -s -p 'Delete all? y/N ' x", "read -e x", "read x"],
            "zsh" => &["read -k1 x", "vared -c x", "read x"],
            "fish" => &["read x", "read -n1 x"],
            _ => &["read x"],
        };
        let world = World::new();
        let life = shell(&world, command);
        rest(&world, &life);
        for read in reads {
            type_line(&world, &life, read);
            let _ = assert_refused(&world, &life, &format!("{command:?} {read}"));
            press(&world, &life, "Ctrl-C");
            assert_eq!(exec(&world, &life, "echo \"<$x>\"").stdout, "<>\n", "{command:?} {read}");
        }
    });
}

#[test]
fn exec_takes_no_half_typed_line_and_no_command_mode_for_an_empty_prompt() {
    let shells = [&["bash", "--norc", "-o", "vi"][..], &["zsh", "-f", "-o", "vi"]];
    in_each(shells.into_iter(), |command| {
        let world = World::new();
        let life = shell(&world, command);
        rest(&world, &life);
        assert_eq!(exec(&world, &life, "echo first").stdout, "first\n", "{command:?}");
        press(&world, &life, "Escape");
        let _ = assert_refused(&world, &life, "in command mode");
        press(&world, &life, "Ctrl-C");
        assert_eq!(world.abide.run(&["type", &life.id, "rm -rf half"]).code(), Some(0));
        rest(&world, &life);
        let hint = assert_refused(&world, &life, "half typed");
        assert!(hint.starts_with(&format!("`abide keys {} Ctrl-C`", life.id)), "{hint}");
        press(&world, &life, "Ctrl-U");
        assert_eq!(exec(&world, &life, "echo next").stdout, "next\n", "{command:?}");
        assert_unseen(&world, &life);
    });
}

#[test]
fn exec_of_a_line_that_dies_of_an_interrupt_says_so_without_its_prompt_and_hinders_no_other() {
    in_each(shells(), |command| {
        let world = World::new();
        let life = shell(&world, command);
        let ran = world.abide.run(&["exec", "--json", &life.id, "--", "echo hi; sh -c 'kill -INT $$'"]);
        let told = ran.json();
        if ran.code() == Some(130) {
            assert_eq!(told["data"]["output"], "hi\n", "{command:?} {told}");
        } else {
            assert_eq!((ran.code(), &told["error"]["code"]), (Some(125), &"interrupted".into()), "{told}");
            let output = told["data"]["output"].as_str().unwrap_or_default();
            assert_eq!(output.trim_end(), "hi", "{command:?} {told}");
        }
        assert_eq!(exec(&world, &life, "echo next").stdout, "next\n", "{command:?}");
        assert_unseen(&world, &life);
    });
}

#[test]
fn exec_and_somebody_who_types_at_once_hide_nothing_of_each_other() {
    const TIMES: u32 = 40;
    let shells = [BASH, &["dash", "-i"]].into_iter();
    in_each(shells, |command| {
        let world = World::new();
        let life = shell(&world, command);
        rest(&world, &life);
        for number in 0..TIMES {
            std::thread::scope(|scope| {
                scope.spawn(|| world.abide.run(&["type", &life.id, &format!("echo T{number};"), "--enter"]));
                let ran = exec(&world, &life, &format!("echo E{number}"));
                // What is typed while a line runs, the terminal shows among what that writes.
                let own = ran.stdout.replace(&format!("echo T{number};\n"), "");
                assert_eq!(own, format!("E{number}\n"), "{ran:?}");
            });
        }
        life.until_shown(&format!("T{}", TIMES - 1));
        rest(&world, &life);
        let logs = world.abide.run(&["logs", &life.id]).stdout;
        for number in 0..TIMES {
            assert!(logs.contains(&format!("echo T{number};\n")), "{command:?} {number}: {logs}");
            assert!(logs.contains(&format!("T{number}\n")), "{command:?} {number}: {logs}");
        }
    });
}

#[test]
fn exec_leaves_no_trace_in_the_history_of_zsh_with_the_keys_of_vi() {
    let _ = need("zsh");
    let world = World::new();
    let history = format!("HISTFILE={}", world.beside("history"));
    let given = ["--env", &history, "--env", "EDITOR=vi", "--env", "HISTSIZE=50", "--env", "SAVEHIST=50"];
    let life = world.observe(world.launch(&given, &["zsh", "-f"]));
    life.helper("host", None);
    assert_eq!(exec(&world, &life, "bindkey -lL main").stdout, "bindkey -A viins main\n");
    assert_eq!(exec(&world, &life, "echo one; fc -W").code(), Some(0));
    let listed = exec(&world, &life, "fc -l 1").stdout;
    assert!(!listed.contains("exec-"), "{listed}");
    assert_unseen(&world, &life);
}

#[test]
fn exec_does_not_mind_what_a_shell_left_in_the_background_of_its_group() {
    let _ = need("fish");
    let world = World::new();
    // At its first start, fish makes completions of all manuals, in its own process group.
    let fresh = format!("XDG_DATA_HOME={}", world.beside("fresh"));
    let life = world.observe(world.launch(&["--env", &fresh], &["fish"]));
    life.helper("host", None);
    for _ in 0..3 {
        assert_eq!(exec(&world, &life, "echo one").stdout, "one\n");
    }
}

#[test]
fn exec_whose_time_is_up_tells_programs_what_was_written() {
    let world = World::new();
    let life = shell(&world, BASH);
    let gate = crate::common::Gate::new(&world.beside("gate"));
    let line = format!("echo waits; read go < {}", world.beside("gate"));
    let ran = world.abide.run(&["exec", "--json", &life.id, "--timeout", "300ms", "--", &line]);
    let told = ran.json();
    assert_eq!((ran.code(), &told["error"]["code"]), (Some(124), &"timed_out".into()), "{told}");
    assert_eq!(told["data"]["output"], "waits\n", "{told}");
    gate.open();
}

#[test]
fn exec_in_a_shell_that_traces_shows_the_line_alone_and_the_code_before_it() {
    for (command, traced) in [(BASH, "++ echo 1\n1\n"), (&["dash", "-i"], "+ echo 1\n1\n")] {
        let world = World::new();
        let life = shell(&world, command);
        assert_eq!(exec(&world, &life, "set -x; set -v; false").code(), Some(1));
        let ran = exec(&world, &life, "echo $?");
        assert!(ran.stdout.ends_with(traced), "{command:?} {ran:?}");
        assert_eq!(data(&world.abide.run(&["exec", "--json", &life.id, "--", "set +xv"]))["exit_code"], 0);
        assert_unseen(&world, &life);
    }
}

#[test]
fn exec_in_a_shell_with_a_trap_for_every_command_shows_it_those_of_the_line() {
    let world = World::new();
    let life = shell(&world, BASH);
    assert_eq!(exec(&world, &life, "trap 'echo \"<$BASH_COMMAND>\"' DEBUG").stdout, "");
    assert_eq!(exec(&world, &life, "echo one").stdout, "<echo one>\none\n");
    assert_eq!(exec(&world, &life, "trap - DEBUG").code(), Some(0));
    assert_unseen(&world, &life);
    let life = shell(&world, &["zsh", "-f"]);
    assert_eq!(exec(&world, &life, "trap 'echo TRAPPED' DEBUG").code(), Some(0));
    let ran = exec(&world, &life, "echo one; false");
    assert_eq!(ran.code(), Some(1), "what a trap writes is no code: {ran:?}");
    assert!(ran.stdout.contains("\none\n"), "{ran:?}");
}

#[test]
fn exec_waits_for_what_the_prompt_of_its_shell_runs() {
    let world = World::new();
    let life = shell(&world, BASH);
    assert_eq!(exec(&world, &life, "PROMPT_COMMAND='sleep 0.4'").code(), Some(0));
    for _ in 0..2 {
        assert_eq!(exec(&world, &life, "echo one").stdout, "one\n");
    }
}

#[test]
fn exec_in_a_restricted_shell_is_refused_and_types_nothing() {
    for command in [&["bash", "--norc", "-r"][..], &["zsh", "-f", "-r"]] {
        let world = World::new();
        let life = shell(&world, command);
        rest(&world, &life);
        assert_refused(&world, &life, &format!("{command:?}"));
        let ran = world.abide.run(&["exec", &life.id, "--", "true"]);
        assert!(ran.stderr.contains("is a restricted shell"), "{ran:?}");
    }
}

#[test]
fn exec_behind_a_command_that_was_stopped_finds_the_prompt() {
    in_each(shells(), |command| {
        let world = World::new();
        let life = shell(&world, command);
        rest(&world, &life);
        type_line(&world, &life, "sleep 100");
        press(&world, &life, "Ctrl-Z");
        let ran = exec(&world, &life, "echo after");
        assert_eq!(ran.stdout, "after\n", "{command:?} {ran:?}");
        exec(&world, &life, "kill -KILL (jobs -p) 2>/dev/null; kill -KILL $(jobs -p) %sleep 2>/dev/null");
    });
}
