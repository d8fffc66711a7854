//! Hosts that are killed while someone types and while the program asks: each key and each answer once.

use abide_testkit::deadline::until;
use abide_testkit::{Ending, Observer, Terminal};
use rustix::process::Signal;

use crate::common::{Gate, Life, World, agent};

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

/// A program that takes no keys before the gate is opened, and then keeps them in a file.
fn deaf<'a>(world: &'a World, file: &str) -> (Life<'a>, Gate) {
    let gate = Gate::new(&world.beside("gate"));
    let script = "stty raw -echo; echo ready; read go < \"$0\"; exec \"$1\" \"$2\"";
    let keep = format!("keep-keys {file}");
    let id = world.launch(&[], &["sh", "-c", script, &world.beside("gate"), &agent(), &keep]);
    (world.observe(id), gate)
}

/// More than a terminal takes that nobody reads from.
fn many_keys(count: usize) -> String {
    let keys: String = (0..count / 7).map(|key| format!("{key:06} ")).collect();
    keys + "."
}

#[test]
fn keys_that_wait_for_the_program_outlive_an_upgrade_and_the_host() {
    let world = World::new();
    let file = world.beside("keys");
    let (life, gate) = deaf(&world, &file);
    let mut attached = Terminal::start(&world.abide.command(&["attach", &life.id]));
    attached.until("ready");
    // As much as one client may have unconfirmed: the guard takes no more, and must notice a dead host nevertheless.
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
fn a_program_that_takes_no_keys_keeps_nobody_from_detaching() {
    let world = World::new();
    let (life, _gate) = deaf(&world, &world.beside("keys"));
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
    life.helper("host", None);
    gate.open();
    let recorded = || world.dir(&life.id).join("recording").metadata().map_or(0, |file| file.len());
    let mut killed = 0;
    while life.program.0.lives() {
        let session = life.inspect();
        let host = session["processes"]["host"]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        let Some(host) = host.and_then(Observer::find).filter(|host| host.lives() && killed < MOST) else {
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
