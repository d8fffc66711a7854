//! How often abide is right about a real agent, and how late at worst: idle, working, waiting for a person, done, dead. What
//! is true is told by the model (it knows when it was asked and when it had answered), by the key that we press, and by a
//! pidfd of our own; what abide says is asked again and again meanwhile.

mod hooked;
mod run;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use abide_sys::clock;
use rustix::process::Signal;
use serde_json::Value;

use super::checks::agent;
use super::kinds::Tools;
use super::place::{PATIENCE, Place};
use crate::deadline::Deadline;
use crate::model::Heard;
use hooked::Hooked;
use run::{Answer, At, Run, Truth};

/// The heads of the table.
pub(super) const HEADS: [&str; 9] =
    ["agent", "version", "source", "idle", "working", "waiting", "done", "dead", "worst lag"];
/// How long each is looked at, where nothing else ends it.
const EACH: &str = "3s";
/// What abide says in the end, of all its sources together; the same where the agent runs its hooks.
const ALL: &str = "all together";
const ALL_HOOKED: &str = "all, with hooks";

/// Lets an agent idle, work, wait for a person where it does, be done and die, and gives a row for each source; once as it
/// is, and once with our hooks in its settings, where it runs hooks. What was said instead of what was true is told.
pub(super) fn rows(place: &Place, version: &str, out: &mut impl Write) -> Result<Vec<Vec<String>>, String> {
    let arguments = place.kind.asking.unwrap_or(place.kind.terminal);
    let run = watched(place, arguments)?;
    let mut wanted: Vec<(&str, &Run)> = run.sources().into_iter().map(|source| (source, &run)).collect();
    let hooks = Hooked::install(place)?;
    let hooked = match &hooks {
        None => None,
        Some(hooks) => {
            let run = watched(place, &[arguments, place.kind.trusting].concat())?;
            Some(run.with(hooked::HOOK, &hooks.told()?).renamed(ALL, ALL_HOOKED))
        }
    };
    wanted.extend(hooked.iter().flat_map(|run| [(hooked::HOOK, run), (ALL_HOOKED, run)]));
    let row = |(source, run): &(&str, &Run)| {
        let mut row = vec![place.kind.name.to_owned(), version.to_owned(), (*source).to_owned()];
        row.extend(At::EACH.map(|at| run.share(source, at)));
        row.push(run.lag(source));
        row
    };
    let name = place.kind.name;
    let mut says: Vec<String> = [Some(&run), hooked.as_ref()].into_iter().flatten().map(Run::lived).collect();
    for (source, run) in &wanted {
        says.extend(run.wrong(source).iter().map(|wrong| format!("{source}: {wrong}")));
    }
    let told = says.iter().try_for_each(|says| writeln!(out, "{name} {says}"));
    told.map_err(|error: io::Error| error.to_string())?;
    Ok(wanted.iter().map(row).collect())
}

/// One life of an agent, and what was said of it.
fn watched(place: &Place, arguments: &[&str]) -> Result<Run, String> {
    place.model.let_go(false);
    let id = place.launch(arguments, "")?;
    place.until(&id, "its input", || Ok(place.takes_input(&id).then_some(())))?;
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
    Ok(Run { truth: truth?, answers })
}

fn live(place: &Place, id: &str) -> Result<Truth, String> {
    let now = || clock::now().boot;
    let pause = || place.done(&["wait", "--cap", EACH, id]).map(drop);
    let mut truth = vec![(now(), Some(At::Idle))];
    pause()?;
    let since = now();
    let prompt = match place.kind.tools {
        // It asks before it looks at a file, and has no tools.
        Tools::None => "go FILE:[notes] and HANG",
        Tools::Told | Tools::ToldLate => "go TOOL:[touch ran] ASK and HANG",
    };
    // When it takes the prompt nobody else sees.
    truth.push((since, None));
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
    truth.push((began, Some(At::Working)));
    if place.kind.asking.is_some() {
        // Some take seconds to show what they ask, and lose the keys that are pressed before.
        truth.push((heard(Heard::Called)?, None));
        truth.push((asked(place, id)?, Some(At::Waiting)));
        pause()?;
        truth.push((now(), Some(At::Working)));
        place.done(&["keys", id, "Enter"])?;
    }
    heard(Heard::Hangs)?;
    pause()?;
    place.model.let_go(true);
    truth.push((heard(Heard::LetGo)?, Some(At::Done)));
    pause()?;
    let process = agent(&place.json(&["agents"])?, id).ok_or("the agent is not listed")?;
    process.signal(Signal::KILL);
    process.await_end();
    truth.push((now(), Some(At::Dead)));
    place.run(&["wait", "--cap", EACH, id]);
    let until = now() + 1_000;
    while now() < until {
        place.done(&["inspect", id])?;
    }
    Ok(truth)
}

/// When its question is first seen on its terminal, in ms of boot time.
fn asked(place: &Place, id: &str) -> Result<u64, String> {
    let deadline = Deadline::start();
    loop {
        let is_asked = place.shown(id).is_some_and(|(_, attention)| attention != "none");
        match (is_asked, deadline.is_over()) {
            (true, _) => return Ok(clock::now().boot),
            (false, true) => return Err(format!("it never asks, but says {}", place.last_words(id))),
            (false, false) => {}
        }
    }
}

fn ask(place: &Place, id: &str) -> Answer {
    let asked = clock::now().boot;
    let told = place.json(&["agents"]).unwrap_or_default();
    let listed =
        told["agents"].as_array().and_then(|all| all.iter().find(|one| one["session"] == id)).cloned();
    let session = place.json(&["inspect", id]).unwrap_or_default();
    let shown = listed.as_ref().and_then(|_| place.shown(id));
    let given = clock::now().boot;
    let mut said = BTreeMap::new();
    let signs = listed.as_ref().and_then(|agent| agent["because"].as_array());
    for sign in signs.into_iter().flatten() {
        let source = sign["source"].as_str().unwrap_or_default().to_owned();
        said.extend(stands(&sign["turn"], &sign["attention"]).map(|at| (source, at)));
    }
    let level = shown.and_then(|(turn, attention)| stands(&turn.into(), &attention.into()));
    said.extend(level.map(|at| ("screen".to_owned(), at)));
    let over = session["wait_code"].is_u64() && listed.is_none();
    let at = if over { Some(At::Dead) } else { stands(&session["turn"], &session["attention"]) };
    said.extend(at.map(|at| (ALL.to_owned(), at)));
    Answer { asked, given, said }
}

/// What turn and attention say; idle and done are the same to them.
fn stands(turn: &Value, attention: &Value) -> Option<At> {
    match (turn.as_str()?, attention.as_str()) {
        (_, Some("approval" | "answer")) => Some(At::Waiting),
        ("working", _) => Some(At::Working),
        ("settled", _) => Some(At::Done),
        _ => None,
    }
}
