//! What users set in their shells: options, keys, another shell in the place of the first.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use abide_testkit::deadline::until;

use super::{BASH, assert_unseen, exec, shell, shells};
use crate::common::{Gate, World};

#[test]
fn exec_in_a_shell_that_returns_at_each_failure_tells_the_code_and_goes_on() {
    let world = World::new();
    let life = shell(&world, &["zsh", "-f"]);
    for (line, code, output) in [
        ("setopt errreturn", 0, ""),
        ("echo one; sh -c 'exit 4'; echo two", 4, "one\n"),
        ("echo $?", 0, "4\n"),
        ("[[ -o errreturn ]]; false", 1, ""),
        ("unsetopt errreturn; false; echo $?", 0, "1\n"),
    ] {
        let ran = exec(&world, &life, line);
        assert_eq!((ran.code(), ran.stdout.as_str()), (Some(code), output), "{line}: {ran:?}");
    }
    assert_unseen(&world, &life);
}

#[test]
fn exec_runs_nothing_that_a_trap_or_a_function_of_the_users_prints() {
    let world = World::new();
    let sign = world.beside("sign");
    let prints = format!("echo \"touch {sign}\"");
    for habit in [
        &format!("set -T; trap '{prints} >&1' DEBUG"),
        "shopt -s extdebug; pre() { printf '\\e]0;%s\\a' \"$BASH_COMMAND\"; }; trap pre DEBUG",
        &format!("exit() {{ {prints}; }}"),
        &format!("shopt -s expand_aliases; alias exit='{prints};'"),
    ] {
        let life = shell(&world, BASH);
        assert_eq!(exec(&world, &life, habit).code(), Some(0), "{habit}");
        assert_eq!(exec(&world, &life, "(builtin exit 7)").code(), Some(7), "{habit}");
        let ran = exec(&world, &life, "builtin echo $? next");
        assert!(ran.code() == Some(0) && ran.stdout.contains("7 next\n"), "{habit}: {ran:?}");
        assert!(!ran.stdout.contains("__abide"), "{habit}: {ran:?}");
        assert!(!Path::new(&sign).exists(), "{habit}");
    }
}

#[test]
fn exec_of_another_shell_in_the_place_of_its_own_says_so_once_that_waits() {
    let world = World::new();
    let life = shell(&world, BASH);
    for next in shells().skip(1).chain([BASH]) {
        let line = format!("exec {}", next.join(" "));
        let ran = world.abide.run(&["exec", "--json", "--timeout", "20s", &life.id, "--", &line]);
        let told = ran.json();
        assert_eq!((ran.code(), &told["error"]["code"]), (Some(125), &"interrupted".into()), "{line} {told}");
        assert_eq!(exec(&world, &life, "echo next").stdout, "next\n", "{next:?}");
    }
    assert_unseen(&world, &life);
}

#[test]
fn exec_on_a_screen_that_what_runs_the_line_does_not_fit_on_shows_the_line_alone() {
    let world = World::new();
    let life = shell(&world, BASH);
    for size in ["10x5", "7x3", "25x2", "13x8"] {
        assert_eq!(world.abide.run(&["resize", &life.id, size]).code(), Some(0), "{size}");
        assert_eq!(exec(&world, &life, "false").code(), Some(1), "{size}");
        let shown = world.abide.run(&["snapshot", "--scrollback", &life.id]).stdout.replace('\n', "");
        assert!(!shown.contains(['&', '>', '{', '}']), "{size}: {shown}");
    }
    assert_unseen(&world, &life);
}

#[test]
fn exec_runs_no_command_that_is_bound_to_a_key() {
    for command in shells() {
        let world = World::new();
        let life = shell(&world, command);
        let sign = world.beside("sign");
        let bind = match command[0] {
            "bash" => format!(r#"for k in a e k u w l; do bind -x "\"\C-$k\": echo $k >>{sign}"; done"#),
            "zsh" => format!(
                "own() {{ echo $KEYS >>{sign}; }}; zle -N own; for k in A E K U W L; do bindkey ^$k own; done"
            ),
            "fish" => "aekuwl".chars().map(|k| format!(r"bind \c{k} 'echo {k} >>{sign}';")).collect(),
            _ => continue,
        };
        assert_eq!(exec(&world, &life, &bind).code(), Some(0), "{command:?}");
        assert_eq!(exec(&world, &life, "echo next").stdout, "next\n", "{command:?}");
        assert!(!Path::new(&sign).exists(), "{command:?}");
    }
}

#[test]
fn exec_behind_what_a_shell_itself_put_there_runs_neither() {
    let world = World::new();
    let life = shell(&world, BASH);
    let file = world.beside("file");
    let one = format!("echo one >>{file}");
    for line in ["set -o history; shopt -s histverify", &one, "!!"] {
        assert_eq!(world.abide.run(&["type", &life.id, line, "--enter"]).code(), Some(0), "{line}");
        let ran = world.abide.run(&["wait", &life.id, "--idle", "200ms"]);
        assert_eq!(ran.code(), Some(0), "{ran:?}");
    }
    let ran = exec(&world, &life, &format!("echo two >>{file}"));
    assert_eq!(ran.code(), Some(125), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), Some("one\n"), "{ran:?}");
    assert_eq!(exec(&world, &life, "echo next").stdout, "next\n");
}

#[test]
fn exec_in_zsh_calls_a_trap_for_failures_once_for_each_of_the_line() {
    let world = World::new();
    let life = shell(&world, &["zsh", "-f"]);
    let file = world.beside("failures");
    for (line, code, output) in [
        (format!("trap 'echo $? >>{file}' ERR").as_str(), 0, ""),
        ("(exit 4)", 4, ""),
        ("echo $?", 0, "4\n"),
        ("sh -c 'exit 5'; true", 0, ""),
    ] {
        let ran = exec(&world, &life, line);
        assert_eq!((ran.code(), ran.stdout.as_str()), (Some(code), output), "{line}: {ran:?}");
    }
    assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), Some("4\n5\n"));
}

#[test]
fn exec_in_fish_keeps_what_the_line_sets_for_the_prompt() {
    let world = World::new();
    let life = shell(&world, &["fish", "--no-config"]);
    assert_eq!(exec(&world, &life, "set -l here 1; false").code(), Some(1));
    let ran = exec(&world, &life, "echo $status $here; return 3");
    assert_eq!((ran.code(), ran.stdout.as_str()), (Some(3), "1 1\n"), "{ran:?}");
    assert_unseen(&world, &life);
}

#[test]
fn exec_where_a_shell_reads_whole_lines_is_refused_and_says_why() {
    let unedited = [&["bash", "--norc", "--noediting"][..], &["zsh", "-f", "-o", "nozle"]];
    for command in unedited {
        let world = World::new();
        let life = shell(&world, command);
        let ran = exec(&world, &life, "echo one");
        assert!(ran.code() == Some(125) && ran.stderr.contains("without its line editor"), "{ran:?}");
        assert!(!world.shown(&life.id).contains("one"), "nothing was typed");
    }
}

#[test]
fn exec_removes_what_a_killed_one_left_and_nothing_of_those_that_live_or_run() {
    let world = World::new();
    let life = shell(&world, BASH);
    let leave = |name: &str, files: &[&str]| {
        let dir = world.dir(&life.id).join(name);
        DirBuilder::new().mode(0o700).create(&dir).expect("there is room");
        files.iter().for_each(|file| drop(File::create(dir.join(file)).expect("there is room")));
        dir
    };
    let (killed, runs) = (leave("exec-killed", &["a", "l", "z"]), leave("exec-runs", &["a", "l", "z", "r"]));
    let over = leave("exec-over", &["a", "l", "z", "s"]);
    let lives = leave("exec-lives", &["a"]);
    let held = File::open(&lives).expect("it is there");
    held.lock().expect("nobody else holds it");
    let line = format!("printf %s $$ >{}/p; echo next", over.display());
    assert_eq!(exec(&world, &life, &line).stdout, "next\n");
    assert_eq!([&killed, &over, &runs, &lives].map(|dir| dir.exists()), [false, false, true, true]);
}

#[test]
fn exec_in_a_shell_of_another_user_is_refused_before_anything_is_typed() {
    let world = World::new();
    if !rustix::process::geteuid().is_root() {
        // Nobody else's shell can be had; one of ours is not taken for that, whatever user it believes to be.
        let life = shell(&world, &["unshare", "--user", "bash", "--norc"]);
        life.until_shown("$ ");
        assert_eq!(exec(&world, &life, "id -u").stdout, "65534\n");
        return;
    }
    let other = ["setpriv", "--reuid", "65534", "--clear-groups", "bash", "--norc"];
    let life = shell(&world, &other);
    life.until_shown("$ ");
    let ran = exec(&world, &life, "id");
    assert!(ran.code() == Some(125) && ran.stderr.contains("another user"), "{ran:?}");
    assert!(!world.shown(&life.id).contains("exec-"), "nothing was typed");
}

#[test]
fn exec_below_a_line_that_started_a_shell_leaves_that_line_its_end_and_its_code() {
    for command in shells() {
        let world = World::new();
        let life = shell(&world, command);
        let outer = world.abide.run(&["exec", &life.id, "--timeout", "300ms", "--", "bash --norc"]);
        assert_eq!(outer.code(), Some(124), "{outer:?}");
        assert_eq!(exec(&world, &life, "echo inner").stdout, "inner\n", "{command:?}");
        let ended = exec(&world, &life, "exit 7");
        assert_eq!((ended.code(), ended.stdout.as_str()), (Some(125), "exit\n"), "{command:?} {ended:?}");
        let status = if command[0] == "fish" { "$status" } else { "$?" };
        assert_eq!(exec(&world, &life, &format!("echo {status}")).stdout, "7\n", "{command:?}");
        assert!(!world.shown(&life.id).contains("rror"), "{command:?}");
        assert_unseen(&world, &life);
    }
}

#[test]
fn exec_that_others_run_below_shows_what_they_wrote_and_not_how_and_says_why_it_has_no_code() {
    let world = World::new();
    let life = shell(&world, BASH);
    let outer = ["exec", "--json", "--timeout", "1m", &life.id, "--", "bash --norc"];
    let mut outer = world.start(&outer);
    life.until_shown("bash --norc");
    until("it runs below", || exec(&world, &life, "echo inn''er").stdout == "inner\n");
    assert_eq!(exec(&world, &life, "exit 5").code(), Some(125));
    let told: serde_json::Value = serde_json::from_str(&outer.line()).expect("an answer");
    assert_eq!(told["error"]["code"], "interrupted", "{told}");
    assert!(
        told["error"]["message"].as_str().is_some_and(|why| why.contains("another exec began")),
        "{told}"
    );
    let output = told["data"]["output"].as_str().expect("text");
    assert!(output.contains("echo inn''er\ninner\n"), "{output}");
    for secret in ["__abide", "exec-", "7717"] {
        assert!(!output.contains(secret), "{output}");
    }
    assert_eq!(outer.reap(), abide_testkit::Ending::Exited(125));
    assert_unseen(&world, &life);
}

#[test]
fn exec_in_bash_takes_no_word_of_an_earlier_job_for_output_and_lets_a_line_wait_for_one() {
    let world = World::new();
    let life = shell(&world, BASH);
    let end_a_job = |name: &str| {
        let gate = Gate::new(&world.beside(name));
        let line = format!("(read go <{}; exit 5) & echo $!", world.beside(name));
        let begun = exec(&world, &life, &line).stdout;
        let job = begun.lines().last().expect("its number").to_owned();
        // At its prompt again: what it says before that is part of how the line was run, and hidden.
        let _ = world.abide.run(&["wait", &life.id, "--idle", "200ms", "--timeout", "30s"]);
        gate.open();
        until("the shell has reaped it", || !Path::new("/proc").join(&job).exists());
    };
    end_a_job("first");
    assert_eq!(exec(&world, &life, "seq 2").stdout, "1\n2\n");
    life.until_shown("Exit 5");
    end_a_job("second");
    let ran = exec(&world, &life, "wait %1");
    assert_eq!((ran.code(), ran.stdout.as_str()), (Some(5), ""), "{ran:?}");
    assert_unseen(&world, &life);
}

#[test]
fn exec_does_not_mind_aliases_for_what_runs_the_line() {
    for command in shells().filter(|command| command[0] != "fish") {
        let world = World::new();
        let life = shell(&world, command);
        let words = ["builtin", "command", "unset", "return", "set", "eval", "exit", "printf", "test"];
        let aliases: String = words.iter().map(|word| format!("alias {word}='echo {word}'; ")).collect();
        assert_eq!(exec(&world, &life, &aliases).code(), Some(0), "{command:?}");
        assert_eq!(exec(&world, &life, r"(\exit 7)").code(), Some(7), "{command:?}");
        assert_eq!(exec(&world, &life, "echo $?").stdout, "7\n", "{command:?}");
        let shown = world.shown(&life.id);
        assert!(!shown.contains("exec-"), "{command:?} {shown}");
    }
}

#[test]
fn exec_in_zsh_does_not_mind_functions_for_what_runs_the_line() {
    let world = World::new();
    let life = shell(&world, &["zsh", "-f"]);
    let line = "for f in unset return set setopt print fc; do eval \"function $f { echo $f; }\"; done";
    assert_eq!(exec(&world, &life, line).code(), Some(0));
    let ran = exec(&world, &life, "echo one; sh -c 'exit 7'");
    assert_eq!((ran.code(), ran.stdout.as_str()), (Some(7), "one\n"), "{ran:?}");
    assert_eq!(exec(&world, &life, "echo $?").stdout, "7\n");
}

#[test]
fn a_line_without_a_command_leaves_the_code_before_it() {
    for command in shells() {
        let world = World::new();
        let life = shell(&world, command);
        for (line, code) in [("sh -c 'exit 7'", 7), ("", 7), ("  ", 7), ("true", 0), ("", 0)] {
            let ran = exec(&world, &life, line);
            assert_eq!((ran.code(), ran.stdout.as_str()), (Some(code), ""), "{command:?} {line:?} {ran:?}");
        }
        assert_unseen(&world, &life);
    }
}

#[test]
fn no_line_is_in_a_history_that_was_empty() {
    let world = World::new();
    let life = shell(&world, &["zsh", "-f"]);
    assert_eq!(exec(&world, &life, "TOKEN='s3cret' true").code(), Some(0));
    let told = exec(&world, &life, "fc -l 1");
    assert!(told.code() == Some(0) && !told.stdout.contains("s3cret"), "{told:?}");
}

#[test]
fn what_keys_bring_back_behind_a_line_is_none_of_what_ran_it() {
    let vi: &[&str] = &["zsh", "-f", "-o", "vi"];
    for (command, keys) in [
        (BASH, &["Up", "Ctrl-Y", "Alt-."][..]),
        (&["zsh", "-f"], &["Up", "Ctrl-Y", "Alt-."]),
        (vi, &["Up", "Escape", "P"]),
        (&["fish"], &["Up", "Up", "Alt-."]),
    ] {
        let world = World::new();
        let life = shell(&world, command);
        assert_eq!(exec(&world, &life, "echo one").stdout, "one\n");
        for key in keys.iter().chain(&["Ctrl-C"]) {
            assert_eq!(world.abide.run(&["keys", &life.id, key]).code(), Some(0));
            let ran = world.abide.run(&["wait", &life.id, "--idle", "200ms", "--timeout", "20s"]);
            assert_eq!(ran.code(), Some(0), "{ran:?}");
        }
        assert_unseen(&world, &life);
    }
}

#[test]
fn exec_leaves_no_trace_in_the_history_of_a_zsh_whose_widgets_are_wrapped() {
    for options in [&["zsh", "-f"][..], &["zsh", "-f", "-o", "vi"]] {
        let world = World::new();
        let life = shell(&world, options);
        // As plugins that suggest or colour what is typed do with every widget there is.
        let wrap = "expand() { emulate -L zsh; zle .expand-word }; complete() { emulate -L zsh; zle .expand-or-complete }; \
            zle -N expand-word expand; zle -N expand-or-complete complete; setopt incappendhistory; SAVEHIST=50 HISTSIZE=50";
        assert_eq!(exec(&world, &life, wrap).code(), Some(0));
        for line in ["setopt errexit", "trap 'echo failed' ZERR", "echo one", "unsetopt errexit; trap - ZERR"]
        {
            let ran = exec(&world, &life, line);
            let output = if line.starts_with("echo") { "one\n" } else { "" };
            assert_eq!((ran.code(), ran.stdout.as_str()), (Some(0), output), "{options:?} {line}");
        }
        let left = r#"echo "<${(Mk)functions:#__ab*}$zshaddhistory_functions>"; [[ -o histignorespace ]]"#;
        let kept = exec(&world, &life, &format!("fc -l 1; {left}"));
        assert!(kept.code() == Some(1) && kept.stdout.ends_with("\n<>\n"), "{options:?} {kept:?}");
        assert!(!kept.stdout.contains("exec-"), "{options:?} {kept:?}");
        assert_unseen(&world, &life);
    }
}
