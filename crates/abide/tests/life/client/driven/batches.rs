//! Batches: many steps in one call, one result for each.

use abide_testkit::Ran;
use serde_json::Value;

use super::shell;
use crate::common::{Life, World, data};

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
        "snapshot",
        "keys Ctrl-D",
        "wait",
    ];
    let (ran, results) = batch(&world, &life, &[], &steps);
    assert_eq!((ran.code(), outcomes(&results)), (Some(0), vec!["done"; 8]), "{ran:?}");
    assert_eq!(results[0]["words"], serde_json::json!(["type", "echo \"a b\"", "--enter"]));
    assert_eq!(results[1]["data"]["met"], true);
    assert_eq!((&results[2]["data"]["output"], &results[2]["exit_code"]), (&"out\n".into(), &0.into()));
    assert_eq!(results[5]["data"]["cols"], 100);
    assert_eq!((&results[7]["data"]["ended"], &results[7]["step"]), (&true.into(), &8.into()));
}

#[test]
fn the_first_step_that_fails_ends_a_batch_unless_it_is_to_keep_going() {
    let world = World::new();
    let life = shell(&world);
    let steps = ["exec -- '(exit 7)'", "keys NoSuchKey", "exec -- 'echo on'"];
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
    ] {
        let ran = world.abide.run(&[&["batch", "--json", &life.id], steps].concat());
        let error = ran.json()["error"].clone();
        assert_eq!((ran.code(), &error["code"]), (Some(2), &"usage".into()), "{ran:?}");
        assert!(error["message"].as_str().expect("text").starts_with(says), "{error}");
    }
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
                    2  failed   wait --text never --timeout 50ms\n  3  skipped  snapshot\n";
    assert_eq!((ran.code(), ran.stdout.as_str()), (Some(124), expected), "{ran:?}");
}
