//! Hosts that are killed while someone types and while the program asks: each key and each answer once.

use abide_testkit::deadline::until;
use abide_testkit::{Ending, Observer, Terminal};
use rustix::process::Signal;

use crate::common::World;

// TRUTH 57
#[test]
fn every_key_is_applied_once_while_hosts_are_killed() {
    const KEYS: u32 = 4_000;
    const TIMES: u32 = 8;
    let world = World::new();
    let file = world.beside("keys");
    let life = world.live(&[&format!("keep-keys {file}"), "exit 0"]);
    life.until_shown("ready");
    let mut attached = Terminal::start(&world.abide.command(&["attach", &life.id]));
    attached.until("ready");
    let mut typed = String::new();
    let mut host = life.helper("host", None);
    for key in 0..KEYS {
        let keys = format!("{key:06} ");
        attached.type_in(keys.as_bytes());
        typed.push_str(&keys);
        if key % (KEYS / TIMES) == KEYS / TIMES / 2 {
            host.signal(Signal::KILL);
            host.await_end();
            host = life.helper("host", Some(host.pid()));
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
