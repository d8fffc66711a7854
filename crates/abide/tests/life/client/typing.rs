//! Hosts that are killed while someone types and while the program asks: each key and each answer once.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use abide_core::evidence::Size;
use abide_core::wire::{Attendance, Inbox, LONGEST, Message, ToClient, ToHostFromClient, VERSION};
use abide_testkit::deadline::until;
use abide_testkit::{Ending, Observer, Terminal};
use rustix::process::Signal;

use crate::common::{Gate, Life, World, agent};

const READY: &str = "echo ready";

// TRUTH 57
#[test]
fn every_key_is_applied_once_while_hosts_are_killed() {
    check_typing_while_killed(&["host"]);
}

// TRUTH 6, 57
#[test]
fn every_key_is_applied_once_while_guards_are_killed() {
    check_typing_while_killed(&["guard"]);
}

// TRUTH 5, 6, 57
#[test]
fn every_key_is_applied_once_while_guards_and_hosts_are_killed_in_turn() {
    check_typing_while_killed(&["guard", "host", "host"]);
}

fn check_typing_while_killed(who: &[&str]) {
    const KEYS: u32 = 4_000;
    const TIMES: u32 = 8;
    let world = World::new();
    let file = world.beside("keys");
    let life = world.live(&[&format!("keep-keys {file}"), "exit 0"]);
    life.until_shown("ready");
    let mut attached = Terminal::start(&world.abide.command(&["attach", &life.id]));
    attached.until("ready");
    let mut typed = String::new();
    let mut turns = who.iter().cycle();
    for key in 0..KEYS {
        let keys = format!("{key:06} ");
        attached.type_in(keys.as_bytes());
        typed.push_str(&keys);
        if key % (KEYS / TIMES) == KEYS / TIMES / 2 {
            life.replace(turns.next().expect("they never end"));
        }
    }
    attached.type_in(b".");
    typed.push('.');
    life.program.0.await_end();
    let kept = std::fs::read_to_string(&file).expect("the program kept them");
    assert!(
        kept == typed,
        "{} bytes were typed, {} came: {}",
        typed.len(),
        kept.len(),
        differs(&typed, &kept)
    );
    assert_eq!(world.wait(&life.id).0, Some(0));
    assert_eq!(attached.reap(), Ending::Exited(0));
}

/// A program that begins like this, takes no keys before the gate is opened, and then keeps them in a file.
pub(super) fn deaf<'a>(world: &'a World, file: &str, begin: &str) -> (Life<'a>, Gate) {
    let gate = Gate::new(&world.beside("gate"));
    let script = format!("stty raw -echo; {begin}; read go < \"$0\"; exec \"$1\" \"$2\"");
    let keep = format!("keep-keys {file}");
    let id = world.launch(&[], &["sh", "-c", &script, &world.beside("gate"), &agent(), &keep]);
    (world.observe(id), gate)
}

/// More than a terminal takes that nobody reads from.
pub(super) fn many_keys(count: usize) -> String {
    let keys: String = (0..count / 7).map(|key| format!("{key:06} ")).collect();
    keys + "."
}

#[test]
fn keys_that_wait_for_the_program_outlive_an_upgrade_and_the_host() {
    let world = World::new();
    let file = world.beside("keys");
    let (life, gate) = deaf(&world, &file, READY);
    let mut attached = Terminal::start(&world.abide.command(&["attach", &life.id]));
    attached.until("ready");
    // More than the terminal and the sockets hold: a dead host must be noticed nevertheless.
    let typed = many_keys(270_000);
    attached.type_in(typed.as_bytes());
    life.replace("host");
    let upgraded = world.abide.copied_to(&world.home.around().join("abide-new")).run(&["upgrade"]);
    assert_eq!(upgraded.code(), Some(0), "{upgraded:?}");
    gate.open();
    life.program.0.await_end();
    let kept = std::fs::read_to_string(&file).expect("the program kept them");
    assert!(kept == typed, "{} typed, {} came: {}", typed.len(), kept.len(), differs(&typed, &kept));
    attached.reap();
}

#[test]
fn what_is_not_in_the_terminal_when_a_client_gives_up_or_is_killed_never_gets_there() {
    let world = World::new();
    let file = world.beside("keys");
    let (life, gate) = deaf(&world, &file, READY);
    life.until_shown("ready");
    let typed = many_keys(200_000).replace('.', "");
    let keys = world.home.around().file("typed", &typed);
    let paste = ["paste", "--json", &life.id, "--file", keys.to_str().expect("it is text"), "--timeout"];
    let ran = world.abide.run(&[&paste[..], &["200ms"]].concat());
    let error = &ran.json()["error"];
    let told = error["message"].as_str().and_then(|said| said.split_once("takes no more: "));
    let (count, rest) = told.and_then(|(_, said)| said.split_once(' ')).expect("it says how much");
    let all = typed.len();
    assert_eq!(rest, format!("of {all} bytes are in its terminal, and the rest was withdrawn"));
    let withdrawn = || world.told(&life.id, "noted").len();
    assert_eq!((ran.code(), withdrawn()), (Some(124), 1));
    let recorded = || world.dir(&life.id).join("recording").metadata().map_or(0, |file| file.len());
    let before = recorded();
    let mut killed = world.start(&[&paste[..], &["1m"]].concat());
    until("it has begun", || recorded() > before);
    killed.signal(Signal::KILL);
    killed.reap();
    until("it is taken back", || withdrawn() == 2);
    // Nor does anyone say it again to the next ones.
    life.replace("guard");
    life.replace("host");
    gate.open();
    assert_eq!(world.abide.run(&["type", &life.id, "."]).code(), Some(0));
    life.program.0.await_end();
    let kept = std::fs::read_to_string(&file).expect("the program kept them");
    let count: usize = count.parse().expect("a number");
    let others = kept.strip_prefix(&typed[..count]).and_then(|rest| rest.strip_suffix('.'));
    // The killed one may have found room for a little, and said more than any terminal holds.
    let others = others.unwrap_or_else(|| panic!("{count} told, {} came", kept.len()));
    assert!(count > 0 && typed.starts_with(others) && others.len() < 30_000, "{} came", others.len());
}

#[test]
fn what_waits_for_the_terminal_is_typed_though_host_and_guard_die_before_its_client_is_heard_again() {
    let world = World::new();
    let file = world.beside("keys");
    let (life, gate) = deaf(&world, &file, READY);
    life.until_shown("ready");
    let typed = many_keys(200_000);
    let keys = world.home.around().file("typed", &typed);
    let recorded = || world.dir(&life.id).join("recording").metadata().map_or(0, |file| file.len());
    let before = recorded();
    let args = ["type", &life.id, "--file", keys.to_str().expect("it is text"), "--timeout", "1m"];
    let mut client = world.start(&args);
    until("it has begun", || recorded() > before + 60_000);
    client.signal(Signal::STOP);
    life.replace("host");
    life.replace("guard");
    client.signal(Signal::CONT);
    gate.open();
    assert_eq!(client.reap(), Ending::Exited(0));
    life.program.0.await_end();
    let kept = std::fs::read_to_string(&file).expect("the program kept them");
    assert!(kept == typed, "{}", differs(&typed, &kept));
}

#[test]
fn nobody_types_in_between_what_another_types_though_the_program_takes_its_time() {
    let world = World::new();
    let file = world.beside("keys");
    let (life, gate) = deaf(&world, &file, READY);
    life.until_shown("ready");
    let typed = many_keys(200_000).replace('.', "");
    let keys = world.home.around().file("typed", &typed);
    let recorded = || world.dir(&life.id).join("recording").metadata().map_or(0, |file| file.len());
    let before = recorded();
    let args = ["type", &life.id, "--file", keys.to_str().expect("it is text"), "--timeout", "1m"];
    let mut client = world.start(&args);
    until("it has begun", || recorded() > before + 60_000);
    let mut other = world.start(&["type", &life.id, "end.", "--timeout", "1m"]);
    // Longer than anyone may hold the keyboard who has nothing to say.
    let third = world.abide.run(&["type", &life.id, "no", "--timeout", "1500ms"]);
    assert!(third.code() == Some(124) && third.stderr.contains(" 0 of 2 bytes"), "{third:?}");
    gate.open();
    assert_eq!((client.reap(), other.reap()), (Ending::Exited(0), Ending::Exited(0)));
    life.program.0.await_end();
    let kept = std::fs::read_to_string(&file).expect("the program kept them");
    let typed = typed + "end.";
    assert!(kept == typed, "{}", differs(&typed, &kept));
}

#[test]
fn a_program_that_takes_no_keys_keeps_nobody_from_detaching() {
    let world = World::new();
    let (life, _gate) = deaf(&world, &world.beside("keys"), READY);
    let mut attached = Terminal::start(&world.abide.command(&["attach", &life.id]));
    attached.until("ready");
    // More than guard, host and the sockets between them hold.
    attached.type_in(many_keys(4 << 20).as_bytes());
    attached.type_in(b"\x1c\x1c");
    attached.until("detached from");
    attached.until("the program takes no input; ");
    assert_eq!(attached.reap(), Ending::Exited(0));
    assert!(life.program.0.lives());
}

fn differs(typed: &str, kept: &str) -> String {
    let same = typed.bytes().zip(kept.bytes()).take_while(|(a, b)| a == b).count();
    let around =
        |text: &str| text.get(same.saturating_sub(16)..(same + 32).min(text.len())).unwrap_or("").to_owned();
    format!("at byte {same}: {:?} became {:?}", around(typed), around(kept))
}

// TRUTH 58
#[test]
fn every_question_of_the_program_is_answered_once_while_hosts_are_killed() {
    const MOST: usize = 8;
    let world = World::new();
    let (life, gate) = world.gated(&["ask-cursor 200", "exit 0"]);
    // The first is known before anything is asked: all of it may be over before anyone could say who serves.
    let mut next = Some(life.helper("host", None));
    gate.open();
    let recorded = || world.dir(&life.id).join("recording").metadata().map_or(0, |file| file.len());
    let mut killed = 0;
    while life.program.0.lives() {
        let found = || {
            let pid = life.inspect()["processes"]["host"]["pid"].as_u64();
            pid.and_then(|pid| u32::try_from(pid).ok()).and_then(Observer::find)
        };
        let host = next.take().or_else(found);
        let Some(host) = host.filter(|host| host.lives() && killed < MOST) else {
            continue;
        };
        // Something was asked or answered since: whoever answers next takes over in the middle.
        let before = recorded();
        until("it goes on", || recorded() > before || !life.program.0.lives());
        host.signal(Signal::KILL);
        host.await_end();
        killed += 1;
    }
    assert!(killed > 0, "no host was killed");
    let (exit, told) = world.wait(&life.id);
    assert_eq!(exit, Some(0), "after {killed} hosts: {told} {}", world.shown(&life.id));
}

#[test]
fn who_is_attached_is_told_that_what_it_typed_is_in_the_terminal_though_nothing_is_shown() {
    let world = World::new();
    let script = "stty raw -echo; echo ready; exec cat >/dev/null";
    let life = world.observe(world.launch(&[], &["sh", "-c", script]));
    life.until_shown("ready");
    let mut host = UnixStream::connect(world.dir(&life.id).join("socket")).expect("the host listens");
    host.set_read_timeout(Some(Duration::from_secs(60))).expect("it is a socket");
    let mut say = |message: ToHostFromClient| host.write_all(&message.to_stream()).expect("it hears");
    say(ToHostFromClient::Hello { version: VERSION, client: 7 });
    say(ToHostFromClient::Attach { size: Size { cols: 80, rows: 24 }, role: Attendance::first(false) });
    let mut inbox = Inbox::new(LONGEST);
    for seq in 1..=3 {
        host.write_all(&ToHostFromClient::Input { seq, bytes: b"x".to_vec() }.to_stream()).expect("it hears");
        let mut told = 0;
        while told < seq {
            let mut bytes = [0; 4096];
            let length = host.read(&mut bytes).expect("it is told in time");
            assert_ne!(length, 0, "it hung up");
            inbox.feed(&bytes[..length]);
            while let Some(message) = inbox.take::<ToClient>().expect("it makes sense") {
                if let ToClient::Applied { seq } = message {
                    told = seq;
                }
            }
        }
        assert_eq!(told, seq);
    }
}
