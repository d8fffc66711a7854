//! Many at once: waiters, launches of one name, floods of output, and a client that never reads.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Barrier;

use abide_core::evidence::Size;
use abide_core::wire::{Attendance, Message, ToHostFromClient, VERSION};
use abide_testkit::deadline::until;
use abide_testkit::{Ending, Ran, Running};
use rustix::process::Signal;

use crate::common::{Life, World, agent, data, waits};

// TRUTH 33
#[test]
fn every_one_of_many_waiters_gets_the_code_at_once() {
    const MANY: usize = 200;
    let world = World::new();
    let life = world.live(&["trap-exit USR1 7", "print ready", "hang"]);
    life.until_shown("ready");
    let mut waiters: Vec<Running> = (0..MANY).map(|_| world.start(&["wait", &life.id])).collect();
    until("all of them wait", || waiters.iter().all(waits));
    assert_eq!(
        data(&world.abide.run(&["snapshot", "--json", &life.id]))["source"],
        "live",
        "the host serves"
    );
    life.program.0.signal(Signal::USR1);
    for waiter in &mut waiters {
        assert_eq!(waiter.reap(), Ending::Exited(7));
    }
}

/// Holds what was recorded against what the fake agent says where nobody is in between.
fn check_flood(world: &World, id: &str, bytes: u64) {
    let script = "cmp <(\"$0\" logs --raw \"$2\") <(\"$1\" \"flood $3\" | sed 's/$/\\r/')";
    let ran = Ran::of(&mut world.bash(script, &[&agent(), id, &bytes.to_string()]));
    assert_eq!((ran.code(), ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
}

// TRUTH 34
#[test]
fn a_client_that_never_reads_holds_up_nobody() {
    const BYTES: u64 = 8 << 20;
    let world = World::new();
    let (life, gate) =
        world.gated(&[&format!("flood {BYTES}"), "trap-exit USR1 5", "write /dev/null x", "hang"]);
    life.helper("host", None);
    let mut silent = UnixStream::connect(world.dir(&life.id).join("socket")).expect("the host listens");
    let size = Size { cols: 80, rows: 24 };
    for word in [
        ToHostFromClient::Hello { version: VERSION, client: 1 },
        ToHostFromClient::Attach { size, role: Attendance::first(false) },
    ] {
        silent.write_all(&word.to_stream()).expect("the host takes it");
    }
    gate.open();
    let last = format!("{:063}", BYTES / 64 - 1);
    let mut told = serde_json::Value::Null;
    until("another client sees the end of the flood", || {
        told = data(&world.abide.run(&["snapshot", "--json", &life.id]));
        told["source"] == "live" && told["lines"][22] == last.as_str()
    });
    check_flood(&world, &life.id, BYTES);
    assert_eq!(life.inspect()["host"]["generation"], 1, "the host had to be replaced");
    life.program.0.signal(Signal::USR1);
    assert_eq!(world.wait(&life.id).0, Some(5));
    drop(silent);
}

// TRUTH 35
#[test]
fn of_two_launches_of_one_name_exactly_one_runs() {
    const ROUNDS: usize = 12;
    let world = World::new();
    for round in 0..ROUNDS {
        let start = Barrier::new(2);
        let launch = || {
            start.wait();
            world.abide.run(&["run", "-d", "--json", "--name", "nightly", "--", &agent(), "hang"])
        };
        let (one, other): (Ran, Ran) = std::thread::scope(|scope| {
            let other = scope.spawn(launch);
            (launch(), other.join().expect("it ran"))
        });
        let (won, lost) = if one.code() == Some(0) { (one, other) } else { (other, one) };
        let id = data(&won)["id"].as_str().expect("an ID").to_owned();
        let life = world.observe(id.clone());
        let refused = lost.json();
        assert_eq!((won.code(), lost.code()), (Some(0), Some(6)), "{refused}");
        assert_eq!(
            (&refused["error"]["code"], &refused["error"]["session"]),
            (&"name_in_use".into(), &id.as_str().into())
        );
        assert_eq!(world.inspect("nightly")["id"], id.as_str());
        let there = world.in_sessions();
        assert_eq!(there.len(), round + 1, "half a session is left: {there:?}");
        life.program.0.signal(Signal::KILL);
        assert_eq!(world.wait(&id).0, Some(137));
    }
}

// TRUTH 38
#[test]
fn a_flood_of_output_is_recorded_to_the_last_byte() {
    const BYTES: u64 = 16 << 20;
    let world = World::new();
    let id = world.run(&[], &[&format!("flood {BYTES}"), "exit 5"]);
    let (exit, told) = world.wait(&id);
    assert_eq!(exit, Some(5), "{told}");
    let drained = world.told(&id, "drained");
    assert_eq!(drained[0]["bytes"], BYTES + BYTES / 64, "{drained:?}");
    check_flood(&world, &id, BYTES);
}

#[test]
fn a_wait_that_lacks_descriptors_asks_for_more_and_never_takes_what_it_cannot_read_for_damaged() {
    let world = World::new();
    let lives: Vec<Life<'_>> = (0..8).map(|_| world.live(&["hang"])).collect();
    let ids: Vec<&str> = lives.iter().map(|life| life.id.as_str()).collect();
    // With five, not one file can be read beside those that every command has open.
    for (limit, code) in [("ulimit -Sn 10", 0), ("ulimit -n 10", 0), ("ulimit -n 5", 124)] {
        let ran = Ran::of(&mut limited(&world, limit, &[&["wait", "--cap", "300ms"], &ids[..]].concat()));
        assert_eq!(ran.code(), Some(code), "{limit}: {ran:?}");
    }
}

/// A command of abide under a limit of the shell.
fn limited(world: &World, limit: &str, args: &[&str]) -> Command {
    world.bash(&format!("{limit}; exec \"$0\" \"$@\""), args)
}

#[test]
fn a_wait_for_more_sessions_than_there_are_descriptors_passes_on_their_codes() {
    let world = World::new();
    let lives: Vec<Life<'_>> =
        (0..24).map(|_| world.live(&["trap-exit USR1 3", "print ready", "hang"])).collect();
    lives.iter().for_each(|life| life.until_shown("ready"));
    let ids: Vec<&str> = lives.iter().map(|life| life.id.as_str()).collect();
    let waiting = |flag| {
        let mut command = limited(&world, "ulimit -n 32", &[&["wait", flag], &ids[..]].concat());
        let waiting = Running::start(command.stderr(Stdio::null()));
        until("it waits", || waits(&waiting));
        waiting
    };
    let (mut any, mut all) = (waiting("--any"), waiting("--all"));
    // Nothing is held of the last.
    lives[23].program.0.signal(Signal::USR1);
    assert_eq!(any.reap(), Ending::Exited(3));
    lives.iter().for_each(|life| life.program.0.signal(Signal::USR1));
    assert_eq!(all.reap(), Ending::Exited(3));
}
