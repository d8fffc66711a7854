//! What `wait` says: the stable line, how it ended, and how to wait again.

use abide_core::evidence::{Body, Cause, Ended, How, Observer, Outcome, Role};
use abide_testkit::scene::{Scene, identity, idle};
use abide_testkit::{Ran, Running};
use serde_json::Value;

use crate::common::{Stage, data, served, word};

/// Two sessions that run on.
fn two(stage: &Stage) -> (Running, [Scene; 2]) {
    let process = idle();
    let alive = identity(&process);
    let scenes = ["alive000", "alive001"].map(|id| served(stage.scene(id), &alive));
    (process, scenes)
}

#[test]
fn the_hint_is_the_whole_command_once() {
    let stage = Stage::new();
    let (_process, _scenes) = two(&stage);
    let home = stage.path();
    let home = home.to_str().unwrap();
    for (flags, hinted) in [
        (&["--cap", "1ms"][..], "abide wait --cap 1ms alive000 alive001".to_owned()),
        (&["--cap", "0s"], "abide wait alive000 alive001".to_owned()),
        (&["--any", "--cap", "1ms"], "abide wait --cap 1ms --any alive000 alive001".to_owned()),
        (&["--cap", "1ms", "--home", home], format!("abide --home {home} wait --cap 1ms alive000 alive001")),
    ] {
        let args = [&["wait"], flags, &["alive000", "alive001"]].concat();
        let ran = stage.abide.run(&args);
        let expected = format!(
            "abide: wait id=alive000 ended=false status=running exit=none
abide: wait id=alive001 ended=false status=running exit=none
hint: this is healthy: the session is alive and goes on; wait again with `{hinted}`
"
        );
        assert_eq!((ran.code(), ran.stderr.as_str()), (Some(0), expected.as_str()));
    }
    let ran = stage.abide.run(&["wait", "--json", "--strict", "--cap", "1ms", "alive0", "alive001"]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(125), &"ambiguous".into()), "{ran:?}");
    let ran = stage.abide.run(&["wait", "--json", "--strict", "--cap", "1ms", "alive000", "alive001"]);
    assert_eq!(ran.code(), Some(124), "{ran:?}");
    for waited in data(ran.json())["sessions"].as_array().unwrap() {
        let hint = word(&waited["hint"]);
        assert!(hint.ends_with("`abide wait --cap 1ms --strict --json alive000 alive001`"), "{hint}");
    }
}

#[test]
fn the_form_of_the_answer_depends_on_the_question_alone() {
    let stage = Stage::new();
    let (_process, _scenes) = two(&stage);
    let _over = stage.over("exited00").ended(How::Exited { code: 4 });
    let waited = |args: &[&str]| -> (Option<i32>, Value) {
        let ran = stage.abide.run(&[&["wait", "--json"], args].concat());
        (ran.code(), data(ran.json()))
    };
    let (code, any) = waited(&["--any", "alive000", "exited00"]);
    assert_eq!((code, &any["sessions"][0]["id"]), (Some(4), &"exited00".into()), "{any}");
    assert_eq!(any.as_object().unwrap().len(), 1, "{any}");
    let (code, none) = waited(&["--any", "--cap", "1ms", "alive000", "alive001"]);
    assert_eq!((code, none["sessions"].as_array().map(Vec::len)), (Some(0), Some(2)), "{none}");
    let (_, all) = waited(&["--cap", "1ms", "alive000", "exited00"]);
    assert_eq!(all["sessions"].as_array().map(Vec::len), Some(2), "{all}");
    let (_, one) = waited(&["--any", "exited00"]);
    assert_eq!((&one["id"], one.get("sessions")), (&"exited00".into(), None), "{one}");
}

#[test]
fn the_first_that_ended_is_the_one_that_ended_first_wherever_it_was_named() {
    let stage = Stage::new();
    let _first = stage.over("first000").ended(How::Exited { code: 4 });
    // Told a fact later, so a second later.
    let _second = stage.over("second00").declared("failure", 5).ended(How::Exited { code: 5 });
    for order in [["first000", "second00"], ["second00", "first000"]] {
        let ran = stage.abide.run(&[&["wait", "--json", "--any"], &order[..]].concat());
        let told = data(ran.json());
        assert_eq!((ran.code(), &told["sessions"][0]["id"]), (Some(4), &"first000".into()), "{told}");
    }
}

#[test]
fn one_that_can_never_tell_ends_the_wait_for_all() {
    let stage = Stage::new();
    let (_process, _scenes) = two(&stage);
    let _damaged = stage.over("damaged0").bytes_added(b"\ngarbage\n");
    let _over = stage.over("exited00").ended(How::Exited { code: 4 });
    for (flag, first) in [("--all", "alive000"), ("--any", "alive000"), ("--all", "exited00")] {
        let ran = stage.abide.run(&["wait", "--json", flag, first, "damaged0"]);
        let told = data(ran.json());
        let ids: Vec<String> =
            told["sessions"].as_array().unwrap().iter().map(|one| word(&one["id"])).collect();
        assert_eq!((ran.code(), ids), (Some(125), vec![first.to_owned(), "damaged0".to_owned()]), "{told}");
        assert_eq!(told["sessions"][1]["status"], "unknown");
    }
    let any = stage.abide.run(&["wait", "--any", "damaged0", "exited00"]);
    assert_eq!(any.code(), Some(4), "one has ended: {any:?}");
}

fn told(stage: &Stage, id: &str) -> (Option<i32>, Vec<String>) {
    let ran: Ran = stage.abide.run(&["wait", id]);
    assert_eq!(ran.stdout, "");
    (ran.code(), ran.stderr.lines().map(str::to_owned).collect())
}

#[test]
fn the_stable_line_comes_first_and_then_how_it_ended() {
    let stage = Stage::new();
    let timed_out = stage.over("timedout");
    let outcome = Outcome {
        how: How::Signaled { signal: 15, core: false },
        observed_by: Some(Observer::Guard),
        cause: Some(Cause::Timeout),
    };
    let ended = Ended::of(outcome);
    let _timed_out = timed_out.tell(Role::Guard, 1, Body::Ended(Box::new(ended)));
    let _declared = stage.over("declared").declared("success", 0).ended(How::Exited { code: 17 });
    let _killed =
        stage.over("killed00").declared("failure", 3).ended(How::Signaled { signal: 9, core: false });
    let _failed = stage.over("failed00").exec_failed(2);
    let _lost = stage.over("lost0000");
    for (id, status, code, says) in [
        ("timedout", "exited", 143, "killed by SIGTERM (15), its time was up"),
        ("declared", "exited", 0, "declared success, exit code 0; the exit status was 17"),
        ("killed00", "exited", 3, "declared failure, exit code 3; the program was killed by SIGKILL (9)"),
        ("failed00", "failed", 127, "exec failed: ENOENT (no such file or directory)"),
        ("lost0000", "lost", 125, "over, and nobody observed how: guard and host died first"),
    ] {
        let first = format!("abide: wait id={id} ended=true status={status} exit={code}");
        assert_eq!(told(&stage, id), (Some(code), vec![first, format!("  {says}")]));
    }
}

#[test]
fn a_life_that_cannot_be_proved_says_why() {
    let stage = Stage::new();
    let _damaged = stage.over("damaged0").bytes_added(b"\ngarbage\n");
    let (code, lines) = told(&stage, "damaged0");
    assert_eq!(code, Some(125));
    assert_eq!(
        lines,
        [
            "abide: wait id=damaged0 ended=false status=unknown exit=none",
            "  no end is on record, but the record is damaged and may have held one",
            "hint: `abide why damaged0` shows what is damaged; waiting longer changes nothing"
        ]
    );
}
