//! The stored form of facts: what is written is read back, in any pieces, and what cannot be read is located.

use std::collections::BTreeSet;

use abide_core::evidence::frame::{Damage, Flaw, Found, LONGEST_LINE, Scanner, encode};
use abide_core::evidence::{Body, Cause, Fact, How, Observer, Role, Witness};

use crate::bodies::every_kind;
use crate::common::{Story, ended, moment, scan, started, witness};

#[test]
fn every_kind_of_fact_is_read_back_at_every_split_point() {
    let names: Vec<String> = every_kind().iter().map(|body| body.name().to_owned()).collect();
    let distinct: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(distinct, Body::NAMES.iter().copied().collect(), "one of every kind");
    for body in every_kind() {
        let fact = fact(body);
        let frame = encode(&fact).unwrap();
        let whole = vec![Found::Fact(Box::new(fact))];
        for split in 0..=frame.len() {
            let (front, back) = frame.split_at(split);
            assert_eq!(scan([front, back]), whole, "split at {split}");
        }
    }
}

#[test]
fn a_log_that_comes_byte_by_byte_reads_like_one_that_comes_whole() {
    let story = every_kind().into_iter().fold(Story::default(), Story::guard);
    let bytes = story.bytes();
    let expected: Vec<Found> = story.facts.iter().map(|fact| Found::Fact(Box::new(fact.clone()))).collect();
    assert_eq!(scan([&bytes[..]]), expected);
    assert_eq!(scan(bytes.chunks(1)), expected);
    assert_eq!(scan(bytes.chunks(7)), expected);
}

#[test]
fn a_frame_is_one_line_between_newlines_whatever_its_text_holds() {
    for body in every_kind() {
        let frame = encode(&fact(body)).unwrap();
        let newlines = frame.iter().filter(|&&b| b == b'\n').count();
        assert_eq!((frame[0], frame[frame.len() - 1], newlines), (b'\n', b'\n', 2));
        assert!(frame.iter().all(|&b| b == b'\n' || b >= b' '), "no other control character is stored raw");
    }
}

#[test]
fn a_torn_fact_never_swallows_the_next() {
    let first = encode(&fact(ended(How::Exited { code: 3 }))).unwrap();
    let next = fact(started());
    let frame = encode(&next).unwrap();
    for cut in 0..first.len() {
        let bytes = [&first[..cut], &frame[..]].concat();
        let found = scan([&bytes[..]]);
        assert_eq!(found.last(), Some(&Found::Fact(Box::new(next.clone()))), "cut at {cut}");
        match cut {
            // Nothing was written but a separator.
            0 | 1 => assert_eq!(found.len(), 1),
            // Everything was written but a separator.
            _ if cut == first.len() - 1 => assert!(matches!(found[..], [Found::Fact(_), _])),
            _ => {
                let Found::Damage(damage) = found[0] else { panic!("cut at {cut}: {found:?}") };
                assert_eq!((damage.offset, damage.length), (1, cut as u64 - 1), "cut at {cut}");
            }
        }
    }
}

#[test]
fn a_file_that_ends_within_a_frame_is_torn_there() {
    let first = encode(&fact(started())).unwrap();
    let frame = encode(&fact(ended(How::Exited { code: 3 }))).unwrap();
    let start = first.len() as u64 + 1;
    for cut in 2..frame.len() - 1 {
        let bytes = [&first[..], &frame[..cut]].concat();
        let torn = Damage { offset: start, length: cut as u64 - 1, flaw: Flaw::Torn };
        assert_eq!(scan([&bytes[..]])[1..], [Found::Damage(torn)], "cut at {cut}");
    }
    let whole = [&first[..], &frame[..frame.len() - 1]].concat();
    assert_eq!(scan([&whole[..]]).len(), 2, "a whole fact counts without its last newline");
    assert!(matches!(scan([&whole[..]])[1], Found::Fact(_)));
}

#[test]
fn a_scanner_knows_whether_it_stands_within_a_line() {
    let frame = encode(&fact(started())).unwrap();
    for split in 0..=frame.len() {
        let mut scanner = Scanner::default();
        scanner.feed(&frame[..split], &mut |_, _| {});
        assert_eq!(scanner.is_mid_line(), split > 1 && split < frame.len(), "split at {split}");
    }
    let mut endless = Scanner::default();
    endless.feed(&vec![b'x'; LONGEST_LINE + 1], &mut |_, _| {});
    assert!(endless.is_mid_line(), "also when it has dropped the line");
}

#[test]
fn facts_of_a_later_abide_are_kept_as_they_are() {
    let json = r#"{"v":1,"w":"guard:100@0a1b2c3d","n":1,"wall":5,"boot":6,"fact":"dreamt","body":{"of":[1,"é"]},"x":0}"#;
    let [Found::Fact(fact)] = &scan([&framed(json)[..]])[..] else { panic!("not one fact") };
    let expected = Body::Other { name: "dreamt".into(), body: r#"{"of":[1,"é"]}"#.into() };
    assert_eq!(fact.body, expected);
    assert_eq!(fact.body.name(), "dreamt");
    let again = scan([&encode(fact).unwrap()[..]]);
    assert_eq!(again, [Found::Fact(fact.clone())], "written again, nothing of it is lost");
}

#[test]
fn a_known_fact_with_more_fields_than_we_know_is_read() {
    let json = r#"{"v":1,"w":"guard:100@0a1b2c3d","n":1,"wall":5,"boot":6,"fact":"noted","body":{"text":"a","more":[]}}"#;
    let [Found::Fact(fact)] = &scan([&framed(json)[..]])[..] else { panic!("not one fact") };
    assert_eq!(fact.body, Body::Noted("a".into()));
}

#[test]
fn roles_observers_and_causes_of_a_later_abide_are_kept_as_other() {
    let json = r#"{"v":1,"w":"auditor:9@0a1b2c3d","n":1,"wall":5,"boot":6,"fact":"ended",
        "body":{"outcome":{"kind":"exited","code":3,"observed_by":"oracle","cause":"boredom"}}}"#
        .replace('\n', "");
    let [Found::Fact(fact)] = &scan([&framed(&json)[..]])[..] else { panic!("not one fact") };
    assert_eq!(fact.witness, witness(Role::Other, 9));
    let Body::Ended(ended) = &fact.body else { panic!("not an end") };
    let outcome = (ended.outcome.how, ended.outcome.observed_by, ended.outcome.cause);
    assert_eq!(outcome, (How::Exited { code: 3 }, Some(Observer::Other), Some(Cause::Other)));
}

#[test]
fn every_witness_is_read_back_from_its_text() {
    for &role in Role::ALL {
        for pid in [0, 1, u32::MAX] {
            let witness = Witness { role, pid, boot: 0x00ab_cdef };
            assert_eq!(Witness::parse(&witness.to_string()), Some(witness));
        }
    }
    for bad in ["", "guard", "guard:1", "guard@1", "guard:x@1", "guard:1@", "guard:1@fffffffff", "guard:-1@0"]
    {
        assert_eq!(Witness::parse(bad), None, "{bad:?}");
    }
}

#[test]
fn whole_frames_that_cannot_be_understood_are_damage_with_a_reason() {
    let line = |fact: &str, body: &str| {
        format!(r#"{{"v":1,"w":"guard:1@0","n":1,"wall":0,"boot":0,"fact":"{fact}","body":{body}}}"#)
    };
    let witnessless = line("noted", r#"{"text":""}"#).replace("guard:1@0", "guard");
    for (json, flaw) in [
        (r#"{"v":2,"anything":"goes"}"#.to_owned(), Flaw::Newer(2)),
        (r#"{"v":4294967295}"#.to_owned(), Flaw::Newer(u32::MAX)),
        ("{}".to_owned(), Flaw::Garbage),
        ("not json".to_owned(), Flaw::Garbage),
        (String::new(), Flaw::Garbage),
        (r#"{"v":1}"#.to_owned(), Flaw::Body),
        (witnessless, Flaw::Body),
        (line("noted", "{}"), Flaw::Body),
        (line("ended", r#"{"outcome":{"kind":"exited"}}"#), Flaw::Body),
        (line("ended", r#"{"outcome":{"kind":"exited","code":256}}"#), Flaw::Body),
        (line("ended", r#"{"outcome":{"kind":"exited","code":-1}}"#), Flaw::Body),
        (line("ended", r#"{"outcome":{"kind":"evaporated"}}"#), Flaw::Body),
    ] {
        let frame = framed(&json);
        let damage = Damage { offset: 1, length: frame.len() as u64 - 2, flaw };
        assert_eq!(scan([&frame[..]]), [Found::Damage(damage)], "{json}");
        assert!(!flaw.says().is_empty());
    }
}

#[test]
fn lines_that_are_no_frames_are_garbage_and_blank_lines_are_nothing() {
    assert_eq!(scan([&b"\n\n\n"[..]]), []);
    assert_eq!(scan([]), []);
    let upper = String::from_utf8(framed(r#"{"v":1}"#)).unwrap().to_uppercase();
    for line in ["x", "12345678", "12345678 ", "1234567g {}", "+2345678 {}", "\u{7f}\u{1}", upper.trim()] {
        let found = scan([line.as_bytes(), b"\n"]);
        let [Found::Damage(damage)] = found[..] else { panic!("{line:?}: {found:?}") };
        assert!(matches!(damage.flaw, Flaw::Garbage | Flaw::Checksum), "{line:?}: {damage:?}");
        assert_eq!((damage.offset, damage.length), (0, line.len() as u64));
    }
}

#[test]
fn the_longest_fact_is_read_back_and_a_longer_one_is_not_written() {
    let of_length = |length| fact(Body::Noted("x".repeat(length).into()));
    let spare = LONGEST_LINE - (encode(&of_length(0)).unwrap().len() - 2);
    let longest = of_length(spare);
    let frame = encode(&longest).unwrap();
    assert_eq!(frame.len(), LONGEST_LINE + 2);
    assert_eq!(scan(frame.chunks(4096)), [Found::Fact(Box::new(longest))]);
    assert!(encode(&of_length(spare + 1)).is_err());
}

fn fact(body: Body) -> Fact {
    Fact { witness: witness(Role::Guard, 100), seq: 1, at: moment(0), body }
}

/// A frame with a right checksum around any text.
fn framed(json: &str) -> Vec<u8> {
    format!("\n{:08x} {json}\n", crc32fast::hash(json.as_bytes())).into_bytes()
}
