//! What is refused because of how a session stands: whole, in plain words, with the way out.

use abide_core::evidence::How;
use abide_sys::lock::Holder;
use abide_testkit::Ran;
use abide_testkit::scene::everything;

use crate::common::{Stage, data, word};

fn told(ran: &Ran) -> (Option<i32>, Vec<&str>) {
    assert_eq!(ran.stdout, "", "{ran:?}");
    (ran.code(), ran.stderr.lines().collect())
}

#[test]
fn if_one_of_several_may_not_be_removed_none_is() {
    let stage = Stage::new();
    let _everything = everything(&stage.path());
    let ran = stage.abide.run(&["rm", "exited00", "running0", "--home", stage.path().to_str().unwrap()]);
    let home = stage.path();
    let home = home.display();
    let expected = [
        "abide: session running0 is running: its program is alive and served".to_owned(),
        format!(
            "hint: `abide --home {home} stop running0` first, or `abide --home {home} rm --force running0`"
        ),
    ];
    assert_eq!(told(&ran), (Some(5), expected.iter().map(String::as_str).collect()));
    assert_eq!(stage.inspect("exited00")["status"], "exited", "it is still there");
    let both = data(stage.abide.json(&["rm", "exited00", "exited00", "lost0000"]));
    assert_eq!(both, serde_json::json!({ "removed": ["exited00", "lost0000"], "failed": [] }));
}

#[test]
fn a_removal_that_fails_says_what_is_gone_and_what_is_not() {
    let stage = Stage::new();
    let _first = stage.over("first000").ended(How::Exited { code: 0 });
    let _busy = stage.over("busy0000").ended(How::Exited { code: 0 }).held(Holder::Sealer);
    let _last = stage.over("last0000").ended(How::Exited { code: 0 });
    let ran = stage.abide.run(&["rm", "--json", "first000", "busy0000", "last0000"]);
    let answer = data(ran.json());
    assert_eq!((ran.code(), &answer["removed"]), (Some(6), &serde_json::json!(["first000", "last0000"])));
    assert_eq!(answer["failed"][0]["id"], "busy0000", "{answer}");
    assert!(
        word(&answer["failed"][0]["reason"]).contains("sealed, packed or removed by another"),
        "{answer}"
    );
    let alone = stage.abide.run(&["rm", "--json", "busy0000"]);
    assert_eq!((alone.code(), &alone.json()["error"]["code"]), (Some(6), &"busy".into()), "{alone:?}");
}

#[test]
fn a_result_after_the_end_is_refused_and_changes_no_code() {
    let stage = Stage::new();
    let _over = stage.over("exited00").ended(How::Exited { code: 3 });
    let ran = stage.abide.run(&["result", "set", "success", "--session", "exited00"]);
    let (code, lines) = told(&ran);
    let first = "abide: session exited00 is exited: its program is over, and how it ended is on record";
    assert_eq!((code, lines[0]), (Some(5), first));
    assert!(lines[1].starts_with("hint: a result is declared before the end"), "{lines:?}");
    assert_eq!(stage.abide.run(&["wait", "exited00"]).code(), Some(3));
    let _removing = stage.over("removing").ended(How::Exited { code: 3 }).removing();
    let _removed = stage.over("removed0").ended(How::Exited { code: 3 }).removing().removed();
    for (id, refusal) in [("removing", "not_commandable"), ("removed0", "not_commandable")] {
        let ran = stage.abide.run(&["result", "set", "--json", "success", "--session", id]);
        assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(5), &refusal.into()), "{ran:?}");
    }
}

#[test]
fn a_word_that_stands_for_no_code_needs_one() {
    let stage = Stage::new();
    let everything = everything(&stage.path());
    let set =
        |args: &[&str]| stage.abide.run(&[&["result", "set"], args, &["--session", "running0"]].concat());
    for (said, hint) in [
        ("succes", "did you mean `success`? "),
        ("ok", "did you mean `success`? "),
        ("failed", "did you mean `failure`? "),
        ("Failure", "did you mean `failure`? "),
        ("green", "say `success` or `failure`; "),
    ] {
        let ran = set(&[said]);
        let (code, lines) = told(&ran);
        assert_eq!(
            (code, lines[0]),
            (Some(2), format!("abide: `{said}` alone stands for no exit code").as_str())
        );
        assert!(lines[1].starts_with(&format!("hint: {hint}")), "{lines:?}");
        assert!(lines[1].ends_with(&format!("`abide result set {said} --exit-code CODE`")), "{lines:?}");
    }
    let ran = set(&["failure", "--exit-code", "0"]);
    let (code, lines) = told(&ran);
    assert_eq!((code, lines[0]), (Some(2), "abide: `failure` cannot have the exit code 0"));
    assert!(lines[1].starts_with("hint: `failure` alone exits with 1; "), "{lines:?}");
    assert!(stage.inspect("running0")["declared"].is_null(), "nothing of it was recorded");
    assert_eq!(set(&["green", "--exit-code", "4"]).code(), Some(0));
    assert_eq!(stage.inspect("running0")["declared"]["exit_code"], 4);
    drop(everything);
}

#[test]
fn what_does_not_run_is_not_upgraded_and_what_is_over_not_attached() {
    let stage = Stage::new();
    let _everything = everything(&stage.path());
    let ran = stage.abide.run(&["upgrade", "--json", "exited00"]);
    let error = &ran.json()["error"];
    assert_eq!(
        (ran.code(), &error["code"], &error["status"]),
        (Some(5), &"not_commandable".into(), &"exited".into()),
        "{ran:?}"
    );
    let ran = stage.abide.run(&["attach", "lost0000"]);
    let expected = vec![
        "abide: session lost0000 is lost: its program is over, and nobody saw how it ended",
        "hint: `abide logs lost0000` shows what it said, `abide snapshot lost0000` its last screen",
    ];
    assert_eq!(told(&ran), (Some(5), expected));
}

#[test]
fn what_another_removes_meanwhile_is_gone_and_neither_damaged_nor_a_failure() {
    const MANY: usize = 40;
    let stage = Stage::new();
    let ids: Vec<String> = (0..MANY).map(|number| format!("over{number:04}")).collect();
    let _over: Vec<_> = ids.iter().map(|id| stage.over(id).ended(How::Exited { code: 0 })).collect();
    let (abide, ids) = (&stage.abide, &ids);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let ran = abide.run(&["gc", "--older", "0s", "--json"]);
                assert_eq!((ran.code(), &data(ran.json())["failed"]), (Some(0), &serde_json::json!([])));
            });
            scope.spawn(|| {
                let ran = abide.run(&["doctor", "--json"]);
                let told = data(ran.json());
                let checks = told["checks"].as_array().unwrap();
                let bad =
                    |check: &&serde_json::Value| !check["session"].is_null() && check["health"] == "bad";
                assert_eq!(checks.iter().filter(bad).count(), 0, "{told}");
            });
        }
        for id in ids {
            for _ in 0..2 {
                scope.spawn(move || {
                    let ran = abide.run(&["rm", id]);
                    assert!([Some(0), Some(3)].contains(&ran.code()), "{ran:?}");
                });
            }
        }
    });
    assert_eq!(stage.listed().len(), 0);
}
