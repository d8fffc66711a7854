//! Damaged records: that session says so with the place, every other one is told, and nothing is rewritten.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::Path;

use abide_core::evidence::How;
use abide_testkit::scene::{Scene, dead, identity, idle};
use serde_json::Value;

use crate::common::{Stage, proof, word};

/// A session with other bytes as its evidence.
fn damage(stage: &Stage, id: &str, bytes: &[u8]) -> Scene {
    let scene = stage.over(id);
    set(&scene.evidence(), bytes);
    scene
}

#[test]
fn whatever_stands_in_a_record_the_others_are_told_and_nothing_is_written() {
    let stage = Stage::new();
    let sound = stage.over("sound000").ended(How::Exited { code: 3 });
    let whole = sound.bytes();
    let mut garbage: Vec<u8> = (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    garbage[0] = b'x';
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("empty000", Vec::new(), "the file is empty"),
        ("garbage0", garbage, "not a frame at byte 0"),
        ("zeroes00", vec![0; 3 << 20], "line longer than any fact at byte 0, 3145728 bytes"),
        ("newlines", vec![b'\n'; 3 << 20], "the file is empty"),
        ("newer000", newer(&whole), "written in schema 2, and this abide reads schema 1 at byte 1"),
        ("flipped0", flipped(&whole), "checksum does not match at byte 1"),
    ];
    let scenes: Vec<Scene> = cases.iter().map(|(id, bytes, _)| damage(&stage, id, bytes)).collect();
    let listed = stage.listed();
    assert_eq!(listed.len(), cases.len() + 1);
    for (id, _, says) in &cases {
        let session = stage.inspect(id);
        assert_eq!(session["status"], "unknown", "{id}: {session}");
        assert_eq!((&session["exit_code"], &session["wait_code"]), (&Value::Null, &Value::Null), "{id}");
        assert!(proof(&session).contains(says), "{id}: {}", proof(&session));
        assert!(stage.text(&["why", id]).contains(says), "{id}");
    }
    let entry = listed.iter().find(|session| session["id"] == "sound000").unwrap();
    assert_eq!((&entry["status"], &entry["exit_code"]), (&"exited".into(), &3.into()));
    let doctor = stage.abide.run(&["doctor", "--fix", "--json"]);
    assert_eq!(doctor.code(), Some(1), "damage is bad: {doctor:?}");
    assert_eq!(doctor.json()["data"]["healthy"], false);
    for (scene, (_, bytes, _)) in scenes.iter().zip(&cases) {
        assert_eq!(&scene.bytes(), bytes, "{} was rewritten", scene.id());
    }
    assert_eq!(sound.bytes(), whole);
}

/// The outcome stands in the slot and in the log, as a guard writes it: so wherever the log is cut, the code is the
/// real one or none.
#[test]
fn a_record_cut_anywhere_never_yields_another_code() {
    let stage = Stage::new();
    let scene = stage.over("cut00000").ended_in_slot(How::Exited { code: 3 }).ended(How::Exited { code: 3 });
    let whole = scene.bytes();
    let frames = (0..whole.len()).filter(|&at| whole[at] == b'\n').flat_map(|at| [at, at + 1]);
    let mut cuts: Vec<usize> = (0..whole.len()).step_by(41).chain(frames).collect();
    cuts.sort_unstable();
    cuts.dedup();
    for cut in cuts {
        set(&scene.evidence(), &whole[..cut]);
        let session = stage.inspect(scene.id());
        let told = (word(&session["status"]), session["exit_code"].as_u64());
        let true_or_unknown = told == ("exited".to_owned(), Some(3)) || told == ("unknown".to_owned(), None);
        assert!(true_or_unknown, "cut at {cut} of {}: {session}", whole.len());
        assert_eq!(scene.bytes(), &whole[..cut], "reading wrote");
    }
}

/// The line of a fact, to be damaged.
fn line_of(bytes: &[u8], fact: &str) -> usize {
    let name = format!("\"fact\":\"{fact}\"");
    bytes.windows(name.len()).position(|there| there == name.as_bytes()).expect("the fact is on record")
}

/// The end was written by an older abide, which did not tell the word again, and the program had left none as a file.
#[test]
fn an_end_whose_word_may_be_lost_passes_on_no_code_and_says_why() {
    let stage = Stage::new();
    let scene = stage.over("wordless").declared("failure", 3).ended_wordless(How::Exited { code: 0 });
    assert_eq!(stage.abide.run(&["wait", scene.id()]).code(), Some(3));
    let mut bytes = scene.bytes();
    let at = line_of(&bytes, "declared");
    bytes[at] ^= 1;
    set(&scene.evidence(), &bytes);
    let ran = stage.abide.run(&["wait", "--json", scene.id()]);
    let told = &ran.json()["data"];
    assert_eq!((ran.code(), &told["wait_code"], &told["status"]), (Some(125), &125.into(), &"exited".into()));
    assert_eq!(
        (&told["exit_code"], &told["outcome"]["code"]),
        (&Value::Null, &0.into()),
        "what was observed"
    );
    assert!(word(&told["hint"]).contains("`abide why wordless` shows what is damaged"), "{told}");
    let said = stage.abide.run(&["wait", scene.id()]).stderr;
    assert!(said.contains("its record is damaged: checksum does not match at byte"), "{said}");
    assert!(said.contains("no code is passed on"), "{said}");
    for verb in ["why", "inspect"] {
        let says = stage.text(&[verb, scene.id()]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(says.contains("what the program declared may be among them"), "{verb}: {says}");
    }
    assert!(stage.text(&["ls", "-a"]).contains("exited 0, damaged at byte"));
}

#[test]
fn a_record_with_any_damage_is_named_so_by_wait_also_where_its_code_is_known() {
    let stage = Stage::new();
    let scene = stage.over("noisy000").bytes_added(b"\nnoise\n").ended(How::Exited { code: 3 });
    let ran = stage.abide.run(&["wait", scene.id()]);
    assert_eq!(ran.code(), Some(3), "{ran:?}");
    assert!(ran.stderr.contains("its record is damaged: not a frame at byte"), "{ran:?}");
}

#[test]
fn inspect_says_where_the_damage_is() {
    let stage = Stage::new();
    let noise = b"\nnoise\n".repeat(5);
    let scene = stage.over("noisy000");
    let end = scene.bytes().len();
    let _scene = scene.bytes_added(&noise);
    let text = stage.text(&["inspect", "noisy000"]);
    assert_eq!(text.matches("not a frame at byte").count(), 3, "{text}");
    assert!(text.contains(&format!("not a frame at byte {}, 5 bytes", end + 1)), "{text}");
    assert!(text.contains("and 2 more; `abide why noisy000` shows them"), "{text}");
}

#[test]
fn a_record_without_slot_and_end_is_not_taken_for_lost() {
    let stage = Stage::new();
    let scene = stage.over("noslot00");
    std::fs::remove_file(scene.dir().join("outcome")).unwrap();
    let session = stage.inspect(scene.id());
    assert_eq!(session["status"], "unknown", "{session}");
    assert!(proof(&session).contains("the outcome file is missing"), "{session}");
}

#[test]
fn a_slot_that_was_cut_is_named_also_if_only_newlines_are_left_of_it() {
    let stage = Stage::new();
    let scene = stage.over("cutslot0");
    set(&scene.dir().join("outcome"), b"\n");
    let session = stage.inspect(scene.id());
    assert_eq!(session["status"], "unknown", "it may have held an end: {session}");
    assert!(proof(&session).contains("the outcome file is damaged at byte 1"), "{session}");
}

#[test]
fn what_the_slot_shows_to_be_missing_has_a_place_in_the_log() {
    let stage = Stage::new();
    let scene = stage.over("cutlog00").declared("failure", 3);
    let end = line_of(&scene.bytes(), "declared");
    let end = scene.bytes()[..end].iter().rposition(|&byte| byte == b'\n').expect("a line starts");
    let scene = scene.ended_in_slot(How::Exited { code: 0 });
    let whole = scene.bytes();
    set(&scene.evidence(), &whole[..end]);
    let session = stage.inspect(scene.id());
    assert_eq!((&session["status"], &session["wait_code"]), (&"exited".into(), &3.into()), "{session}");
    let says = format!("facts are missing before this place at byte {end}\n");
    assert!(proof(&session).contains(&says), "{session}");
}

fn set(path: &Path, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).truncate(true).open(path);
    file.and_then(|mut file| file.write_all(bytes)).expect("the evidence can be changed");
}

/// The first frame as a later abide would write it, and nothing behind it.
fn newer(whole: &[u8]) -> Vec<u8> {
    let line = whole[1..].split(|&b| b == b'\n').next().expect("a line");
    let json = String::from_utf8(line[9..].to_vec()).expect("JSON").replacen("\"v\":1", "\"v\":2", 1);
    format!("\n{:08x} {json}\n", crc32(json.as_bytes())).into_bytes()
}

/// The first frame with one bit wrong, and nothing behind it.
fn flipped(whole: &[u8]) -> Vec<u8> {
    let end = whole[1..].iter().position(|&b| b == b'\n').expect("a line") + 2;
    let mut bytes = whole[..end].to_vec();
    bytes[40] ^= 1;
    bytes
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 * (sum & 1)))
    })
}

#[test]
fn damage_that_may_have_held_a_fact_of_the_past_counts_in_the_past_too() {
    let stage = Stage::new();
    let living = idle();
    let process = identity(&living);
    let scene = stage.scene("cut00000").guarded(&process).launched(&process);
    let whole = scene.bytes();
    let started = stage.scene("whole000").guarded(&process).launched(&process).started(&process).bytes();
    // The log was cut within `started`, and nothing stands behind it.
    let scene = scene.bytes_added(&started[whole.len()..started.len() - 20]);
    let proof = stage.text(&["why", "--at=-0s", scene.id()]);
    assert!(!proof.contains("has not started the program yet"), "{proof}");
    assert!(proof.contains("torn frame"), "the damage is cited: {proof}");
}

#[test]
fn a_wait_on_a_damaged_record_that_nobody_can_add_to_is_over_at_once() {
    let stage = Stage::new();
    let gone = dead();
    let scene = stage.scene("torn0000").guarded(&gone).launched(&gone).started(&gone).bytes_added(b"\ntorn");
    let ran = stage.abide.run(&["wait", "--json", scene.id()]);
    assert_eq!((ran.code(), &ran.json()["data"]["status"]), (Some(125), &"unknown".into()), "{ran:?}");
}

/// A copy of a home whose sessions run: nobody holds the copy, and the guard whose record is damaged in it lives.
#[test]
fn a_guard_that_cannot_be_read_is_not_called_dead_because_nobody_holds_its_directory() {
    let stage = Stage::new();
    let living = idle();
    let process = identity(&living);
    let scene = stage.scene("copied00").served(&process, &process, &process);
    let mut bytes = scene.bytes();
    let at = line_of(&bytes, "guarded");
    bytes[at] ^= 1;
    set(&scene.evidence(), &bytes);
    let session = stage.inspect(scene.id());
    let guard = serde_json::json!({"pid": null, "liveness": "unknown", "qualifier": null});
    assert_eq!(session["processes"]["guard"], guard, "{session}");
    let proof = proof(&session);
    assert!(proof.contains("guard cannot be judged: no identity is on record, and nobody holds"), "{proof}");
    assert!(!proof.contains("guard is dead"), "{proof}");
}

#[test]
fn a_session_whose_name_cannot_be_read_is_found_by_it_nevertheless() {
    let stage = Stage::new();
    let gone = dead();
    let scene = stage.scene("unnamed0").guarded(&gone).bytes_added(b"garbage\n").started(&gone);
    let names = stage.path().join("names");
    std::fs::DirBuilder::new().mode(0o700).create(&names).expect("there is room");
    symlink(scene.id(), names.join("nightly")).expect("there is room");
    assert_eq!(stage.inspect("nightly")["id"], "unnamed0");
    assert_eq!(stage.abide.run(&["inspect", "weekly"]).code(), Some(3));
}
