//! The schemas against what the commands really print.

use std::collections::BTreeSet;

use abide_core::evidence::How;
use abide_testkit::scene::everything;
use serde_json::{Value, json};

use crate::common::{Stage, word};
use crate::usage::verbs;

/// No object may have a field that its schema does not name.
fn strict(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        if object.contains_key("properties") {
            object.entry("additionalProperties").or_insert(json!(false));
        }
        object.values_mut().for_each(strict);
    }
    if let Some(list) = schema.as_array_mut() {
        list.iter_mut().for_each(strict);
    }
}

fn check(stage: &Stage, verb: Option<&str>, answer: &Value) {
    let mut schema: Value = serde_json::from_str(&match verb {
        Some(verb) => stage.text(&["schema", verb]),
        None => stage.text(&["schema"]),
    })
    .expect("JSON");
    strict(&mut schema);
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(answer).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{verb:?}: {errors:#?}\n{answer:#}");
}

#[test]
fn what_every_command_prints_is_what_its_schema_says() {
    let stage = Stage::new();
    let everything = everything(&stage.path());
    let ids: Vec<&str> = everything.scenes.iter().map(|(_, scene)| scene.id()).collect();
    let _declared =
        stage.over("declared").declared("success", 0).ended(How::Signaled { signal: 11, core: true });
    let at = ["why", "--at", "1s ago", "declared"];
    let mut asked: Vec<Vec<&str>> = vec![
        vec!["ls"],
        vec!["ls", "-a"],
        [vec!["inspect"], ids.clone()].concat(),
        at.to_vec(),
        vec!["doctor"],
        vec!["doctor", "--fix"],
        vec!["version"],
        vec!["schema"],
        vec!["inspect", "nobody"],
        vec!["why", "--at", "soon", "declared"],
        vec!["ls", "--nope"],
        vec!["run", "--wait", "--name", "said", "--", "echo", "hello"],
        vec!["logs", "said"],
        vec!["snapshot", "said"],
        vec!["attach", "said"],
        vec!["run", "-d", "--name", "idle", "--", "cat"],
        vec!["wait", "--cap", "1ms", "idle"],
        vec!["signal", "idle", "CONT"],
        vec!["signal", "idle", "NONE"],
        vec!["stop", "--grace", "0s", "idle"],
        vec!["stop", "idle"],
    ];
    asked.extend(ids.iter().flat_map(|id| [vec!["inspect", id], vec!["why", id]]));
    let mut checked = BTreeSet::new();
    for args in asked {
        // A stream has an answer a line, everything else just one.
        let ran = stage.abide.run(&[&args[..1], &["--json"], &args[1..]].concat());
        assert!(!ran.stdout.is_empty(), "{args:?} says nothing: {ran:?}");
        for line in ran.stdout.lines() {
            let answer: Value = serde_json::from_str(line).unwrap();
            check(&stage, Some(args[0]), &answer);
            assert_eq!(answer["command"], args[0]);
            if args[0] != "schema" {
                check(&stage, None, &answer);
            }
        }
        checked.insert(args[0]);
    }
    // The tour prints no more than claims, and has a test of its own.
    checked.insert("demo");
    let unchecked: Vec<String> =
        verbs(&stage).into_iter().filter(|verb| !checked.contains(verb.as_str())).collect();
    assert!(unchecked.is_empty(), "add what {unchecked:?} prints to this test");
}

#[test]
fn a_session_has_exactly_the_promised_fields() {
    const FIELDS: &str = "id name status stopping argv cwd labels started_at ended_at uptime_ms exit_code wait_code \
        outcome declared processes host turn attention stuck_since agent screen recording resources survivors because";
    let stage = Stage::new();
    let everything = everything(&stage.path());
    let promised: Vec<&str> = FIELDS.split_whitespace().collect();
    for (_, scene) in &everything.scenes {
        let text = stage.text(&["inspect", "--json", scene.id()]);
        let session = &serde_json::from_str::<Value>(&text).unwrap()["data"];
        let mut fields: Vec<&String> = session.as_object().unwrap().keys().collect();
        fields.sort_by_key(|field| promised.iter().position(|promised| promised == field));
        assert_eq!(fields, promised, "{session}");
    }
    let exited = stage.inspect("exited00");
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&exited["outcome"]), "cause code core kind observed_by signal");
    assert_eq!(keys(&exited["processes"]), "guard host program");
    assert_eq!(keys(&exited["processes"]["guard"]), "liveness pid qualifier");
    assert_eq!(keys(&exited["host"]), "generation version");
    assert_eq!(keys(&exited["screen"]), "cols rows source title");
    assert_eq!(keys(&exited["recording"]), "bytes complete path");
    assert_eq!(keys(&exited["because"][0]), "at fact says witness");
}

#[test]
fn one_document_holds_what_all_commands_share() {
    let stage = Stage::new();
    let whole: Value = serde_json::from_str(&stage.text(&["schema"])).unwrap();
    assert_eq!(whole["title"], "abide/1");
    let statuses: Vec<String> =
        whole["$defs"]["Status"]["enum"].as_array().unwrap().iter().map(word).collect();
    let table: Vec<&str> = abide_core::status::Status::ALL.iter().map(|status| status.name()).collect();
    assert_eq!(statuses, table);
    let required = whole["$defs"]["Session"]["required"].as_array().unwrap();
    assert_eq!(required.len(), 25, "every field is always there");
    let one: Value = serde_json::from_str(&stage.text(&["schema", "version"])).unwrap();
    assert!(one["$defs"].get("Session").is_none() && one["$defs"].get("Kernel").is_some());
}
