//! Every refusal names the session, its status, the reason and a way out, and the way out leads somewhere.

use std::os::unix::fs::symlink;

use abide_core::evidence::{Body, Drained, How, Role};
use abide_testkit::scene::everything;
use serde_json::Value;

use crate::common::{Stage, data, word};

#[test]
fn a_recording_that_is_gone_is_damage_that_is_told() {
    let stage = Stage::new();
    let _removed = stage.over("removed0").ended(How::Exited { code: 0 }).removing().removed();
    let _over = stage.over("exited00").ended(How::Exited { code: 0 });
    let odd = stage.over("oddfile0").ended(How::Exited { code: 0 });
    std::fs::create_dir(odd.dir().join("recording")).expect("there is room");
    for (id, status, says) in [
        ("removed0", "destroyed", "was removed with it"),
        ("exited00", "exited", "is gone"),
        ("oddfile0", "exited", "cannot be read"),
    ] {
        for verb in ["logs", "snapshot"] {
            let ran = stage.abide.run(&[verb, "--json", id]);
            let error = &ran.json()["error"];
            assert_eq!((ran.code(), &error["code"]), (Some(7), &"damaged".into()), "{verb} {id}: {ran:?}");
            assert_eq!((&error["session"], &error["status"]), (&id.into(), &status.into()), "{error}");
            assert!(word(&error["message"]).contains(says), "{error}");
            assert!(word(&error["hint"]).starts_with(&format!("`abide why {id}`")), "{error}");
        }
    }
}

#[test]
fn a_search_says_of_a_recording_that_is_gone_what_every_reader_says() {
    let stage = Stage::new();
    let scene = stage.over("exited00").tell(Role::Guard, 1, Body::Drained(Drained { bytes: 9 }));
    let _over = scene.ended(How::Exited { code: 0 });
    let ran = stage.abide.run(&["search", "--json", "x"]);
    let says = "the recording of session exited00 is gone";
    assert_eq!(data(ran.json())["incomplete"][0]["why"], says, "{ran:?}");
    assert!(ran.stderr.contains(says) && !ran.stderr.contains("os error"), "{ran:?}");
}

#[test]
fn whoever_cannot_write_to_a_home_is_told_what_helps_and_nothing_is_harmed() {
    let stage = Stage::new();
    let mut everything = everything(&stage.path());
    for args in [
        &["run", "-d", "--", "true"][..],
        &["run", "-d", "--name", "nightly", "--", "true"],
        &["rm", "exited00"],
        &["rm", "--force", "running0"],
        &["stop", "unattend"],
        &["signal", "USR1", "running0"],
        &["result", "set", "success", "--session", "running0"],
    ] {
        let ran = stage.read_only(&[&["--json"], args].concat());
        let error = &ran.json()["error"];
        assert_eq!((ran.code(), &error["code"]), (Some(1), &"io".into()), "{args:?}: {ran:?}");
        assert!(word(&error["message"]).ends_with("Read-only file system (os error 30)"), "{error}");
        assert!(!word(&error["message"]).contains("the end of"), "{error}");
        assert!(word(&error["hint"]).contains("make it writable"), "{args:?}: {error}");
    }
    let upgraded = data(stage.read_only(&["upgrade", "--json", "running0"]).json());
    let failed = &upgraded["failed"][0];
    assert_eq!((&failed["id"], &failed["status"]), (&"running0".into(), &"running".into()), "{upgraded}");
    assert!(failed["code"].is_string() && failed["hint"].is_string(), "{upgraded}");
    let told = stage.read_only(&["upgrade", "running0"]);
    assert!(
        told.stderr.starts_with("abide: session running0") && told.stderr.contains("\nhint: "),
        "{told:?}"
    );
    let doctor = stage.read_only(&["doctor", "--json"]).json();
    let home = doctor["data"]["checks"].as_array().unwrap().iter().find(|check| check["name"] == "home");
    assert_eq!(home.map(|home| &home["health"]), Some(&Value::from("bad")), "{doctor}");
    assert!(everything.living.iter_mut().all(|process| process.observer().lives()), "someone was killed");
}

#[test]
fn a_link_in_the_place_of_a_session_is_removed_and_what_it_leads_to_stays() {
    let stage = Stage::new();
    let kept = stage.over("original").ended(How::Exited { code: 0 });
    let link = stage.path().join("sessions/linked00");
    symlink(kept.dir(), &link).expect("there is room");
    let refused = stage.abide.run(&["rm", "linked00"]);
    let way_out = format!("`abide rm --force linked00` removes what stands at {}", link.display());
    assert!(refused.stderr.contains(&way_out), "{refused:?}");
    assert_eq!(stage.abide.run(&["rm", "--force", "linked00"]).stdout, "linked00\n");
    assert!(!link.is_symlink() && kept.evidence().exists());
    assert_eq!(stage.inspect("original")["status"], "exited");
}

#[test]
fn a_refusal_does_not_repeat_all_of_a_huge_argument() {
    let stage = Stage::new();
    let huge = "m".repeat(100_000);
    for args in [&["inspect", &huge][..], &["search", "x", "--since", &huge]] {
        let ran = stage.abide.run(args);
        assert!(!ran.stderr.is_empty() && ran.stderr.len() < 2_000, "{}: {}", args[0], ran.stderr.len());
        let told = stage.abide.json(args);
        let message = told["error"]["message"].as_str().expect("a message");
        assert!(message.len() < 2_000 && message.contains("mm…mm"), "{}: {}", args[0], message.len());
    }
}
