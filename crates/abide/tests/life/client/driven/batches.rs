//! Batches: many steps in one call, one result for each.

use abide_testkit::deadline::until;
use abide_testkit::{Ending, Ran};
use rustix::process::Signal;
use serde_json::Value;

use super::shell;
use crate::common::{Gate, Life, World, data};

/// A batch of steps, one a line.
fn batch(world: &World, life: &Life<'_>, flags: &[&str], steps: &[&str]) -> (Ran, Vec<Value>) {
    let ran = world.abide.run(&[&["batch", "--json"], flags, &[life.id.as_str()], steps].concat());
    let results = data(&ran)["steps"].as_array().expect("steps").clone();
    (ran, results)
}

fn outcomes(results: &[Value]) -> Vec<&str> {
    results.iter().filter_map(|result| result["outcome"].as_str()).collect()
}

#[test]
fn steps_are_done_in_their_order_and_each_answers_as_its_command_would() {
    let world = World::new();
    let life = shell(&world);
    let steps = [
        "# a remark",
        "type 'echo \"a b\"' --enter",
        "wait --regex '^a b$'",
        "",
        "exec -- 'echo out; exit_code() { return 0; }; exit_code'",
        "mark here",
        "resize 100x30",
        "signal WINCH",
        "snapshot",
        "keys Ctrl-D",
        "wait",
    ];
    let (ran, results) = batch(&world, &life, &[], &steps);
    assert_eq!((ran.code(), outcomes(&results)), (Some(0), vec!["done"; 9]), "{ran:?}");
    assert_eq!(results[0]["words"], serde_json::json!(["type", "echo \"a b\"", "--enter"]));
    assert_eq!(results[1]["data"]["met"], true);
    assert_eq!((&results[2]["data"]["output"], &results[2]["exit_code"]), (&"out\n".into(), &0.into()));
    assert_eq!(results[6]["data"]["cols"], 100);
    assert_eq!(results[5]["data"]["name"], "SIGWINCH");
    assert_eq!((&results[8]["data"]["ended"], &results[8]["step"]), (&true.into(), &9.into()));
}

#[test]
fn the_first_step_that_fails_ends_a_batch_unless_it_is_to_keep_going() {
    let world = World::new();
    let life = shell(&world);
    let steps = ["exec -- '(exit 7)'", "keys click:0,0", "exec -- 'echo on'"];
    let (ran, results) = batch(&world, &life, &[], &steps);
    assert_eq!((ran.code(), outcomes(&results)), (Some(7), vec!["failed", "skipped", "skipped"]), "{ran:?}");
    assert_eq!((&results[0]["exit_code"], &results[1]["exit_code"]), (&7.into(), &Value::Null));
    let (ran, results) = batch(&world, &life, &["--keep-going"], &steps);
    assert_eq!((ran.code(), outcomes(&results)), (Some(7), vec!["failed", "failed", "done"]), "{ran:?}");
    let error = &results[1]["error"];
    assert_eq!((&error["code"], &results[1]["exit_code"]), (&"bad_key".into(), &2.into()), "{error}");
    assert_eq!(results[2]["data"]["output"], "on\n");
}

#[test]
fn a_wait_counts_what_was_shown_after_the_typing_before_it_and_nothing_older() {
    let world = World::new();
    let life = shell(&world);
    let stale = ["exec -- 'echo stale'", "wait --text stale", "type :", "wait --text stale --timeout 300ms"];
    let (ran, results) = batch(&world, &life, &[], &stale);
    assert_eq!((ran.code(), &results[3]["data"]["met"]), (Some(124), &false.into()), "{ran:?}");
    let older = ["keys Ctrl-U", "type x", "wait --text stale --since 0"];
    assert_eq!(batch(&world, &life, &[], &older).0.code(), Some(0), "it says what counts");
    // Everything that was typed since the wait before counts, not the last key alone.
    let keys = ["keys Ctrl-U", "type 'echo fresh' --enter", "keys Space", "wait --regex '^fresh$'"];
    assert_eq!(batch(&world, &life, &["--timeout", "20s"], &keys).0.code(), Some(0));
}

#[test]
fn waits_one_behind_another_count_what_came_since_the_same_typing() {
    let world = World::new();
    let life = shell(&world);
    let old = ["exec -- 'echo Compiling; echo Finished'"];
    assert_eq!(batch(&world, &life, &[], &old).0.code(), Some(0));
    let gate = Gate::new(&world.beside("gate"));
    let path = world.beside("gate");
    let build = format!("type \"echo Comp''iling; read go <{path}; echo Fin''ished\" --enter");
    let stale = [&build, "wait --text Compiling", "wait --text Finished --timeout 500ms"];
    let (ran, results) = batch(&world, &life, &["--timeout", "20s"], &stale);
    assert_eq!((ran.code(), &results[2]["data"]["met"]), (Some(124), &false.into()), "{ran:?}");
    gate.open();
    // What came before the wait in front of it was met, and scrolled by, came since.
    let both = "type \"echo a''head; seq 2000; echo la''st\" --enter";
    let waits = [both, "wait --text last", "mark between", "wait --regex '^ahead$'", "wait --text last"];
    assert_eq!(batch(&world, &life, &["--timeout", "20s"], &waits).0.code(), Some(0));
    let again = [both, "wait --text last", "keys Space", "wait --regex '^ahead$' --timeout 300ms"];
    assert_eq!(batch(&world, &life, &["--timeout", "20s"], &again).0.code(), Some(124), "typed anew");
}

#[test]
fn a_wait_behind_a_signal_a_resize_or_a_step_that_failed_counts_nothing_older() {
    let world = World::new();
    let life = shell(&world);
    assert_eq!(batch(&world, &life, &[], &["exec -- \"echo st''ale\""]).0.code(), Some(0));
    for step in ["signal WINCH", "resize 100x30", "keys click:0,0"] {
        let steps = [step, "wait --text stale --timeout 300ms"];
        let (ran, results) = batch(&world, &life, &["--keep-going"], &steps);
        assert_eq!(
            (results[1]["exit_code"].as_u64(), &results[1]["data"]["met"]),
            (Some(124), &false.into()),
            "{ran:?}"
        );
    }
    assert_eq!(batch(&world, &life, &[], &["wait --text stale"]).0.code(), Some(0), "nothing acted before");
}

#[test]
fn steps_that_make_no_sense_are_refused_before_the_first_is_done() {
    let world = World::new();
    let life = shell(&world);
    for (steps, says) in [
        (&["type x", "attach"][..], "step 2: `attach` is no step"),
        (&["type x", "type"], "step 2: TEXT is missing"),
        (&["type x", "type 'y"], "line 2 of the steps has a quote that is not closed"),
        (&["type x", "snapshot --home /tmp"], "step 2: --home is not for a step"),
        (&["[[\"type\", 1]]"], "the steps are no list of lists of words"),
        (&["# nothing"], "there is no step"),
        (&["type x", "keys NoSuchKey"], "step 2: `NoSuchKey` is no key"),
        (&["type x", "type --help"], "step 2: --help is not for a step"),
        (&["type x", "keys a --tiemout 1s"], "step 2: `keys` has no option `--tiemout`"),
        (&["type x", "resize wide"], "step 2: `wide` is no size"),
        (&["type x", "signal NONE"], "step 2: `NONE` is no signal"),
        (&["type x", "mark ' '"], "step 2: `` cannot be the name of a mark"),
        (&["type x", "stop --grace soon"], "step 2: `soon` is no duration"),
        (&["type x", "exec --timeout 5 -- ls"], "step 2: `5` is no duration"),
        (&["type x", "paste --timeout soon y"], "step 2: `soon` is no duration"),
        (&["type x", "wait --regex ("], "step 2: `(` is no regular expression"),
        (&["type x", "wait --text y --timeout soon"], "step 2: `soon` is no duration"),
        (&["type x", "wait --text ''"], "step 2: an empty text"),
        (&["type x", "wait --timeout 1s"], "step 2: --timeout says nothing without a condition"),
        (&["type x", "logs --follow"], "step 2: --follow and --raw are not for a step"),
        (&["type x", "logs --raw"], "step 2: --follow and --raw are not for a step"),
        (&["type x", "logs --since soon"], "step 2: `soon` is no time"),
        (&["type x", "snapshot --at +soon"], "step 2: `+soon` is no time"),
        (&["type x", "diff --from ''"], "step 2: `` is no time"),
        (&["type x", "screenshot --at '#x'"], "step 2: `#x` is no time"),
    ] {
        let ran = world.abide.run(&[&["batch", "--json", &life.id], steps].concat());
        let error = ran.json()["error"].clone();
        // As its command alone says.
        let code = match says {
            time if time.ends_with("is no duration") || time.ends_with("is no time") => "bad_time",
            key if key.ends_with("is no key") => "bad_key",
            _ => "usage",
        };
        assert_eq!((ran.code(), &error["code"]), (Some(2), &code.into()), "{ran:?}");
        assert!(error["message"].as_str().expect("text").starts_with(says), "{error}");
    }
    let ran = world.abide.run(&["batch", "--json", "--timeout", "5", &life.id, "type x"]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(2), &"bad_time".into()), "{ran:?}");
    let shown = data(&world.abide.run(&["snapshot", "--json", &life.id]));
    assert_eq!(shown["lines"][0], "% ".trim_end(), "nothing was typed: {shown}");
}

#[test]
fn people_are_told_of_each_step_and_shown_what_it_gave() {
    let world = World::new();
    let life = shell(&world);
    let steps =
        r#"[["exec","--","echo 'one'; echo two"],["wait","--text","never","--timeout","50ms"],["snapshot"]]"#;
    let ran = world.abide.run(&["batch", &life.id, steps]);
    let expected = "  1  done     exec -- 'echo '\\''one'\\''; echo two'\n     one\n     two\n  \
                    2  failed   wait --text never --timeout 50ms\n     not met when the time was up\n     \
                    `abide snapshot ID` shows what is to be seen instead\n  3  skipped  snapshot\n";
    let told = ran.stdout.replace(&life.id, "ID");
    assert_eq!((ran.code(), told.as_str()), (Some(124), expected), "{ran:?}");
    let ran = world.abide.run(&["batch", &life.id, "exec -- 'echo hm; (exit 9)'"]);
    let expected = "  1  failed   exec -- 'echo hm; (exit 9)'\n     hm\n     its code is 9\n";
    assert_eq!((ran.code(), ran.stdout.as_str()), (Some(9), expected), "{ran:?}");
    let ran = world.abide.run(&["batch", &life.id, "type exit --enter", "wait --text never"]);
    assert!(ran.stdout.ends_with("wait --text never\n     the session ended before\n"), "{ran:?}");
}

#[test]
fn a_step_may_have_more_lines_than_one_where_they_are_quoted() {
    let world = World::new();
    let life = shell(&world);
    let file = world.beside("steps");
    let text = "exec -- 'echo one\necho two'\n# a remark\nexec -- echo three\n";
    std::fs::File::create(&file)
        .and_then(|mut made| std::io::Write::write_all(&mut made, text.as_bytes()))
        .expect("there is room");
    for given in [&[text][..], &["exec -- 'echo one\necho two'", "exec -- echo three"], &["--file", &file]] {
        let ran = world.abide.run(&[&["batch", "--json", &life.id], given].concat());
        let steps = data(&ran)["steps"].clone();
        let output = |at: usize| steps[at]["data"]["output"].as_str();
        assert_eq!((output(0), output(1)), (Some("one\ntwo\n"), Some("three\n")), "{given:?}: {ran:?}");
    }
}

#[test]
fn each_step_takes_the_sessions_that_its_command_takes() {
    let world = World::new();
    let life = shell(&world);
    assert_eq!(world.abide.run(&["stop", "--grace", "0s", &life.id]).code(), Some(0));
    let (ran, results) =
        batch(&world, &life, &["--keep-going"], &["snapshot", "inspect", "logs", "type x", "stop"]);
    assert_eq!(outcomes(&results), ["done", "done", "done", "failed", "failed"], "{ran:?}");
    let codes = [&results[3]["error"]["code"], &results[4]["error"]["code"]];
    assert_eq!(codes, ["not_commandable", "not_stoppable"], "{ran:?}");
    assert_eq!(ran.code(), Some(5), "{ran:?}");
}

#[test]
fn a_signal_ends_a_batch_in_the_middle_and_what_became_of_each_step_is_told() {
    let world = World::new();
    let life = shell(&world);
    let steps = ["mark one", "wait --text never --timeout 1h", "type no"];
    let mut running = world.start(&[&["batch", &life.id][..], &steps].concat());
    running.until("done     mark one");
    running.signal(Signal::INT);
    running.until("interrupted  wait --text never");
    running.until("skipped  type no");
    assert_eq!(running.reap(), Ending::Exited(130));
    assert_eq!(life.inspect()["status"], "running");
    assert!(!world.shown(&life.id).contains("no"), "nothing more was done");
}

#[test]
fn a_batch_that_a_signal_ends_answers_in_one_whole_object_that_says_so() {
    let world = World::new();
    let life = shell(&world);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let mark = format!("mark {code}");
        let steps = ["mark first", mark.as_str(), "wait --text never --timeout 1h", "type no"];
        let mut running = world.start(&[&["batch", "--json", &life.id][..], &steps].concat());
        until("the second step is done or about to be, and the first is", || {
            let marks = data(&world.abide.run(&["marks", "--json", &life.id]));
            marks.to_string().contains(&format!("\"{code}\""))
        });
        running.signal(signal);
        let answer: Value = serde_json::from_str(&running.line()).expect("one whole object");
        assert_eq!(running.reap(), Ending::Exited(code));
        assert_eq!((&answer["ok"], &answer["error"]["code"]), (&false.into(), &"interrupted".into()));
        assert_eq!(answer["error"]["session"], life.id.as_str());
        let results = answer["data"]["steps"].as_array().expect("steps");
        let told = outcomes(results);
        let of_two =
            [["done", "interrupted", "skipped", "skipped"], ["done", "done", "interrupted", "skipped"]];
        assert!(of_two.iter().any(|of_two| told == *of_two), "{answer}");
        assert_eq!((&results[0]["exit_code"], &results[3]["exit_code"]), (&0.into(), &Value::Null));
    }
}
