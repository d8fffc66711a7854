//! Playing in a real terminal: to the end without keys, wherever keys lead, and always given back.

use abide_core::screen::{Mouse, Size};
use abide_testkit::{Ending, Terminal};
use rustix::process::Signal;

use crate::common::World;

/// A session whose two pictures are two minutes apart, by its own clock, and one of them sets what a viewer must not get.
fn recorded(world: &World) -> String {
    let show = "printf '\\033[?1049h\\033[?1003h\\033[Hfirst picture'; sleep 0.3; printf '\\033[2J\\033[Hsecond picture'";
    let id = world.launch(&["--size", "60x10"], &["sh", "-c", show]);
    assert_eq!(world.wait(&id).0, Some(0));
    id
}

fn play(world: &World, options: &[&str], id: &str) -> Terminal {
    Terminal::start(&world.abide.command(&[&["play"], options, &[id]].concat()))
}

/// Nothing is left of what was played but the picture.
fn is_given_back(terminal: &Terminal) -> bool {
    let (screen, modes) = (terminal.screen(), terminal.screen().input_modes());
    screen.view().cursor().visible && modes.mouse == Mouse::Off && !screen.alternate() && !screen.is_held()
}

#[test]
fn without_keys_it_ends_at_the_end_and_leaves_the_last_picture() {
    let world = World::new();
    let id = recorded(&world);
    let mut terminal = play(&world, &["--idle-limit", "50ms"], &id);
    terminal.until("first picture");
    assert_eq!(terminal.reap(), Ending::Exited(0));
    assert!(
        terminal.screen().view().text().contains("second picture"),
        "{}",
        terminal.screen().view().text()
    );
    assert!(is_given_back(&terminal));
}

#[test]
fn keys_pause_it_lead_anywhere_and_leave_it() {
    let world = World::new();
    let id = recorded(&world);
    let mut terminal = play(&world, &["--speed", "0.1"], &id);
    terminal.until_screen("the first picture", |screen| screen.view().text().contains("first picture"));
    terminal.type_in(b" ");
    terminal.until_screen("paused", |screen| screen.view().text().contains("paused 0:00"));
    terminal.type_in(b"\x1b[F");
    terminal.until_screen("at the end", |screen| screen.view().text().contains("second picture"));
    terminal.type_in(b"\x1b[D");
    terminal.until_screen("back at the start", |screen| !screen.view().text().contains("second picture"));
    terminal.resize(Size { cols: 30, rows: 6 });
    terminal.type_in(b".");
    terminal.until_screen("one further", |screen| screen.view().text().contains("first picture"));
    terminal.type_in(b"q");
    assert_eq!(terminal.reap(), Ending::Exited(0));
    assert!(is_given_back(&terminal));
}

#[test]
fn a_signal_ends_it_with_the_terminal_given_back_and_without_a_terminal_it_is_refused() {
    let world = World::new();
    let id = recorded(&world);
    let mut terminal = play(&world, &["--speed", "0.1"], &id);
    terminal.until("first picture");
    terminal.observer().signal(Signal::TERM);
    assert_eq!(terminal.reap(), Ending::Exited(128 + 15));
    assert!(is_given_back(&terminal));
    let ran = world.abide.run(&["play", &id]);
    assert_eq!(ran.code(), Some(2), "{ran:?}");
    assert!(ran.stderr.contains("playing needs a terminal") && ran.stderr.contains("hint: "), "{ran:?}");
}
