//! What must hold for an agent that a person started by hand, in a terminal of their own and outside of every session.

use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use super::kinds::Tools;
use super::place::{Place, process_of};
use crate::deadline::Deadline;
use crate::{Observer, Terminal};

/// How long what is shown is read between two questions, in ms.
const LOOK_MS: u64 = 100;
/// How long an agent that was typed to is left alone before Enter is pressed, in ms: none takes both at once.
const TYPED_MS: u64 = 700;
/// Within so many ms one that was killed is listed no more.
const GONE_MS: u64 = 1_000;
/// So much of a prompt stands in one line.
const BEGINNING: usize = 8;

/// It is listed with the right turn, and with what it wants while it asks for a permission; killed, it is listed no more.
pub(super) fn by_hand(place: &Place) -> Result<(), String> {
    place.model.let_go(false);
    // What one without tools asks is known from its terminal alone, and that is not ours.
    let asks = place.kind.asking.is_some() && place.kind.tools != Tools::None;
    let mut hand = Hand { place, terminal: place.by_hand(place.kind.asking.unwrap_or(place.kind.terminal)) };
    hand.until("it is listed", |agent| agent["session"].is_null())?;
    // Some write nothing down before their first reply.
    hand.prompt("hello")?;
    hand.until("it is done", |agent| agent["turn"] == "settled")?;
    let tool = format!("sleep 78.{}", abide_sys::clock::boot_micros());
    // One that changes nothing needs no permission.
    let prompt = match asks {
        true => format!("go TOOL:[touch asked; {tool}] ASK and HANG"),
        false => "please HANG".to_owned(),
    };
    hand.prompt(&prompt)?;
    if asks {
        hand.await_question()?;
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
    // What started it and stands by looks like it, and takes a moment to end too.
    let since = abide_sys::clock::now().boot;
    let mut still = hand.agent();
    while still.is_some() && abide_sys::clock::now().boot < since + GONE_MS {
        still = hand.agent();
    }
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

    /// Types a prompt as a person does: once the input is there, and Enter once it is shown.
    fn prompt(&mut self, prompt: &str) -> Result<(), String> {
        let adapter = abide_agents::named(self.place.kind.name).ok_or("no adapter knows it")?;
        self.until_shown("its input", |lines| adapter.takes_input(lines))?;
        self.terminal.read_for(TYPED_MS);
        self.terminal.type_in(prompt.as_bytes());
        let beginning = &prompt[..prompt.len().min(BEGINNING)];
        self.until_shown("what was typed", |lines| lines.iter().any(|line| line.contains(beginning)))?;
        self.terminal.read_for(TYPED_MS);
        self.terminal.type_in(b"\r");
        Ok(())
    }

    /// Waits until it asks for a permission. Where its files tell, so must abide; else it must not tell that nothing is wanted.
    fn await_question(&mut self) -> Result<(), String> {
        if self.place.kind.files_ask {
            let is_asked = |agent: &Value| agent["turn"] == "working" && agent["attention"] == "approval";
            return self.until("it asks for a permission", is_asked);
        }
        let adapter = abide_agents::named(self.place.kind.name).ok_or("no adapter knows it")?;
        let asks = |lines: &[String]| abide_agents::shown(adapter, lines).is_some_and(|level| level.asks());
        self.until_shown("a question", asks)?;
        let is_open = |agent: &Value| agent["turn"] == "working" && agent["attention"] != "none";
        self.until("it works, and may ask for something", is_open)
    }

    /// Reads until this is shown.
    fn until_shown(&mut self, what: &str, is_so: impl Fn(&[String]) -> bool) -> Result<(), String> {
        let deadline = Deadline::start();
        loop {
            let shown = self.terminal.screen().live().text();
            let lines: Vec<String> = shown.trim_end().lines().map(str::to_owned).collect();
            if is_so(&lines) {
                return Ok(());
            }
            if deadline.is_over() {
                return Err(format!("it never shows {what}, but {}", shown.trim_end()));
            }
            self.terminal.read_for(LOOK_MS);
        }
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
