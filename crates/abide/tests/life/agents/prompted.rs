//! Prompts: a turn is proved, or it is said why there is none.

use super::{claude, done, launched, until_it};
use crate::common::{World, data};

#[test]
fn a_prompt_opens_a_turn_and_waits_for_its_end() {
    let world = World::new();
    let id = launched(&world);
    let told = data(&world.abide.run(&["prompt", "--json", "--wait", &id, "first line\nsecond line"]));
    assert_eq!(
        (&told["agent"], &told["turn"], &told["attention"]),
        (&"claude".into(), &"settled".into(), &"none".into())
    );
    let turns = world.told(&id, "turn_opened");
    assert_eq!(turns.iter().filter(|turn| turn["turn"] == told["turn_id"]).count(), 1, "{turns:?}");
    let text = std::fs::read_to_string(super::transcript(&world)).expect("a transcript");
    assert!(text.contains("first line\\nsecond line"), "{text}");
    done(&world, &["stop", &id]);
}

#[test]
fn an_agent_that_waits_for_a_person_or_works_is_not_prompted() {
    let world = World::new();
    let id = launched(&world);
    let refused = |arguments: &[&str]| {
        let ran = world.abide.run(&[&["prompt", "--json", &id], arguments].concat());
        (ran.code(), ran.json()["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    let asks = data(&world.abide.run(&["prompt", "--json", "--wait", &id, "go TOOL:[true]"]));
    assert_eq!(asks["attention"], "approval");
    assert_eq!(refused(&["more"]), (Some(5), "wants_person".to_owned()));
    done(&world, &["keys", &id, "Enter"]);
    until_it(&world, &id, &["--turn", "settled"]);
    done(&world, &["prompt", &id, "please HANG"]);
    assert_eq!(refused(&["more"]), (Some(6), "busy".to_owned()));
    done(&world, &["stop", &id]);
}

#[test]
fn a_question_that_nobody_knows_is_not_answered_by_a_prompt() {
    let world = World::new();
    let id = world.launch(&["--cwd", &world.beside("")], &[&claude(&world), "--untrusted"]);
    until_it(&world, &id, &["--text", "trust this folder"]);
    let ran = world.abide.run(&["prompt", "--json", "--timeout", "5s", &id, "hello"]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(5), &"wants_person".into()), "{ran:?}");
    let shown = world.abide.run(&["snapshot", &id]);
    assert!(!shown.stdout.contains("hello"), "{shown:?}");
    done(&world, &["keys", &id, "Enter"]);
    until_it(&world, &id, &["--turn", "settled"]);
    done(&world, &["prompt", "--wait", &id, "hello"]);
    done(&world, &["stop", &id]);
}

#[test]
fn a_prompt_for_an_agent_that_is_gone_is_not_typed_into_its_shell() {
    let world = World::new();
    let id = world.launch(&["--cwd", &world.beside("")], &["bash", "--norc", "--noprofile"]);
    done(&world, &["type", "--enter", &id, &claude(&world)]);
    until_it(&world, &id, &["--text", "❯"]);
    let told = data(&world.abide.run(&["prompt", "--json", "--wait", &id, "hello"]));
    assert_eq!((&told["agent"], &told["turn"]), (&"claude".into(), &"settled".into()));
    done(&world, &["keys", &id, "Ctrl-D"]);
    until_it(&world, &id, &["--idle", "300ms"]);
    let sign = world.beside("sign");
    let ran = world.abide.run(&["prompt", "--json", "--timeout", "2s", &id, &format!("touch {sign}")]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(5), &"no_agent".into()), "{ran:?}");
    assert!(!std::path::Path::new(&sign).exists());
    done(&world, &["stop", "--grace", "0s", &id]);
}

#[test]
fn where_no_agent_runs_or_none_answers_a_prompt_says_so() {
    let world = World::new();
    let shell = world.run(&[], &["hang"]);
    let ran = world.abide.run(&["prompt", "--json", &shell, "hello"]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(5), &"no_agent".into()));
    done(&world, &["stop", &shell]);
    let id = launched(&world);
    until_it(&world, &id, &["--turn", "settled"]);
    // Stopped, it reads nothing.
    done(&world, &["signal", "STOP", &id]);
    let ran = world.abide.run(&["prompt", "--json", "--timeout", "1s", &id, "hello"]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(124), &"no_turn".into()), "{ran:?}");
    done(&world, &["stop", &id]);
}
