//! What must hold for an agent that a person started by hand, in a terminal of their own and outside of every session.

use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use super::place::{Place, process_of};
use crate::deadline::Deadline;
use crate::{Observer, Terminal};

/// How long what is shown is read between two questions, in ms.
const LOOK_MS: u64 = 100;
/// How long an agent that is typed to may take to show it before Enter is pressed, in ms: none takes both at once.
const TYPED_MS: u64 = 1_500;

/// It is listed with the right turn, and with what it wants while it asks for a permission; killed, it is listed no more.
pub(super) fn by_hand(place: &Place) -> Result<(), String> {
    place.model.let_go(false);
    let asks = place.kind.asking.is_some();
    let mut hand = Hand { place, terminal: place.by_hand(place.kind.asking.unwrap_or(place.kind.terminal)) };
    hand.until("it is listed", |agent| agent["session"].is_null())?;
    hand.terminal.read_for(2 * TYPED_MS);
    let tool = format!("sleep 78.{}", abide_sys::clock::boot_micros());
    // One that changes nothing needs no permission.
    let prompt =
        if asks { format!("go TOOL:[touch asked; {tool}] and HANG") } else { "please HANG".to_owned() };
    hand.terminal.type_in(prompt.as_bytes());
    hand.terminal.read_for(TYPED_MS);
    hand.terminal.type_in(b"\r");
    if asks {
        let is_asked = |agent: &Value| agent["turn"] == "working" && agent["attention"] == "approval";
        hand.until("it asks for a permission", is_asked)?;
        hand.terminal.type_in(b"\r");
        hand.until("it works and asks for nothing", |agent| {
            agent["turn"] == "working" && agent["attention"] != "approval" && process_of(&tool).is_some()
        })?;
    } else {
        hand.until("it works", |agent| agent["turn"] == "working")?;
    }
    let agent = hand.agent().ok_or("it is listed no more while it works")?;
    let pid = agent["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
    let observer = Observer::find(pid).ok_or("it is listed, and there is no such process")?;
    observer.signal(Signal::KILL);
    observer.await_end();
    let still = hand.agent();
    if let Some(tool) = process_of(&tool) {
        tool.signal(Signal::KILL);
    }
    match still {
        None => Ok(()),
        Some(agent) => Err(format!("it was killed and is listed: {agent}")),
    }
}

/// An agent that somebody started, and their terminal.
struct Hand<'a> {
    place: &'a Place,
    terminal: Terminal,
}

impl Hand<'_> {
    /// What `agents` says of it.
    fn agent(&self) -> Option<Value> {
        let told = self.place.json(&["agents"]).ok()?;
        let work = self.place.work().canonicalize().ok()?;
        let is_it = |agent: &&Value| {
            agent["agent"] == self.place.kind.name && agent["cwd"].as_str().map(Path::new) == Some(&work)
        };
        told["agents"].as_array()?.iter().find(is_it).cloned()
    }

    /// Asks until it is told so.
    fn until(&mut self, what: &str, is_so: impl Fn(&Value) -> bool) -> Result<(), String> {
        let deadline = Deadline::start();
        loop {
            let agent = self.agent();
            if agent.as_ref().is_some_and(&is_so) {
                return Ok(());
            }
            if deadline.is_over() {
                let shown = self.terminal.screen().live().text();
                let told = agent.map_or("nothing".to_owned(), |agent| agent.to_string());
                return Err(format!("never told that {what}, but {told}; it shows {}", shown.trim_end()));
            }
            self.terminal.read_for(LOOK_MS);
        }
    }
}
