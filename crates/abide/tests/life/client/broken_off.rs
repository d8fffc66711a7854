//! Typing that is broken off, and typing that others wait for: whoever is gone, nothing of theirs stays unfinished, and
//! nobody's text is in the middle of another's.

use abide_testkit::deadline::until;
use abide_testkit::{Ending, Observer, Running};
use rustix::process::Signal;

use super::typing::{deaf, many_keys};
use crate::common::{Gate, Life, World, kill_at_once};

const BEGIN: &str = "\u{1b}[200~";
const END: &str = "\u{1b}[201~";

/// A program that takes no keys yet and has asked for brackets, and somebody who pastes more than its terminal takes.
struct Stuck<'a> {
    world: &'a World,
    life: Life<'a>,
    gate: Gate,
    text: String,
    client: Running,
}

impl<'a> Stuck<'a> {
    fn new(world: &'a World, bytes: usize, patience: &str) -> Self {
        let (life, gate) = deaf(world, &world.beside("keys"), "printf '\\033[?2004hready\\n'");
        life.until_shown("ready");
        let text = many_keys(bytes).replace('.', "");
        let file = world.home.around().file("typed", &text);
        let recorded = || world.dir(&life.id).join("recording").metadata().map_or(0, |file| file.len());
        let before = recorded();
        let file = file.to_str().expect("it is text");
        let client = world.start(&["paste", &life.id, "--file", file, "--timeout", patience]);
        until("it has begun", || recorded() > before);
        Self { world, life, gate, text, client }
    }

    fn types(&self, text: &str) -> Running {
        self.world.start(&["type", &self.life.id, text, "--timeout", "1m"])
    }

    fn until_withdrawn(&self) {
        let is_told =
            |told: &serde_json::Value| told["text"].as_str().is_some_and(|text| text.contains("withdrawn"));
        until("it is withdrawn", || self.world.told(&self.life.id, "noted").iter().any(is_told));
    }

    /// Has the program read to the end, and gives what it got, and what was to be pasted.
    fn kept(self) -> (String, String) {
        let ended = self.world.abide.run(&["type", &self.life.id, "."]);
        assert_eq!(ended.code(), Some(0), "{ended:?}");
        self.life.program.0.await_end();
        let kept = std::fs::read_to_string(self.world.beside("keys")).expect("it is text");
        (kept, self.text)
    }

    /// What was pasted is a beginning of it in whole brackets, or nothing, and this stands behind it.
    fn check(self, behind: &str) {
        let (kept, text) = self.kept();
        let pasted = kept.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(&format!("{END}{behind}.")));
        let pasted =
            pasted.or_else(|| kept.strip_suffix(&format!("{behind}.")).filter(|rest| rest.is_empty()));
        let tail = kept.get(kept.len().saturating_sub(60)..).unwrap_or_default();
        assert!(pasted.is_some_and(|pasted| text.starts_with(pasted) && pasted != text), "{tail:?}");
    }
}

#[test]
fn a_client_that_a_signal_ends_tells_how_much_of_what_it_typed_is_there() {
    for (verb, signal) in [("type", Signal::TERM), ("paste", Signal::INT), ("paste", Signal::HUP)] {
        let world = World::new();
        let (life, gate) = deaf(&world, &world.beside("keys"), "echo ready");
        life.until_shown("ready");
        let text = many_keys(200_000).replace('.', "");
        let file = world.home.around().file("typed", &text);
        let recorded = || world.dir(&life.id).join("recording").metadata().map_or(0, |file| file.len());
        let before = recorded();
        let file = file.to_str().expect("it is text");
        let mut client = world.start(&[verb, "--json", &life.id, "--file", file, "--timeout", "1m"]);
        until("it has begun", || recorded() > before);
        client.signal(signal);
        let told: serde_json::Value = serde_json::from_str(&client.line()).expect("an answer");
        assert_eq!(client.reap(), Ending::Exited(128 + signal.as_raw()), "{told}");
        let error = &told["error"];
        assert_eq!((&error["code"], &error["session"]), (&"interrupted".into(), &life.id.as_str().into()));
        let said = error["message"].as_str().and_then(|said| said.split_once(&format!("{}: ", life.id)));
        let (count, rest) = said.and_then(|(_, said)| said.split_once(' ')).expect("it says how much");
        assert_eq!(rest, format!("of {} bytes are in its terminal, and the rest was withdrawn", text.len()));
        gate.open();
        assert_eq!(world.abide.run(&["type", &life.id, "."]).code(), Some(0));
        life.program.0.await_end();
        let kept = std::fs::read_to_string(world.beside("keys")).expect("it is text");
        let count: usize = count.parse().expect("a number");
        assert!(kept.strip_suffix('.') == text.get(..count), "{verb}: {count} told, {} came", kept.len());
    }
}

#[test]
fn a_paste_whose_client_is_ended_is_closed_before_anyone_else_types() {
    for (signal, bytes) in [(Signal::TERM, 20_000), (Signal::KILL, 20_000), (Signal::INT, 200_000)] {
        let world = World::new();
        let mut stuck = Stuck::new(&world, bytes, "1m");
        let mut other = stuck.types("hello");
        stuck.client.signal(signal);
        stuck.client.reap();
        stuck.until_withdrawn();
        stuck.gate.open();
        assert_eq!(other.reap(), Ending::Exited(0));
        stuck.check("hello");
    }
}

#[test]
fn a_paste_that_gives_up_is_closed_before_anyone_else_types() {
    for bytes in [20_000, 200_000] {
        let world = World::new();
        let mut stuck = Stuck::new(&world, bytes, "1s");
        let mut other = stuck.types("hello");
        assert_eq!(stuck.client.reap(), Ending::Exited(124));
        stuck.gate.open();
        assert_eq!(other.reap(), Ending::Exited(0));
        stuck.check("hello");
    }
}

#[test]
fn nobody_types_in_between_what_another_pastes_though_the_host_is_replaced() {
    for upgraded in [false, true] {
        let world = World::new();
        let mut stuck = Stuck::new(&world, 300_000, "1m");
        let mut others: Vec<Running> = (0..4).map(|_| stuck.types("hello")).collect();
        if upgraded {
            let next = world.abide.copied_to(&world.home.around().join("abide-new"));
            assert_eq!(next.run(&["upgrade"]).code(), Some(0));
        } else {
            stuck.life.replace("host");
        }
        stuck.gate.open();
        assert_eq!(stuck.client.reap(), Ending::Exited(0));
        assert!(others.iter_mut().all(|other| other.reap() == Ending::Exited(0)));
        let (kept, text) = stuck.kept();
        let whole = format!("{BEGIN}{text}{END}");
        assert!(kept.contains(&whole), "{} bytes, upgraded: {upgraded}", kept.len());
        assert_eq!(kept.replace(&whole, ""), "hellohellohellohello.");
    }
}

#[test]
fn what_a_client_typed_goes_with_it_though_the_host_dies_before_it_knows() {
    for bytes in [20_000, 200_000] {
        let world = World::new();
        let mut stuck = Stuck::new(&world, bytes, "1m");
        let host = stuck.life.helper("host", None);
        host.signal(Signal::STOP);
        stuck.client.signal(Signal::KILL);
        stuck.client.reap();
        host.signal(Signal::KILL);
        host.await_end();
        stuck.until_withdrawn();
        stuck.gate.open();
        stuck.check("");
    }
}

#[test]
fn a_paste_is_closed_by_the_next_guard_if_its_client_and_the_guard_die_at_once() {
    let world = World::new();
    let mut stuck = Stuck::new(&world, 200_000, "1m");
    let guard = stuck.life.helper("guard", None);
    kill_at_once(&[guard, Observer::of(stuck.client.observer().pid())]);
    stuck.client.reap();
    stuck.gate.open();
    stuck.check("");
}

#[test]
fn a_client_that_comes_back_too_late_is_told_and_types_nothing_more() {
    let world = World::new();
    let mut stuck = Stuck::new(&world, 200_000, "1m");
    stuck.client.signal(Signal::STOP);
    stuck.life.replace("host");
    stuck.until_withdrawn();
    stuck.client.signal(Signal::CONT);
    assert_eq!(stuck.client.reap(), Ending::Exited(124));
    stuck.gate.open();
    stuck.check("");
}

#[test]
fn no_character_is_torn_where_typing_gives_up() {
    let world = World::new();
    let (life, gate) = deaf(&world, &world.beside("keys"), "echo ready");
    life.until_shown("ready");
    let ran = world.abide.run(&["type", &life.id, &"€".repeat(9_000), "--timeout", "300ms"]);
    assert_eq!(ran.code(), Some(124), "{ran:?}");
    gate.open();
    assert_eq!(world.abide.run(&["type", &life.id, "."]).code(), Some(0));
    life.program.0.await_end();
    let kept = std::fs::read_to_string(world.beside("keys")).expect("no character is torn");
    let count = kept.strip_suffix('.').map(|typed| typed.matches('€').count()).expect("it ends so");
    assert!(
        kept.len() == count * 3 + 1 && ran.stderr.contains(&format!(" {} of 27000 bytes", count * 3)),
        "{ran:?}"
    );
}
