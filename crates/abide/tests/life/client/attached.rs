//! Attached terminals: what detaches them, how they are given back, and when nobody is let in.

use std::process::Command;

use abide_core::screen::{Mouse, Screen};
use abide_sys::clock;
use abide_testkit::deadline::until;
use abide_testkit::{Ending, Terminal};
use rustix::process::Signal;

use crate::common::{Life, World, agent};

fn attach(world: &World, life: &Life<'_>, options: &[&str]) -> Terminal {
    Terminal::start(&world.abide.command(&[&["attach"], options, &[&life.id]].concat()))
}

/// A program that keeps every key, and its session.
fn keeper<'a>(world: &'a World, file: &str) -> Life<'a> {
    let life = world.live(&[&format!("keep-keys {file}"), "exit 0"]);
    life.until_shown("ready");
    life.helper("host", None);
    life
}

fn kept(file: &str) -> Vec<u8> {
    std::fs::read(file).expect("the program keeps keys")
}

#[test]
fn a_press_that_is_not_the_detach_key_reaches_the_program_in_its_order() {
    let world = World::new();
    let file = world.beside("keys");
    let life = keeper(&world, &file);
    let mut attached = attach(&world, &life, &[]);
    attached.until("ready");
    attached.type_in(b"a\x1cb\x1b[92;5u\x1b[A");
    until("all of it came", || kept(&file) == b"a\x1cb\x1b[92;5u\x1b[A");
    // Nothing follows: it comes by itself once the second is over.
    attached.type_in(b"\x1c");
    until("the single press came", || kept(&file).ends_with(b"\x1b[A\x1c"));
    let before = kept(&file);
    attached.type_in(b"\x1c\x1c");
    assert_eq!(attached.reap(), Ending::Exited(0));
    assert_eq!(kept(&file), before, "the detach key is not for the program");
    assert!(life.program.0.lives());
}

#[test]
fn the_detach_key_can_be_chosen_and_comes_in_every_encoding() {
    let world = World::new();
    let file = world.beside("keys");
    let life = keeper(&world, &file);
    let table: [(&[&str], &[u8], &[u8]); 4] = [
        (&[], b"1", b"\x1b[92;5u\x1b[92;5:3u\x1b[92;5u"),
        (&[], b"2", b"\x1b[27;5;92~\x1b[27;5;92~"),
        (&["--detach-key", "ctrl-b,d"], b"3\x1c\x1c\x02x", b"\x02d"),
        (&["--detach-key", "alt-q"], b"4\x02d", b"\x1bq\x1bq"),
    ];
    let mut typed = Vec::new();
    for (options, passes, detaches) in table {
        let mut attached = attach(&world, &life, options);
        attached.until("ready");
        attached.type_in(passes);
        typed.extend_from_slice(passes);
        until("it came", || kept(&file) == typed);
        attached.type_in(detaches);
        assert_eq!(attached.reap(), Ending::Exited(0), "{options:?}");
        assert_eq!(kept(&file), typed, "{options:?}");
    }
    let mut attached = attach(&world, &life, &["--detach-key", "none"]);
    attached.until("ready");
    attached.type_in(b"\x1c\x1c.");
    typed.extend_from_slice(b"\x1c\x1c.");
    assert_eq!((attached.reap(), kept(&file)), (Ending::Exited(0), typed), "nothing detaches but the end");
    for (verb, code) in [("attach", 2), ("run", 125)] {
        let ran = world.abide.run(&[verb, "--json", "--detach-key", "q", "--", &agent(), "exit 0"]);
        assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(code), &"usage".into()), "{ran:?}");
    }
}

/// Everything that a program can set on a terminal, the last of it unfinished.
const EVERYTHING: &str = "\x1b[?1049h\x1b[?1002h\x1b[?1006h\x1b[?1004h\x1b[?2004h\x1b[?2031h\x1b[?1h\x1b[?5h\x1b=\
    \x1b[?25l\x1b[?7l\x1b[4h\x1b[>5u\x1b[>1u\x1b[>4;2m\x1b[3 q\x1b[2;4r\x1b[?6h\x1b[1;31m\x1b(0\x1b]2;mine\x07\
    \x1b[22;0t\x1b]11;#123456\x07\x1b]10;#abcdef\x07\x1b]4;1;#654321\x07\x1b]8;;http://x\x07\x1b[3g";

/// Without its text a terminal is as new.
fn assert_given_back(terminal: &Terminal, way: &str) {
    let wipe = b"\x1b[H\x1b[2J\x1b[3J\x1b7";
    let (mut left, mut fresh) = (terminal.screen().clone(), Screen::new(terminal.screen().size(), 100));
    let _ = (left.feed(wipe), fresh.feed(wipe));
    assert!(left == fresh, "{way}: {:?} {}", left.input_modes(), left.title());
}

#[test]
fn whatever_ends_a_client_its_terminal_is_given_back_as_it_was() {
    type Way = (&'static str, fn(&mut Terminal, &Life<'_>), i32);
    const WAYS: [Way; 6] = [
        ("detached", |attached, _| attached.type_in(b"\x1c\x1c"), 0),
        ("hung up", |attached, _| attached.observer().signal(Signal::HUP), 129),
        ("interrupted", |attached, _| attached.observer().signal(Signal::INT), 130),
        ("terminated", |attached, _| attached.observer().signal(Signal::TERM), 143),
        ("detached from a stopped host", detach_while_stopped, 0),
        ("ended", |attached, _| attached.type_in(b"\r"), 7),
    ];
    let world = World::new();
    let file = world.home.around().file("everything", EVERYTHING);
    let script = ["sh", "-c", "cat \"$0\"; read line; exit 7", file.to_str().expect("it is text")];
    let life = world.observe(world.launch(&[], &script));
    life.helper("host", None);
    for (way, leave, code) in WAYS {
        let mut attached = attach(&world, &life, &[]);
        let is_set = |screen: &Screen| screen.alternate() && screen.input_modes().mouse == Mouse::Drag;
        attached.until_screen("all of it set", |screen| is_set(screen) && screen.title() == "mine");
        leave(&mut attached, &life);
        assert_eq!(attached.reap(), Ending::Exited(code), "{way}");
        assert_given_back(&attached, way);
    }
}

fn detach_while_stopped(attached: &mut Terminal, life: &Life<'_>) {
    let host = life.helper("host", None);
    host.signal(Signal::STOP);
    attached.type_in(b"\x1c\x1c");
    assert_eq!(attached.reap(), Ending::Exited(0));
    host.signal(Signal::CONT);
}

#[test]
fn what_stood_on_a_terminal_is_kept_above_the_session_and_what_is_said_at_the_end_stands_below_it() {
    let world = World::new();
    let life = world.live(&["print one", "wait-line", "exit 0"]);
    life.until_shown("one");
    life.helper("host", None);
    let script = "for n in 1 2 3 4 5; do echo KEEP $n; done; \"$0\" attach \"$1\"";
    let mut attached = Terminal::start(&world.bash(script, &[&life.id]));
    attached.until_screen("shown", |screen| screen.visible_text().starts_with("one\n"));
    attached.type_in(b"\x1c\x1c");
    assert_eq!(attached.reap(), Ending::Exited(0));
    let kept: Vec<String> =
        attached.screen().scrollback().map(|line| line.text().trim_end().to_owned()).collect();
    assert_eq!(kept, ["KEEP 1", "KEEP 2", "KEEP 3", "KEEP 4", "KEEP 5"]);
    let shown = attached.screen().visible_text();
    assert!(shown.starts_with("one\nabide: detached from"), "{shown}");
}

// TRUTH 5
#[test]
fn a_client_comes_back_to_the_next_host_and_its_terminal_shows_nothing_twice() {
    let world = World::new();
    let steps =
        ["print one", "print \x1b[>1u\x1b[?1000htwo", "wait-line", "print \x1b[?1000lthree", "wait-line"];
    let life = world.live(&steps);
    life.until_shown("two");
    life.helper("host", None);
    let mut attached = attach(&world, &life, &[]);
    attached.until_screen("shown", |screen| screen.visible_text().contains("two"));
    for _ in 0..3 {
        life.replace("host");
    }
    attached.type_in(b"\r");
    attached.until_screen("going on", |screen| screen.visible_text().contains("three"));
    let expected = "one\ntwo\n\nthree\n";
    attached.until_screen("whole", |screen| screen.visible_text().starts_with(expected));
    assert_eq!(attached.screen().scrollback_len(), (0, 0), "nothing was painted below what was there");
    assert_eq!(attached.screen().input_modes().mouse, Mouse::Off);
    attached.type_in(b"\x1c\x1c");
    assert_eq!(attached.reap(), Ending::Exited(0));
    assert_given_back(&attached, "after three hosts");
}

// TRUTH 25
#[test]
fn a_host_that_hangs_is_reported_soon_and_lets_in_once_it_goes_on() {
    let world = World::new();
    let life = world.live(&["print ready", "wait-line"]);
    life.until_shown("ready");
    let host = life.helper("host", None);
    host.signal(Signal::STOP);
    let asked = clock::now().boot;
    let mut refused = attach(&world, &life, &["--json"]);
    let said = refused.until("}\r\n");
    assert_eq!(refused.reap(), Ending::Exited(8), "{said}");
    let took = clock::now().boot - asked;
    assert!((1_000..6_000).contains(&took), "it took {took} ms");
    assert!(said.contains("\"code\":\"unresponsive\"") && said.contains(&life.id), "{said}");
    assert!(said.contains("stopped"), "it says why: {said}");
    let mut interrupted = attach(&world, &life, &[]);
    until("it waits for the host", || blocks_signals(&interrupted));
    interrupted.observer().signal(Signal::TERM);
    assert_eq!(interrupted.reap(), Ending::Exited(143), "a signal is heard meanwhile");
    host.signal(Signal::CONT);
    let mut attached = attach(&world, &life, &[]);
    attached.until("ready");
    attached.type_in(b"\r");
    assert_eq!(attached.reap(), Ending::Exited(0));
}

/// Whether a client has got as far as to take signals in its own way.
fn blocks_signals(client: &Terminal) -> bool {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", client.observer().pid())).unwrap_or_default();
    let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    blocked.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 << 14 != 0))
}

/// A session whose program runs each line that it is given.
fn shell(world: &World) -> Life<'_> {
    let life = world
        .observe(world.launch(&[], &["sh", "-c", "echo ready; while read line; do eval \"$line\"; done"]));
    life.until_shown("ready");
    life.helper("host", None);
    life
}

#[test]
fn a_session_is_not_shown_inside_itself_but_another_one_is() {
    let world = World::new();
    let (life, other) = (shell(&world), world.live(&["print other", "wait-line"]));
    other.until_shown("other");
    let binary = env!("CARGO_BIN_EXE_abide");
    let mut attached = attach(&world, &life, &[]);
    attached.until("ready");
    let nested = format!("script -qec '{binary} attach --json '{}'' /dev/null", life.id);
    for inside in [format!("{binary} attach --json {}", life.id), nested] {
        attached.type_in(format!("{inside}; echo code $?.\r").as_bytes());
        attached.until("\"code\":\"inside_itself\"");
        let rest = attached.until(".\r\n");
        assert!(rest.contains(&life.id) && rest.contains("hint") && rest.ends_with("code 5.\r\n"), "{rest}");
    }
    // One in between that is shown here would show this one without end. Its own screen is drawn, so lines are wrapped.
    attached
        .type_in(format!("{binary} run -- {binary} attach --json {}; echo code $?.\r", life.id).as_bytes());
    attached.until("inside_itself");
    attached.until("code 5.");
    attached.type_in(format!("{binary} attach {}; echo code $?.\r", other.id).as_bytes());
    attached.until("other");
    attached.type_in(b"out\r");
    attached.until("code 0.");
    // The environment alone proves nothing: it outlives what it was true of.
    let mut command: Command = world.abide.command(&["attach", &life.id]);
    let mut outside = Terminal::start(command.env("ABIDE_SESSION", &life.id));
    outside.until("code 0.");
    outside.type_in(b"\x1c\x1c");
    assert_eq!(outside.reap(), Ending::Exited(0));
}

#[test]
fn a_terminal_that_takes_nothing_does_not_keep_its_client_from_ending() {
    let world = World::new();
    let life = world.live(&["flood 1000000", "print end", "wait-line"]);
    life.until_shown("end");
    life.helper("host", None);
    let attached = attach(&world, &life, &[]);
    // Nobody reads: all of it waits, in the kernel and in the client.
    attached.until_unread();
    attached.observer().signal(Signal::TERM);
    attached.observer().await_end();
    assert!(life.program.0.lives());
}

#[test]
fn a_program_that_ends_before_anyone_is_let_in_is_shown_to_its_end_and_its_code_passed_on() {
    let world = World::new();
    for extra in [&[][..], &["--rm"]] {
        for _ in 0..10 {
            let args = [&["run"], extra, &["--", "sh", "-c", "echo hi; exit 3"]].concat();
            let mut terminal = Terminal::start(&world.abide.command(&args));
            terminal.until("hi");
            assert_eq!(terminal.reap(), Ending::Exited(3), "{extra:?}");
        }
    }
    let left: Vec<_> = std::fs::read_dir(world.home.path().join("sessions")).expect("it is there").collect();
    assert_eq!(left.len(), 10, "what was to be removed is gone, and nothing else: {left:?}");
}
