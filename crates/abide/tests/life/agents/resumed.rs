//! The same conversation in a new session: refused while it is written, told what was left, and nothing repaired.

use abide_testkit::deadline::until;
use rustix::process::Signal;

use super::{done, launched, transcript, until_it};
use crate::common::{World, data};

/// Rows 48 and 49.
#[test]
fn a_conversation_is_resumed_once_nobody_writes_it_and_its_unanswered_call_is_told() {
    let world = World::new();
    let id = launched(&world);
    let tool = world.beside("tool");
    done(&world, &["prompt", &id, &format!("go TOOL:[echo $$ > {tool}; exec sleep 1000]")]);
    until_it(&world, &id, &["--attention", "approval"]);
    done(&world, &["keys", &id, "Enter"]);
    until("the tool runs", || std::fs::read_to_string(&tool).is_ok_and(|text| text.ends_with('\n')));
    let life = world.observe(id.clone());
    let refused = world.abide.run(&["resume", "--json", "-d", &id]);
    let (code, error) = (refused.code(), refused.json()["error"].clone());
    assert_eq!((code, &error["code"]), (Some(6), &"conversation_in_use".into()), "{error}");
    assert!(error["message"].to_string().contains(&life.program.0.pid().to_string()), "{error}");
    life.program.0.signal(Signal::KILL);
    life.program.0.await_end();
    until("its summary is on record", || !world.told(&id, "summary").is_empty());
    let before = std::fs::read(transcript(&world)).expect("a transcript");
    let told = data(&world.abide.run(&["resume", "--json", "-d", &id]));
    assert_eq!((&told["from"], &told["came_back"]), (&id.as_str().into(), &true.into()));
    assert!(told["unanswered"][0].to_string().contains("sleep 1000"), "{told}");
    assert!(told["survivors"].to_string().contains("sleep 1000"), "{told}");
    assert_eq!(std::fs::read(transcript(&world)).expect("a transcript"), before);
    let again = told["id"].as_str().expect("an ID");
    done(&world, &["prompt", "--wait", again, "hello"]);
    let turns = world.told(again, "turn_opened");
    assert_eq!(turns[0]["conversation"], told["conversation"]);
    // One that is live is not resumed twice.
    let refused = world.abide.run(&["resume", "--json", "-d", again]);
    assert_eq!(refused.code(), Some(6), "{refused:?}");
    let forced = data(&world.abide.run(&["resume", "--json", "-d", "--force", again]));
    assert_eq!((&forced["from"], &forced["came_back"]), (&again.into(), &true.into()), "{forced}");
    done(&world, &["stop", forced["id"].as_str().expect("an ID")]);
    done(&world, &["stop", again]);
    let tool = std::fs::read_to_string(&tool).expect("its pid").trim().parse().expect("a pid");
    abide_testkit::Observer::of(tool).signal(Signal::KILL);
}
