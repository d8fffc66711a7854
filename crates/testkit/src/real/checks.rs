//! What must hold for every agent. Each check says what it saw instead.

use rustix::process::Signal;
use serde_json::Value;

use super::elsewhere::by_hand;
use super::kinds::Tools;
use super::place::{PATIENCE, Place, SIZE, parent, process_of};
use crate::Observer;
use crate::model::REPLY;

/// What abide exits with where a conversation is in use.
const IN_USE: i32 = 6;

type Check = fn(&Place) -> Result<(), String>;

pub(super) const CHECKS: [(&str, Check); 7] = [
    ("one turn", one_turn),
    ("killed", killed),
    ("sealed", sealed),
    ("unwrapped", unwrapped),
    ("resumed", resumed),
    ("prompted", prompted),
    ("by hand", by_hand),
];

/// The turn is told while it lasts and when it is over, the end is exact, and the summary counts the tool.
fn one_turn(place: &Place) -> Result<(), String> {
    place.model.let_go(false);
    let id = place.launch(place.kind.once, "go TOOL:[touch ran] and HANG")?;
    place.done(&["wait", "--turn", "working", "--timeout", PATIENCE, &id])?;
    place.model.let_go(true);
    place.done(&["wait", "--strict", "--cap", PATIENCE, &id])?;
    let told = place.json(&["inspect", &id])?;
    same("the turn at the end", &told["turn"], "settled")?;
    let says = place.fact(&id, "summary")?;
    match place.kind.tools {
        Tools::None => Ok(()),
        Tools::Told | Tools::ToldLate if !place.work().join("ran").is_file() => {
            Err(format!("the tool did not run; the agent says {}", place.last_words(&id)))
        }
        Tools::Told | Tools::ToldLate if !says.contains(" 1 tool calls") => {
            Err(format!("the summary does not count the tool: {says}"))
        }
        Tools::Told | Tools::ToldLate => Ok(()),
    }
}

/// A killed agent is over at once, its turn with it; what it left is named.
fn killed(place: &Place) -> Result<(), String> {
    let (id, tool) = kill(place)?;
    let told = place.json(&["inspect", &id])?;
    if told["turn"] == "working" {
        return Err("the turn of a killed agent is still working".to_owned());
    }
    let says = place.fact(&id, "summary")?;
    if place.kind.tools == Tools::Told && !says.contains("sleep 77") {
        return Err(format!("the summary does not name the unanswered call: {says}"));
    }
    let Some(tool) = tool.filter(Observer::lives) else { return Ok(()) };
    let told = place.json(&["inspect", &id])?;
    let survivors = told["survivors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_named = survivors.iter().any(|survivor| survivor["pid"] == tool.pid());
    // It may have ended meanwhile: then it is no survivor.
    let forgotten = !is_named && tool.lives();
    tool.signal(Signal::KILL);
    if forgotten {
        Err(format!("its tool {} lives and is not named: {survivors:?}", tool.pid()))
    } else {
        Ok(())
    }
}

/// Everything of a session is killed in the middle of a turn: it is lost at once, with the cause; a doctor seals it, once; what
/// was saved of the transcript can be read.
fn sealed(place: &Place) -> Result<(), String> {
    let (id, tool) = working(place, SIZE)?;
    place.until(&id, "a checkpoint", || Ok(place.fact(&id, "checkpointed").ok()))?;
    let told = place.json(&["inspect", &id])?;
    let pid = |who: &str| told["processes"][who]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
    let helpers = ["guard", "host", "program"].into_iter().filter_map(pid).filter_map(Observer::find);
    let scribe = process_of(&format!("abide __scribe {id}"));
    // One that is left out would be hung up, and answer its call before it ends.
    let agent = place.until(&id, "the agent", || Ok(agent(&place.json(&["agents"])?, &id)))?;
    let all: Vec<Observer> = helpers.chain(scribe).chain([agent]).collect();
    // None of them can act on the death of another.
    for signal in [Signal::STOP, Signal::KILL] {
        all.iter().for_each(|process| process.signal(signal));
    }
    all.iter().for_each(Observer::await_end);
    // A wrapper that was not on record as the program any more ends with its agent.
    let told = place.until(&id, "the end", || {
        let told = place.json(&["inspect", &id])?;
        Ok((told["status"] == "lost").then_some(told))
    })?;
    if told["turn"] == "working" || told["outcome"]["cause"].is_null() {
        return Err(format!("the turn is {}, the cause {}", told["turn"], told["outcome"]["cause"]));
    }
    for _ in 0..2 {
        place.done(&["doctor", "--fix"])?;
    }
    let events = place.json(&["events", &id])?;
    let events = events["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    let seals = events.iter().filter(|fact| fact["fact"] == "sealed").count();
    if seals != 1 {
        return Err(format!("it was sealed {seals} times"));
    }
    let says = place.fact(&id, "turn_closed")?;
    if place.kind.tools == Tools::Told && !says.contains("sleep 77") {
        return Err(format!("the turn was closed without its unanswered call: {says}"));
    }
    if let Some(tool) = tool {
        tool.signal(Signal::KILL);
    }
    place.done(&["checkpoint", "show", &id]).map(drop)
}

/// What starts an agent and stands by is killed: the agent lives and is followed, or ends with it and is over. On a terminal
/// the kernel hangs up all whom its leader leaves.
fn unwrapped(place: &Place) -> Result<(), String> {
    let (id, tool) = working(place, &["--no-tty"])?;
    let agent = place.until(&id, "the agent", || Ok(agent(&place.json(&["agents"])?, &id)))?;
    let guard = place.json(&["inspect", &id])?["processes"]["guard"]["pid"].as_u64();
    let above = parent(agent.pid()).filter(|above| Some(u64::from(*above)) != guard).and_then(Observer::find);
    if let Some(wrapper) = above {
        wrapper.signal(Signal::KILL);
        wrapper.await_end();
        let over = place.run(&["wait", "--strict", "--cap", "2s", &id]);
        let told = place.json(&["inspect", &id])?;
        if agent.lives() {
            same("the status without its wrapper", &told["status"], "running")?;
            same("the turn without its wrapper", &told["turn"], "working")?;
        } else if matches!(over.code(), Some(124 | 125) | None) {
            return Err(format!("its agent ended with its wrapper, and it is {}", told["status"]));
        }
    }
    agent.signal(Signal::KILL);
    agent.await_end();
    if let Some(tool) = tool {
        tool.signal(Signal::KILL);
    }
    let _ = place.run(&["wait", "--cap", PATIENCE, &id]);
    let told = place.json(&["inspect", &id])?;
    same("the end", &told["status"], "exited")
}

/// The same conversation goes on in a new session, where the agent answers; a second one is refused meanwhile.
fn resumed(place: &Place) -> Result<(), String> {
    let (id, tool) = kill(place)?;
    if let Some(tool) = tool {
        tool.signal(Signal::KILL);
    }
    let before = conversation(place, &id)?;
    let resumed = place.json(&["resume", "-d", &id, "hello and HANG"])?;
    same("came_back", &resumed["came_back"], true)?;
    let again = resumed["id"].as_str().unwrap_or_default();
    let refused = place.run(&["resume", "-d", &id, "hello"]);
    if refused.code() != Some(IN_USE) {
        return Err(format!("a second one may resume it: {}{}", refused.stdout, refused.stderr));
    }
    place.model.let_go(true);
    place.done(&["wait", "--strict", "--cap", PATIENCE, again])?;
    says_reply(place, again)?;
    same("the conversation that was resumed", &resumed["conversation"], before.clone())?;
    same("the conversation of the new session", &conversation(place, again)?, before)
}

/// The conversation that the agent of a session was at, by its summary.
fn conversation(place: &Place, id: &str) -> Result<Value, String> {
    let _ = place.fact(id, "summary")?;
    Ok(place.json(&["inspect", id])?["summary"]["conversation"].take())
}

/// A prompt in its own interface opens a turn, which is over when it has answered.
fn prompted(place: &Place) -> Result<(), String> {
    let id = place.launch(place.kind.terminal, "")?;
    // Under load each of the two may take as long as a command here may.
    place.done(&["prompt", "--timeout", PATIENCE, &id, "hello"])?;
    place.done(&["wait", "--turn", "settled", "--timeout", PATIENCE, &id])?;
    says_reply(place, &id)?;
    place.done(&["stop", "--grace", "5s", &id]).map(drop)
}

/// An agent whose tool runs, or that is in the middle of a reply where it has none: the session and the tool.
fn working(place: &Place, options: &[&str]) -> Result<(String, Option<Observer>), String> {
    place.model.let_go(false);
    // A process of ours alone, among all that sleep.
    let tool = format!("sleep 77.{}", abide_sys::clock::boot_micros());
    // qwen refuses one that only sleeps.
    let id = place.launch_as(options, place.kind.once, &format!("go TOOL:[echo begun; {tool}] and HANG"))?;
    let running = match place.kind.tools {
        Tools::Told | Tools::ToldLate => Some(place.until(&id, "the tool", || Ok(process_of(&tool)))?),
        Tools::None => None,
    };
    place.done(&["wait", "--turn", "working", "--timeout", PATIENCE, &id])?;
    Ok((id, running))
}

/// Kills an agent that works; gives the session and the tool.
fn kill(place: &Place) -> Result<(String, Option<Observer>), String> {
    let (id, running) = working(place, SIZE)?;
    let agent = place.until(&id, "the agent", || Ok(agent(&place.json(&["agents"])?, &id)))?;
    agent.signal(Signal::KILL);
    agent.await_end();
    let over = place.run(&["wait", "--strict", "--cap", "1s", &id]);
    match over.code() {
        Some(124 | 125) | None => {
            Err(format!("not over a second after the kill: {}{}", over.stdout, over.stderr))
        }
        Some(_) => Ok((id, running)),
    }
}

/// The agent of a session.
pub(super) fn agent(told: &Value, id: &str) -> Option<Observer> {
    let all = told["agents"].as_array()?;
    let pid = all.iter().find(|agent| agent["session"] == id)?["pid"].as_u64()?;
    Observer::find(u32::try_from(pid).ok()?)
}

/// Whether the reply is to be seen, or comes to be.
fn says_reply(place: &Place, id: &str) -> Result<(), String> {
    place.until(id, "the reply", || {
        let said = place.done(&["logs", id])? + &place.done(&["snapshot", id])?;
        Ok(said.contains(REPLY).then_some(()))
    })
}

fn same(what: &str, seen: &Value, wanted: impl Into<Value>) -> Result<(), String> {
    let wanted = wanted.into();
    if *seen == wanted { Ok(()) } else { Err(format!("{what} is {seen}, not {wanted}")) }
}
