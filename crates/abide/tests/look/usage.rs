//! Wrong questions, and readers who leave.

use std::process::Stdio;

use abide_core::evidence::How;
use abide_testkit::scene::dead;
use abide_testkit::{Ran, Running};
use serde_json::Value;

use crate::common::{Stage, complaints, served, word};

/// The verbs, from what the binary says of itself.
pub(crate) fn verbs(stage: &Stage) -> Vec<String> {
    let document: Value = serde_json::from_str(&stage.text(&["schema"])).expect("JSON");
    let named = document["anyOf"].as_array().expect("a list").iter();
    named.map(|refers| word(&refers["$ref"]).trim_start_matches("#/$defs/").to_owned()).collect()
}

fn error(ran: &Ran) -> (Option<i32>, String, String) {
    let answer = ran.json();
    assert_eq!((&answer["ok"], ran.stderr.as_str()), (&false.into(), ""), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 1);
    (ran.code(), word(&answer["error"]["code"]), word(&answer["error"]["hint"]))
}

#[test]
fn usage_errors_are_json_wherever_json_was_asked_for() {
    let stage = Stage::new();
    for args in [
        &["--json"][..],
        &["lss", "--json"],
        &["--json", "inspect"],
        &["inspect", "--json", "--frobnicate", "x"],
        &["ls", "--format", "--json"],
        &["ls", "-q", "--format", "x", "--json"],
        &["schema", "lss", "--json"],
        &["ls", "--json", "extra"],
        &["--home", "--json", "ls"],
        &["keys", "x", "Ctrl-U", "--json", "--frobnicate"],
        &["foo", "exec", "--json"],
    ] {
        let ran = stage.abide.run(args);
        let (code, name, hint) = error(&ran);
        assert_eq!((code, name.as_str()), (Some(2), "usage"), "{args:?}: {ran:?}");
        assert!(hint.contains("--help"), "{args:?}: {hint}");
    }
    let (_, _, hint) = error(&stage.abide.run(&["inspct", "--json"]));
    assert!(hint.contains("did you mean `inspect`?"), "{hint}");
    for (args, command) in [
        (&["ls", "--json", "--nope"][..], "ls"),
        (&["foo", "exec", "--json"], "abide"),
        (&["--home", "exec", "--json", "lss"], "abide"),
        (&["--color", "never", "keys", "--json"], "keys"),
    ] {
        assert_eq!(stage.abide.run(args).json()["command"], command, "{args:?}");
    }
}

#[test]
fn who_types_nothing_behind_abide_is_shown_its_help() {
    let stage = Stage::new();
    let (nothing, help) = (stage.abide.run(&[]), stage.abide.run(&["--help"]));
    assert_eq!((nothing.code(), nothing.stdout.as_str()), (Some(2), ""), "{nothing:?}");
    assert_eq!(nothing.stderr, help.stdout);
}

#[test]
fn behind_two_dashes_json_is_an_argument_like_any_other() {
    let stage = Stage::new();
    let ran = stage.abide.run(&["inspct", "--", "--json"]);
    assert_eq!((ran.code(), ran.stdout.as_str()), (Some(2), ""));
    let expected =
        "abide: there is no command `inspct`\nhint: did you mean `inspect`? `abide --help` shows examples\n";
    assert_eq!(ran.stderr, expected);
}

/// What was typed, the exit code, what is wrong, and what would be right.
const TYPED: &[(&str, i32, &str, &str)] = &[
    ("ps", 2, "there is no command `ps`", "did you mean `ls`? `abide --help` shows examples"),
    ("kill x", 2, "there is no command `kill`", "did you mean `stop`? `abide --help` shows examples"),
    ("new -s x", 2, "there is no command `new`", "did you mean `run`? `abide --help` shows examples"),
    ("frobnicate", 2, "there is no command `frobnicate`", "`abide --help` shows examples"),
    ("foo exec", 2, "there is no command `foo`", "`abide --help` shows examples"),
    ("keys x Ctrl-U --zzz", 2, "`keys` has no option `--zzz`", "`abide keys --help` shows examples"),
    (
        "inspect",
        2,
        "ID is missing",
        "`abide ls -a` lists the sessions, and @last means the latest; `abide inspect --help` shows examples",
    ),
    (
        "ls --formt x",
        2,
        "`ls` has no option `--formt`",
        "did you mean `--format`? `abide ls --help` shows examples",
    ),
    (
        "ls extra",
        2,
        "`extra` is one argument too many for `ls`",
        "`abide inspect extra` tells of one; `abide ls --help` shows examples",
    ),
    ("attach -t x", 2, "`attach` has no option `-t`", "abide attach x"),
    ("logs -t x -f", 2, "`logs` has no option `-t`", "abide logs x -f"),
    ("stop -x y", 2, "`stop` has no option `-x`", "`abide stop --help` shows examples"),
    (
        "ls -q --format x",
        2,
        "`--quiet` cannot be given together with `--format`",
        "`abide ls --help` shows examples",
    ),
    (
        "logs --tail x y",
        2,
        "`x` is no value for `--tail`: it takes a number",
        "`abide logs --help` shows examples",
    ),
    ("logs --tail", 2, "`--tail` needs a value", "`abide logs --help` shows examples"),
    (
        "schema inspct",
        2,
        "`inspct` is no value for `COMMAND`",
        "did you mean `inspect`? `abide schema --help` shows examples",
    ),
    ("man nosuch", 2, "`nosuch` is no value for `COMMAND`", "`abide man --help` shows examples"),
    (
        "--color x ls",
        2,
        "`x` is no value for `--color`",
        "one of `auto`, `always`, `never`; `abide ls --help` shows examples",
    ),
    ("ls --json=x", 2, "`--json` takes no value", "`abide ls --help` shows examples"),
    (
        "result set done --exit-code 300",
        2,
        "`300` is no value for `--exit-code`: it takes a number in 0..=255",
        "`abide result --help` shows examples",
    ),
    (
        "wait",
        125,
        "ID is missing",
        "`abide ls -a` lists the sessions, and @last means the latest; `abide wait --help` shows examples",
    ),
    (
        "run -d --env ABIDE_HOME=/x -- true",
        2,
        "`ABIDE_HOME` is told to every program by abide itself",
        "`env ABIDE_HOME=...` behind `--` sets it for the program",
    ),
    ("run", 125, "COMMAND is missing", "`abide run --help` shows examples"),
    (
        "exec",
        125,
        "ID and LINE are missing",
        "`abide ls -a` lists the sessions, and @last means the latest; `abide exec --help` shows examples",
    ),
    (
        "run ls -la",
        125,
        "`ls` is no option: the program and its arguments come behind `--`",
        "abide run -- ls -la",
    ),
    (
        "run -d --name ls ls run",
        2,
        "`ls` is no option: the program and its arguments come behind `--`",
        "abide run -d --name ls -- ls run",
    ),
];

#[test]
fn every_usage_error_is_told_in_one_style() {
    let stage = Stage::new();
    for (typed, code, says, hint) in TYPED {
        let ran = stage.abide.run(&typed.split_whitespace().collect::<Vec<_>>());
        assert_eq!(ran.stderr, format!("abide: {says}\nhint: {hint}\n"), "{typed}");
        assert_eq!((ran.code(), ran.stdout.as_str()), (Some(*code), ""), "{typed}");
    }
}

#[test]
fn the_command_of_an_example_keeps_its_line_in_a_narrow_terminal() {
    let stage = Stage::new();
    let ran = Ran::of(stage.abide.command(&["run", "--help"]).env("COLUMNS", "50"));
    let wide = stage.text(&["run", "--help"]);
    let examples = wide.lines().skip(1).take_while(|line| !line.is_empty());
    for example in examples {
        let command = example.trim().split("  ").next().unwrap_or_default();
        assert!(ran.stdout.lines().any(|line| line.trim() == command), "{command}: {ran:?}");
    }
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 50), "all fits: {ran:?}");
}

#[test]
fn each_failure_has_its_code_and_names_the_way_out() {
    let stage = Stage::new();
    let gone = dead();
    let first = served(stage.scene("abcd0001"), &gone);
    let _second = served(stage.scene("abcd0002").at(first.next_at()), &gone);
    for (args, exit, name) in [
        (&["inspect", "--json", "zzzz"][..], 3, "no_such_session"),
        (&["why", "--json", ""], 3, "no_such_session"),
        (&["inspect", "--json", "abcd0001", "zzzz"], 3, "no_such_session"),
        (&["inspect", "--json", "abcd"], 4, "ambiguous"),
        (&["why", "--json", "--at", "soon", "abcd0001"], 2, "bad_time"),
        (&["ls", "--json", "--format", "{{.id"], 2, "usage"),
        (&["ls", "--json", "--format", "{{.outcome.cod}}"], 2, "usage"),
        (&["ls", "--json", "--format", "{{id}}"], 2, "usage"),
    ] {
        let ran = stage.abide.run(args);
        let (code, told, hint) = error(&ran);
        assert_eq!((code, told.as_str()), (Some(exit), name), "{args:?}: {ran:?}");
        assert!(!hint.is_empty());
    }
    let ran = stage.abide.run(&["inspect", "abcd"]);
    assert!(ran.stderr.starts_with("abide: `abcd` can mean 2 sessions: abcd000"), "{ran:?}");
    assert!(ran.stderr.ends_with("\nhint: give more letters, or the whole ID\n") && ran.stdout.is_empty());
    assert_eq!(stage.inspect("@last")["id"], "abcd0002");
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let stage = Stage::new();
    let gone = dead();
    for n in 0..120 {
        drop(served(stage.scene(&format!("many{n:04}")), &gone));
    }
    for args in [&["ls", "-a"][..], &["ls", "-a", "--json"], &["schema"], &["--help"]] {
        let mut abide = Running::start(stage.abide.command(args).stderr(Stdio::piped()));
        let first = abide.line();
        assert!(!first.is_empty());
        drop(abide);
        let script = "\"$0\" \"$@\" | head -c 1; echo \" ${PIPESTATUS[0]}\"";
        let command = stage.abide.command(args);
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", script]).arg(command.get_program()).args(args);
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = Ran::of(&mut shell);
        assert!(ran.stdout.ends_with(" 0\n") && complaints(&ran).is_empty(), "{args:?}: {ran:?}");
    }
}

#[test]
fn a_full_disk_behind_the_output_is_told() {
    let stage = Stage::new();
    let _scene = stage.over("exited00").ended(How::Exited { code: 0 });
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", "\"$0\" version > /dev/full"]).arg(env!("CARGO_BIN_EXE_abide"));
    let ran = Ran::of(&mut shell);
    assert_eq!(ran.code(), Some(1), "{ran:?}");
    assert!(ran.stderr.starts_with("abide: cannot write to standard output: No space left"), "{ran:?}");
}

#[test]
fn what_cannot_be_written_as_json_is_told_as_text() {
    let stage = Stage::new();
    for n in 0..40 {
        drop(stage.over(&format!("many{n:04}")).ended(How::Exited { code: 0 }));
    }
    let mut full = std::process::Command::new("bash");
    full.args(["-c", "for verb in version events 'ls -a' 'inspect nobody' 'logs --help' 'wait many0000'; do \"$0\" $verb --json > /dev/full; echo $?; done"]);
    full.arg(env!("CARGO_BIN_EXE_abide"));
    full.envs(stage.abide.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = Ran::of(&mut full);
    assert_eq!(ran.stdout, "1\n1\n1\n3\n1\n125\n", "{ran:?}");
    let told: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("abide: ")).collect();
    let full = "abide: cannot write to standard output: No space left on device (os error 28)";
    assert_eq!(told, [full, full, full, "abide: no session `nobody`", full, full], "{ran:?}");
}

#[test]
fn the_help_of_every_command_says_what_signals_do_to_it() {
    let stage = Stage::new();
    for verb in verbs(&stage) {
        let help = stage.text(&[&verb, "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("HUP, INT and TERM"), "{verb}: {help}");
        let page = stage.text(&["man", &verb]);
        assert!(page.contains("HUP, INT and TERM"), "{verb}: {page}");
    }
}

#[test]
fn every_help_starts_with_examples() {
    let stage = Stage::new();
    assert!(stage.text(&["--help"]).starts_with("Examples:\n  abide "));
    for verb in verbs(&stage) {
        let help = stage.text(&[&verb, "--help"]);
        assert!(help.starts_with(&format!("Examples:\n  abide {verb}")), "{help}");
        assert!(help.contains("--json") && help.contains("--home"), "{help}");
    }
}

#[test]
fn help_shows_every_verb_once_and_breaks_no_word_at_the_end_of_a_line() {
    let stage = Stage::new();
    for columns in [70, 80, 100, 200] {
        let ran = Ran::of(stage.abide.command(&["--help"]).env("COLUMNS", columns.to_string()));
        let (examples, rest) = ran.stdout.split_once("\n\n").expect("examples come first");
        assert!(examples.starts_with("Examples:\n"), "{ran:?}");
        let room = columns.min(100);
        assert!(rest.lines().all(|line| line.chars().count() <= room), "{columns}: {ran:?}");
        for verb in verbs(&stage) {
            let lines = rest.lines().filter(|line| line.starts_with(&format!("  {verb} ")));
            assert_eq!(lines.count(), 1, "{verb}: {ran:?}");
        }
        for group in ["Life:", "Look:", "Drive:", "Learn:", "Options:"] {
            assert!(rest.lines().any(|line| line == group), "{group}: {ran:?}");
        }
    }
}

#[test]
fn the_help_of_every_verb_has_one_form() {
    let stage = Stage::new();
    for verb in verbs(&stage) {
        let help = stage.text(&[&verb, "--help"]);
        assert_eq!(stage.text(&[&verb, "-h"]), help, "{verb}");
        let narrow = Ran::of(stage.abide.command(&[&verb, "--help"]).env("COLUMNS", "80")).stdout;
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&narrow), words(&help), "{verb}");
        // A command that is longer stands alone: nobody could type it in parts.
        let long = narrow.lines().find(|line| line.chars().count() > 80);
        assert_eq!(
            long.filter(|line| !line.contains("abide ") || line.trim().contains("  ")),
            None,
            "{verb}"
        );
        let options = help.lines().skip_while(|line| *line != "Options:").skip(1);
        // What an option does begins beside it.
        let option = options.take_while(|line| !line.is_empty()).find(|line| line.ends_with("--help"));
        assert_eq!(option, None, "{verb}");
    }
}
