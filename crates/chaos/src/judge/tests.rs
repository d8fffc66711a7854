//! The judge finds false answers of every kind, and leaves true ones alone.

use serde_json::{Value, json};

use super::{Asked, GRACE, Kind, lag, output, refusal, statement};
use crate::truth::{Ending, Harm, Truth};

const ASKED: Asked = Asked { call: 100_000_000, back: 100_010_000 };

/// A program that was born ten seconds before the question.
fn living() -> Truth {
    let seen = ASKED.back + 1;
    let born = Some(ASKED.call - 10 * GRACE);
    Truth { tag: 3, launched: born, born, pid: Some(77), alive_at: seen, ..Truth::default() }
}

/// One that ended so long before the question.
fn dead(ago: u64) -> Truth {
    let dead = Some(ASKED.call - ago);
    Truth { dead, alive_at: ASKED.call - ago - 1, endings: vec![Ending::Exited(3)], ..living() }
}

fn kinds(truth: &Truth, said: &Value) -> Vec<Kind> {
    statement(ASKED, truth, said).into_iter().map(|lie| lie.kind).collect()
}

fn exited(code: u8) -> Value {
    json!({ "status": "exited", "exit_code": code, "wait_code": code, "outcome": { "kind": "exited", "code": code } })
}

fn bare(status: &str) -> Value {
    json!({ "status": status, "exit_code": null, "wait_code": null, "outcome": null })
}

#[test]
fn true_answers_are_left_alone() {
    assert_eq!(kinds(&living(), &bare("running")), []);
    let alone = Harm { guard: true, host: true, ..Harm::default() };
    assert_eq!(kinds(&Truth { harm: alone, ..living() }, &bare("unattended")), []);
    assert_eq!(kinds(&dead(5 * GRACE), &exited(3)), []);
    assert_eq!(kinds(&dead(GRACE / 2), &bare("running")), []);
    assert_eq!(kinds(&dead(GRACE / 2), &bare("exiting")), []);
    let killed = json!({ "status": "exited", "exit_code": null, "wait_code": 137,
        "outcome": { "kind": "signaled", "signal": 9 } });
    let truth = Truth { endings: vec![Ending::Signaled(9)], ..dead(GRACE) };
    assert_eq!(kinds(&truth, &killed), []);
}

#[test]
fn life_and_death_are_held_against_the_observer() {
    assert_eq!(kinds(&dead(2 * GRACE), &bare("running")), [Kind::FalseLife]);
    assert_eq!(kinds(&dead(2 * GRACE), &bare("unattended")), [Kind::FalseLife]);
    assert_eq!(kinds(&living(), &bare("exiting")), [Kind::FalseDeath]);
    assert_eq!(kinds(&living(), &exited(3)), [Kind::FalseDeath]);
    assert_eq!(kinds(&living(), &bare("lost")), [Kind::FalseDeath]);
    assert_eq!(kinds(&living(), &bare("starting")), [Kind::FalseBeginning]);
    assert_eq!(kinds(&living(), &bare("failed")), [Kind::FalseBeginning]);
    assert_eq!(kinds(&living(), &bare("well")), [Kind::Malformed]);
    let program = |pid: u32, liveness: &str| json!({ "status": "unknown", "processes": { "program": { "pid": pid, "liveness": liveness } } });
    let hidden = Harm { evidence: true, ..Harm::default() };
    assert_eq!(kinds(&Truth { harm: hidden, ..living() }, &program(77, "dead")), [Kind::FalseDeath]);
    assert_eq!(kinds(&Truth { harm: hidden, ..dead(2 * GRACE) }, &program(77, "alive")), [Kind::FalseLife]);
    assert_eq!(kinds(&Truth { harm: hidden, ..living() }, &program(78, "alive")), [Kind::WrongProcess]);
}

#[test]
fn a_code_must_be_the_one_that_was_seen() {
    assert_eq!(kinds(&dead(GRACE), &exited(4)), [Kind::WrongCode]);
    let by_signal = Truth { endings: vec![Ending::Signaled(9)], ..dead(GRACE) };
    assert_eq!(kinds(&by_signal, &exited(137)), [Kind::WrongCode]);
    // The kernel's word outranks what might have been.
    let exact = Truth {
        endings: vec![Ending::Exited(3), Ending::Signaled(15)],
        ending: Some(Ending::Signaled(15)),
        ..dead(GRACE)
    };
    assert_eq!(kinds(&exact, &exited(3)), [Kind::WrongCode]);
    let mut running = bare("running");
    running["exit_code"] = 0.into();
    assert_eq!(kinds(&living(), &running), [Kind::InventedCode]);
    let mut lost = bare("lost");
    lost["exit_code"] = 137.into();
    let alone = Truth { harm: Harm { guard: true, host: true, ..Harm::default() }, ..dead(GRACE) };
    assert_eq!(kinds(&alone, &lost), [Kind::InventedCode]);
    let mut twofold = exited(3);
    twofold["wait_code"] = 0.into();
    assert_eq!(kinds(&dead(GRACE), &twofold), [Kind::Contradiction]);
    assert_eq!(kinds(&dead(GRACE), &json!({ "status": "exited", "outcome": null })), [Kind::Malformed]);
}

#[test]
fn doubt_and_loss_need_a_reason() {
    assert_eq!(kinds(&living(), &bare("unknown")), [Kind::NeedlessDoubt]);
    assert_eq!(kinds(&living(), &bare("unattended")), [Kind::FalseNeglect]);
    assert_eq!(kinds(&dead(GRACE), &bare("lost")), [Kind::FalseLoss]);
    let unguarded = Harm { guard: true, ..Harm::default() };
    assert_eq!(kinds(&Truth { harm: unguarded, ..dead(GRACE) }, &bare("lost")), []);
    let kept = Truth { harm: unguarded, ending: Some(Ending::Exited(3)), ..dead(GRACE) };
    assert_eq!(kinds(&kept, &bare("lost")), [Kind::FalseLoss]);
    assert_eq!(kinds(&dead(11 * GRACE), &bare("exiting")), [Kind::LateEnd]);
    let held = Truth { held_until: u64::MAX, ..dead(11 * GRACE) };
    assert_eq!(kinds(&held, &bare("exiting")), []);
}

#[test]
fn intents_that_nobody_had_are_found() {
    let mut stopping = bare("running");
    stopping["stopping"] = true.into();
    assert_eq!(kinds(&living(), &stopping), [Kind::FalseIntent]);
    assert_eq!(kinds(&Truth { stop_asked: Some(1), ..living() }, &stopping), []);
    assert_eq!(kinds(&dead(GRACE), &bare("destroyed")), [Kind::FalseIntent]);
}

#[test]
fn a_refusal_needs_a_reason_and_a_true_status() {
    let kinds = |truth: &Truth, error: &Value| -> Vec<Kind> {
        refusal(ASKED, truth, error).into_iter().map(|lie| lie.kind).collect()
    };
    let gone = json!({ "code": "no_such_session", "message": "no session" });
    assert_eq!(kinds(&living(), &gone), [Kind::Refusal]);
    assert_eq!(kinds(&Truth { removal: Some(1), ..living() }, &gone), []);
    assert_eq!(kinds(&Truth { launched: None, ..living() }, &gone), []);
    let over = json!({ "code": "not_stoppable", "message": "it is over", "status": "exited" });
    assert_eq!(kinds(&dead(GRACE), &over), []);
    assert_eq!(kinds(&living(), &over), [Kind::FalseDeath]);
}

#[test]
fn how_late_an_answer_was_is_measured_from_the_change() {
    assert_eq!(lag(ASKED, &dead(GRACE / 2), &bare("running")), GRACE / 2);
    assert_eq!(lag(ASKED, &dead(GRACE / 2), &exited(3)), 0);
}

/// A session whose program has said that it printed three of five lines.
fn printing() -> Truth {
    let mut truth = living();
    truth.output.told = 5;
    truth.output.says(1, 3);
    truth
}

fn log_kinds(truth: &Truth, numbers: &[u64]) -> Vec<Kind> {
    let text: String = numbers.iter().map(|number| output::line(truth.tag, *number) + "\n").collect();
    output::log(truth, ASKED.call, &text, false).into_iter().map(|lie| lie.kind).collect()
}

#[test]
fn every_line_is_due_once_and_in_order() {
    assert_eq!(log_kinds(&printing(), &[1, 2, 3]), []);
    assert_eq!(log_kinds(&printing(), &[1, 2, 3, 4, 5]), []);
    assert_eq!(log_kinds(&printing(), &[1, 2]), [Kind::MissingOutput]);
    assert_eq!(log_kinds(&printing(), &[1, 3]), [Kind::MissingOutput]);
    assert_eq!(log_kinds(&printing(), &[1, 2, 2, 3]), [Kind::DoubledOutput]);
    assert_eq!(log_kinds(&printing(), &[1, 2, 3, 4, 5, 6]), [Kind::ForeignOutput]);
    let foreign = output::line(9, 1);
    assert_eq!(output::screen(&printing(), &foreign)[0].kind, Kind::ForeignOutput);
    let cut = Truth { harm: Harm { recording: true, ..Harm::default() }, ..printing() };
    assert_eq!(log_kinds(&cut, &[1, 4]), []);
    assert_eq!(log_kinds(&cut, &[1, 1]), [Kind::DoubledOutput]);
    let half = "line 3 2.\nline 3 3.\nline 3 ";
    assert!(output::screen(&printing(), half).is_empty());
}
