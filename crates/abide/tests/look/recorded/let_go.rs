//! What is said of recordings whose oldest part was let go: a recording made by the test, so that every word is known beforehand.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use abide_core::evidence::{Body, How, Marked, Role};
use abide_core::recording::shed::SLOTS;
use abide_testkit::Tape;
use abide_testkit::scene::Scene;
use serde_json::json;

use crate::common::{Stage, data, word};

const ID: &str = "recorded";

fn stage(tape: &Tape) -> (Stage, Scene) {
    let stage = Stage::new();
    let scene = stage.over(ID);
    tape.put(scene.dir());
    (stage, scene)
}

#[test]
fn instants_that_were_both_let_go_are_not_compared() {
    let tape = Tape::new(20, 3).at(5_000_000).shed(900, 70_000, "first").at(6_000_000).output(" last");
    let (stage, scene) = stage(&tape);
    let _scene = scene.ended(How::Exited { code: 0 });
    let refused = stage.abide.run(&["diff", ID, "--from", "+1s", "--to", "+2s"]);
    assert_eq!((refused.code(), refused.stdout.as_str()), (Some(2), ""), "{refused:?}");
    assert!(refused.stderr.contains("was let go") && refused.stderr.contains("hint: "), "{refused:?}");
    let half = stage.abide.run(&["diff", ID, "--from", "+1s"]);
    assert!(
        half.stdout.contains("+ first last") && half.stderr.contains("the first screen that is"),
        "{half:?}"
    );
}

#[test]
fn marks_are_in_their_order_whatever_of_the_recording_is_left() {
    let tape = Tape::new(20, 3).at(5_000_000).shed(900, 70_000, "first").mark("kept").output("more");
    let (stage, scene) = stage(&tape.cut(100).output("again").mark("last"));
    let marked = |name: &str, offset| Body::Marked(Marked { name: name.into(), offset });
    let tell = |scene: Scene, name: &str, offset| scene.tell(Role::Guard, 1, marked(name, offset));
    let marks = [("gone", 12), ("kept", 70_000), ("cut off", 70_050), ("last", 70_109)];
    let _scene = marks.into_iter().fold(scene, |scene, (name, offset)| tell(scene, name, offset));
    let told = data(stage.abide.json(&["marks", ID]));
    let named: Vec<_> = told["marks"].as_array().expect("marks").iter().collect();
    let names: Vec<String> = named.iter().map(|mark| word(&mark["name"])).collect();
    assert_eq!(names, ["gone", "kept", "cut off", "last"]);
    let entries: Vec<_> = named.iter().map(|mark| (&mark["instant"]["entry"], &mark["kept"])).collect();
    let (yes, no) = (&json!(true), &json!(false));
    assert_eq!(entries, [(&json!(902), no), (&json!(903), yes), (&json!(905), no), (&json!(907), yes)]);
    let rows = stage.text_and_errors(&["marks", ID]);
    assert_eq!(rows.matches("not on record").count(), 2, "{rows}");
}

#[test]
fn a_screen_that_cannot_be_read_is_what_is_missing_and_not_output() {
    let tape = Tape::new(20, 3).at(5_000_000).shed(900, 70_000, "first").at(6_000_000).output(" last");
    let (stage, scene) = stage(&tape);
    let scene = scene.ended(How::Exited { code: 0 });
    let file = OpenOptions::new().write(true).open(scene.dir().join("recording")).expect("it is there");
    file.write_all_at(b"\x01", SLOTS[0] + 60).expect("it is ours");
    let told = data(stage.abide.json(&["snapshot", ID]));
    let gaps = told["gaps"].as_array().expect("gaps");
    assert_eq!(
        gaps[1],
        json!({"kind": "screen", "offset": SLOTS[0], "length": null, "cut": null}),
        "{gaps:?}"
    );
    assert_eq!(gaps.len(), 2, "{gaps:?}");
    let logs = stage.text_and_errors(&["logs", ID]);
    assert!(logs.contains("the screen behind what was let go, at byte 4096"), "{logs}");
    assert!(!logs.contains("bytes of the recording at"), "{logs}");
}

#[test]
fn what_goes_on_in_the_middle_of_a_sequence_is_read_as_its_rest() {
    let tape = Tape::new(20, 3).at(5_000_000).shed(900, 70_000, "first \x1b[38;2;1").output("4;9;9mred\r\n");
    let (stage, _scene) = stage(&tape);
    let logs = stage.text_and_errors(&["logs", ID]);
    assert!(logs.contains("\nred\n"), "{logs}");
    let tape = Tape::new(20, 3)
        .at(5_000_000)
        .shed(900, 70_000, "$ ls\r\n\x1b]13")
        .output("3;C\x07ls\x1b]133;D;7\x07");
    let (stage, _scene) = self::stage(&tape);
    let told = data(stage.abide.json(&["marks", ID]));
    assert_eq!(told["commands"][0]["exit_code"], 7, "{told}");
}

#[test]
fn a_redacted_export_heeds_the_rows_above_the_cursor_where_it_goes_on() {
    let wrapped = "one\r\n$ export TOKEN=abcdefghijklmnop";
    let key = "-----BEGIN RSA PRIVATE KEY-----\r\nMIIEowIBAAKCAQEA\r\n";
    let above = format!("{key}{}", "MIIEowIBAAKCAQEA\r\n".repeat(9));
    let cases = [
        (wrapped, "qrstuv\r\nplain", "qrst"),
        (key, "shortline\r\n", "shortline"),
        (&above, "shorter\r\n", "shorter"),
    ];
    for (shown, goes_on, hidden) in cases {
        let tape = Tape::new(20, 6).at(5_000_000).shed(900, 70_000, shown).at(6_000_000).output(goes_on);
        let (stage, scene) = stage(&tape);
        let _scene = scene.ended(How::Exited { code: 0 });
        for format in ["cast", "txt", "html"] {
            let plain = stage.text_and_errors(&["export", "--format", format, ID]);
            assert!(plain.contains(hidden), "{format}: {plain}");
            let redacted = stage.text_and_errors(&["export", "--redact", "--format", format, ID]);
            assert!(!redacted.contains(hidden) && redacted.contains('*'), "{format}: {redacted}");
        }
    }
}
