//! How often abide is right about a real agent, and how late at worst: idle, working, waiting for a person, done, dead. What
//! is true is told by the model (it knows when it was asked and when it had answered), by the key that we press, and by a
//! pidfd of our own; what abide says is asked again and again meanwhile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use abide_sys::clock;
use rustix::process::Signal;
use serde_json::Value;

use super::checks::agent;
use super::kinds::Tools;
use super::place::{PATIENCE, Place};
use crate::model::Heard;

/// What an agent is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    Idle,
    Working,
    Waiting,
    Done,
    Dead,
}

/// The heads of the table.
pub(super) const HEADS: [&str; 9] =
    ["agent", "version", "source", "idle", "working", "waiting", "done", "dead", "worst lag"];
/// How long each is looked at, where nothing else ends it.
const EACH: &str = "3s";
/// What abide says in the end, of all its sources together.
const ALL: &str = "all together";

/// One answer: when it was asked for and given, and what each source said.
struct Answer {
    asked: u64,
    given: u64,
    said: BTreeMap<String, At>,
}

/// Lets an agent idle, work, wait for a person where it does, be done and die, and gives a row for each source.
pub(super) fn rows(place: &Place, version: &str) -> Result<Vec<Vec<String>>, String> {
    place.model.let_go(false);
    let id = place.launch(place.kind.asking.unwrap_or(place.kind.terminal), "")?;
    place.done(&["wait", "--idle", "2s", "--timeout", PATIENCE, &id])?;
    let over = AtomicBool::new(false);
    let (truth, answers) = thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut answers = Vec::new();
            while !over.load(Ordering::SeqCst) {
                answers.push(ask(place, &id));
            }
            answers
        });
        let truth = live(place, &id);
        over.store(true, Ordering::SeqCst);
        (truth, asking.join().unwrap_or_default())
    });
    let truth = truth?;
    let mut sources: Vec<&str> = Vec::new();
    for source in answers.iter().flat_map(|answer| answer.said.keys()) {
        if !sources.contains(&source.as_str()) {
            sources.push(source);
        }
    }
    sources.sort_by_key(|source| (*source == ALL, *source));
    let row = |source: &str| {
        let mut row = vec![place.kind.name.to_owned(), version.to_owned(), source.to_owned()];
        row.extend(
            [At::Idle, At::Working, At::Waiting, At::Done, At::Dead]
                .map(|at| share(&truth, &answers, source, at)),
        );
        row.push(lag(&truth, &answers, source));
        row
    };
    Ok(sources.into_iter().map(row).collect())
}

/// What became true when, in ms of boot time.
type Truth = Vec<(u64, At)>;

fn live(place: &Place, id: &str) -> Result<Truth, String> {
    let now = || clock::now().boot;
    let pause = || place.done(&["wait", "--cap", EACH, id]).map(drop);
    let mut truth = vec![(now(), At::Idle)];
    pause()?;
    let since = now();
    let prompt = if place.kind.tools == Tools::None { "please HANG" } else { "go TOOL:[touch ran] and HANG" };
    place.done(&["prompt", "--timeout", PATIENCE, id, prompt])?;
    let heard = |wanted: Heard| {
        place.until(id, "the model", || {
            let all = place.model.heard();
            Ok(all.iter().find(|(at, heard)| *at >= since && *heard == wanted).map(|(at, _)| *at))
        })
    };
    let began = place.until(id, "the model", || {
        Ok(place.model.heard().iter().map(|(at, _)| *at).find(|at| *at >= since))
    })?;
    truth.push((began, At::Working));
    if place.kind.asking.is_some() {
        truth.push((heard(Heard::Called)?, At::Waiting));
        pause()?;
        truth.push((now(), At::Working));
        place.done(&["keys", id, "Enter"])?;
    }
    heard(Heard::Hangs)?;
    pause()?;
    place.model.let_go(true);
    truth.push((heard(Heard::LetGo)?, At::Done));
    pause()?;
    let process = agent(&place.json(&["agents"])?, id).ok_or("the agent is not listed")?;
    process.signal(Signal::KILL);
    process.await_end();
    truth.push((now(), At::Dead));
    place.run(&["wait", "--cap", EACH, id]);
    let until = now() + 1_000;
    while now() < until {
        place.done(&["inspect", id])?;
    }
    Ok(truth)
}

fn ask(place: &Place, id: &str) -> Answer {
    let asked = clock::now().boot;
    let told = place.json(&["agents"]).unwrap_or_default();
    let listed =
        told["agents"].as_array().and_then(|all| all.iter().find(|one| one["session"] == id)).cloned();
    let session = place.json(&["inspect", id]).unwrap_or_default();
    let given = clock::now().boot;
    let mut said = BTreeMap::new();
    let signs = listed.as_ref().and_then(|agent| agent["because"].as_array());
    for sign in signs.into_iter().flatten() {
        let source = sign["source"].as_str().unwrap_or_default().to_owned();
        said.extend(stands(sign).map(|at| (source, at)));
    }
    let over = session["wait_code"].is_u64() && listed.is_none();
    let at = if over { Some(At::Dead) } else { stands(&session) };
    said.extend(at.map(|at| (ALL.to_owned(), at)));
    Answer { asked, given, said }
}

/// What turn and attention say; idle and done are the same to them.
fn stands(told: &Value) -> Option<At> {
    match (told["turn"].as_str()?, told["attention"].as_str()) {
        (_, Some("approval" | "answer")) => Some(At::Waiting),
        ("working", _) => Some(At::Working),
        ("settled", _) => Some(At::Done),
        _ => None,
    }
}

fn is_right(said: At, truth: At) -> bool {
    said == truth || (said == At::Done && truth == At::Idle)
}

/// What was true at an instant; none before anything was.
fn at(truth: &Truth, ms: u64) -> Option<At> {
    truth.iter().rev().find(|(since, _)| *since <= ms).map(|(_, at)| *at)
}

/// Of the answers that were asked for and given while this was true: how many were right, and how many said something.
fn share(truth: &Truth, answers: &[Answer], source: &str, state: At) -> String {
    let within = answers
        .iter()
        .filter(|one| at(truth, one.asked) == Some(state) && at(truth, one.given) == Some(state));
    let said: Vec<Option<At>> = within.map(|one| one.said.get(source).copied()).collect();
    let right = said.iter().flatten().filter(|said| is_right(**said, state)).count();
    match said.iter().flatten().count() {
        0 => "-".to_owned(),
        told if told == said.len() => format!("{}%", right * 100 / told),
        told => format!("{}% of {}%", right * 100 / told, told * 100 / said.len()),
    }
}

/// The longest time from a change to the first right answer, of those that a source ever told.
fn lag(truth: &Truth, answers: &[Answer], source: &str) -> String {
    let mut worst = None;
    for (number, (since, state)) in truth.iter().enumerate().skip(1) {
        let end = truth.get(number + 1).map_or(u64::MAX, |(next, _)| *next);
        let right = |one: &&Answer| {
            one.given >= *since
                && one.given < end
                && one.said.get(source).is_some_and(|said| is_right(*said, *state))
        };
        worst = worst.max(answers.iter().find(right).map(|one| one.given - since));
    }
    worst.map_or_else(|| "-".to_owned(), |ms| format!("{ms} ms"))
}
