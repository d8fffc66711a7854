//! Where a line may be run, and how it is told that it was not: nothing is typed where no empty prompt is, and whoever
//! types at the same time loses nothing.

use abide_testkit::deadline::until;
use abide_testkit::tools::need;
use rustix::process::Signal;

use super::{BASH, assert_unseen, exec, recorded, shell, shells};
use crate::common::{Gate, Life, World, data, pid};

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
fn exec_behind_an_answer_that_no_program_read_is_refused_and_types_nothing() {
    in_each(shells(), |command| {
        let world = World::new();
        let life = shell(&world, command);
        for asks in ["6n", "c"] {
            let ran = exec(&world, &life, &format!("printf '\\033[{asks}'"));
            assert_eq!(ran.code(), Some(0), "{command:?} {ran:?}");
            // At once, and once all is shown that will be.
            for _ in 0..2 {
                let ran = exec(&world, &life, "echo no");
                assert!(ran.code() == Some(125) && ran.stderr.contains("answered"), "{command:?} {ran:?}");
                rest(&world, &life);
            }
            let hint = assert_refused(&world, &life, &format!("{command:?} {asks}"));
            assert!(hint.starts_with(&format!("`abide keys {} Ctrl-C`", life.id)), "{hint}");
            press(&world, &life, "Ctrl-C");
            assert_eq!(exec(&world, &life, "echo next").stdout, "next\n", "{command:?}");
        }
        assert_unseen(&world, &life);
    });
}

#[test]
fn exec_behind_an_answer_that_an_editor_took_for_commands_is_refused_until_ctrl_c() {
    let shells = [&["bash", "--norc", "-o", "vi"][..], &["zsh", "-f", "-o", "vi"], BASH];
    in_each(shells.into_iter(), |command| {
        for asks in ["[6n", "[c", "]11;?\\007", "P+q544e\\033\\134"] {
            let world = World::new();
            let life = shell(&world, command);
            rest(&world, &life);
            let ran = exec(&world, &life, &format!("printf '\\033{asks}'"));
            assert_eq!(ran.code(), Some(0), "{command:?} {ran:?}");
            rest(&world, &life);
            let hint = assert_refused(&world, &life, &format!("{command:?} {asks}"));
            assert!(
                hint.starts_with(&format!("`abide keys {} Ctrl-C`", life.id)),
                "{command:?} {asks}: {hint}"
            );
            press(&world, &life, "Ctrl-C");
            assert_eq!(exec(&world, &life, "echo next").stdout, "next\n", "{command:?} {asks}");
            assert_unseen(&world, &life);
        }
    });
}

#[test]
fn exec_behind_a_program_that_read_what_it_asked_for_runs_the_line() {
    for command in [BASH, &["dash", "-i"]] {
        let world = World::new();
        let life = shell(&world, command);
        let reads = "stty raw -echo; printf '\\033[6n'; dd bs=1 count=6 2>/dev/null | od -c; stty sane";
        assert_eq!(exec(&world, &life, reads).code(), Some(0), "{command:?}");
        assert_eq!(exec(&world, &life, "echo next").stdout, "next\n", "{command:?}");
    }
}

#[test]
fn exec_right_after_a_key_that_ends_a_program_runs_the_line() {
    const TIMES: u32 = 3;
    in_each(shells(), |command| {
        let world = World::new();
        let life = shell(&world, command);
        rest(&world, &life);
        for (program, key) in [("cat", "Ctrl-C"), ("seq 300 | LESS= less", "q"), ("", "Enter")] {
            for number in 0..TIMES {
                if !program.is_empty() {
                    type_line(&world, &life, program);
                }
                assert_eq!(world.abide.run(&["keys", &life.id, key]).code(), Some(0), "{key}");
                let ran = exec(&world, &life, &format!("echo {number}"));
                let told = (ran.code(), ran.stdout.clone());
                assert_eq!(told, (Some(0), format!("{number}\n")), "{command:?} {key} {ran:?}");
            }
        }
    });
}

/// Something in the background of a shell that writes a line once the gate is opened.
fn writes_later(world: &World, name: &str) -> (Gate, String) {
    let path = world.beside(name);
    (Gate::new(&path), format!("sh -c 'read go <{path}; echo {name}' &"))
}

#[test]
fn exec_behind_what_others_write_at_a_prompt_runs_the_line_and_in_the_middle_of_a_command_does_not() {
    in_each(shells(), |command| {
        let world = World::new();
        let life = shell(&world, command);
        rest(&world, &life);
        let write = |(gate, line): (Gate, String), then: &[&str], shown: &str| {
            type_line(&world, &life, &line);
            then.iter().for_each(|line| type_line(&world, &life, line));
            gate.open();
            life.until_shown(shown);
            rest(&world, &life);
        };
        // First where no line has ever run.
        write(writes_later(&world, "midst"), &["false &&"], "midst\r\n");
        assert_refused(&world, &life, &format!("{command:?}"));
        press(&world, &life, "Ctrl-C");
        write(writes_later(&world, "late"), &[], "late\r\n");
        let ran = exec(&world, &life, "echo hi");
        assert_eq!((ran.code(), ran.stdout.as_str()), (Some(0), "hi\n"), "{command:?} {ran:?}");
        assert_unseen(&world, &life);
    });
}

#[test]
fn exec_where_nothing_is_shown_that_could_be_a_prompt_names_that_doubt() {
    let world = World::new();
    let life = shell(&world, BASH);
    rest(&world, &life);
    type_line(&world, &life, "read -e x");
    let told = world.abide.run(&["exec", &life.id, "--", "echo no"]);
    assert!(told.code() == Some(125) && told.stderr.contains("nothing stands before the cursor"), "{told:?}");
    press(&world, &life, "Ctrl-C");
    type_line(&world, &life, "false &&");
    let told = world.abide.run(&["exec", &life.id, "--", "echo no"]);
    assert!(told.code() == Some(125) && told.stderr.contains("`> ` stands before the cursor"), "{told:?}");
}

#[test]
fn exec_of_a_line_that_was_broken_off_says_so_whatever_others_write_since() {
    in_each([BASH, &["dash", "-i"]].into_iter(), |command| {
        let world = World::new();
        let life = shell(&world, command);
        rest(&world, &life);
        let writes = "(for i in $(seq 100); do sleep 0.1; echo tick; done) &";
        let line = format!("{writes} kill -INT $$; echo afterint");
        let ran = world.abide.run(&["exec", "--json", "--timeout", "8s", &life.id, "--", &line]);
        let (told, shell) = (ran.json(), pid(&world.inspect(&life.id), "program"));
        let message = told["error"]["message"].as_str().unwrap_or_default();
        assert!(!message.contains("goes on"), "{command:?} {told}");
        // Where the kernel shows no calls, nobody can tell.
        if std::fs::read(format!("/proc/{shell}/syscall")).is_ok() {
            assert_eq!((ran.code(), &told["error"]["code"]), (Some(125), &"interrupted".into()), "{told}");
        }
    });
}

#[test]
fn exec_given_to_a_read_with_a_prompt_of_its_own_says_that_it_was_and_that_ctrl_c_was_pressed() {
    let world = World::new();
    let life = shell(&world, BASH);
    rest(&world, &life);
    type_line(&world, &life, "while read -e -p 'in$ ' x; do :; done");
    let ran = exec(&world, &life, "echo no");
    assert!(
        ran.code() == Some(125) && ran.stderr.contains("was given what would run it, and then Ctrl-C"),
        "{ran:?}"
    );
    assert!(!world.shown(&life.id).contains("\nno"), "it did not run");
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
    let gate = Gate::new(&world.beside("gate"));
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
fn exec_in_a_shell_that_is_stopped_says_so_and_how_it_goes_on() {
    in_each(shells(), |command| {
        let world = World::new();
        let life = shell(&world, command);
        rest(&world, &life);
        assert_eq!(world.abide.run(&["signal", "STOP", &life.id]).code(), Some(0));
        let ran = exec(&world, &life, "echo no");
        assert!(ran.code() == Some(125) && ran.stderr.contains("is a shell that is stopped"), "{ran:?}");
        let way_out = format!("`abide signal CONT {}`", life.id);
        assert!(ran.stderr.contains(&way_out), "{ran:?}");
        assert_eq!(world.abide.run(&["signal", "CONT", &life.id]).code(), Some(0));
        assert_eq!(exec(&world, &life, "echo next").stdout, "next\n", "{command:?}");
    });
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

#[test]
fn exec_where_the_terminal_does_not_echo_is_exact_and_shown_as_if_it_did() {
    for command in [BASH, &["dash"]] {
        let world = World::new();
        let life = shell(&world, command);
        assert_eq!(exec(&world, &life, "stty -echo").code(), Some(0), "{command:?}");
        let ran = exec(&world, &life, "echo with''out; (exit 4)");
        assert_eq!((ran.code(), ran.stdout.as_str()), (Some(4), "without\n"), "{command:?}: {ran:?}");
        let shown = world.shown(&life.id);
        assert!(shown.contains("echo with''out; (exit 4)\r\n"), "{command:?}: {shown}");
        assert_unseen(&world, &life);
    }
}

#[test]
fn exec_behind_a_host_that_was_busy_while_its_answers_were_typed_runs_the_line() {
    const QUESTIONS: usize = 20_000;
    // The frame of an answer begins so.
    const ANSWER: &[u8] = b"\xabid\x01a";
    let world = World::new();
    let life = shell(&world, BASH);
    let (path, python) = (world.beside("gate"), need("python3"));
    let gate = Gate::new(&path);
    // More than a terminal holds, so that some of it waits for the program to read.
    let asks = format!(
        "import os, termios, time, tty\n\
        fd = os.open('/dev/tty', os.O_RDWR)\n\
        before = termios.tcgetattr(fd)\n\
        tty.setraw(fd)\n\
        os.write(fd, b'\\033[6n' * {QUESTIONS})\n\
        open('{path}').readline()\n\
        left = {QUESTIONS}\n\
        while left: left -= os.read(fd, 4096).count(b'R')\n\
        termios.tcsetattr(fd, termios.TCSAFLUSH, before)\n\
        print('all ' + 'read')\n"
    );
    let script = world.home.around().file("asks.py", &asks);
    let line = format!("{python} {}", script.display());
    let typed = world.abide.run(&["type", &life.id, &line, "--enter"]);
    assert_eq!(typed.code(), Some(0), "{typed:?}");
    until("all is on its way", || recorded(&world, &life.id, ANSWER) == QUESTIONS);
    let host = life.helper("host", None);
    host.signal(Signal::STOP);
    until("it stands still", || life.inspect()["processes"]["host"]["qualifier"] == "stopped");
    gate.open();
    until("it has read all", || recorded(&world, &life.id, b"all read") > 0);
    host.signal(Signal::CONT);
    until("a line runs", || exec(&world, &life, "echo next").stdout == "next\n");
}
