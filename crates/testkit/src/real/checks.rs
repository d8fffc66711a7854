//! What must hold for every agent. Each check says what it saw instead.

use rustix::process::Signal;
use serde_json::Value;

use super::kinds::Tools;
use super::place::{PATIENCE, Place, process_of};
use crate::Observer;
use crate::model::REPLY;

type Check = fn(&Place) -> Result<(), String>;

pub(super) const CHECKS: [(&str, Check); 4] =
    [("one turn", one_turn), ("killed", killed), ("resumed", resumed), ("prompted", prompted)];

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

/// The same conversation goes on in a new session, and the agent answers there.
fn resumed(place: &Place) -> Result<(), String> {
    let (id, tool) = kill(place)?;
    if let Some(tool) = tool {
        tool.signal(Signal::KILL);
    }
    let resumed = place.json(&["resume", "-d", &id, "hello"])?;
    same("came_back", &resumed["came_back"], true)?;
    let again = resumed["id"].as_str().unwrap_or_default();
    place.done(&["wait", "--strict", "--cap", PATIENCE, again])?;
    says_reply(place, again)
}

/// A prompt in its own interface opens a turn, which is over when it has answered.
fn prompted(place: &Place) -> Result<(), String> {
    let id = place.launch(place.kind.terminal, "")?;
    let told = place.json(&["prompt", "--timeout", PATIENCE, "--wait", "--cap", PATIENCE, &id, "hello"])?;
    same("the turn behind the prompt", &told["turn"], "settled")?;
    says_reply(place, &id)?;
    place.done(&["stop", "--grace", "5s", &id]).map(drop)
}

/// Kills an agent while its tool runs, or in the middle of a reply where it has none; gives the session and the tool.
fn kill(place: &Place) -> Result<(String, Option<Observer>), String> {
    place.model.let_go(false);
    // A process of ours alone, among all that sleep.
    let tool = format!("sleep 77.{}", abide_sys::clock::boot_micros());
    // qwen refuses one that only sleeps.
    let id = place.launch(place.kind.once, &format!("go TOOL:[echo begun; {tool}] and HANG"))?;
    let running = match place.kind.tools {
        Tools::Told | Tools::ToldLate => Some(place.until(&id, "the tool", || Ok(process_of(&tool)))?),
        Tools::None => None,
    };
    place.done(&["wait", "--turn", "working", "--timeout", PATIENCE, &id])?;
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
