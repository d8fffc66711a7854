//! Every point of a launch and of the end that follows it: whoever is killed there, the record says what was.

use std::path::Path;

use abide_testkit::trace::calls;

use crate::common::{World, data};

/// Calls that put something on record, hand it over or give it its name, and how many of each a process makes until its end.
const POINTS: [(&str, usize); 4] = [("write", 9), ("renameat2", 1), ("sendmsg,sendto", 3), ("pwrite64", 1)];

// TRUTH 50
#[test]
fn whoever_is_killed_at_any_point_of_a_short_life_its_record_says_what_was() {
    std::thread::scope(|scope| {
        for (call, times) in POINTS {
            for when in 1..=times {
                scope.spawn(move || killed_at(call, when));
            }
        }
    });
}

/// Each process of the session dies by the `when`-th call of its own.
fn killed_at(call: &str, when: usize) {
    let world = World::new();
    let mark = world.beside("ran");
    let script = "echo ran > \"$0\"; exit 3";
    let command = world.abide.command(&["run", "-d", "--name", "short", "--", "sh", "-c", script, &mark]);
    let kill = format!("inject={call}:signal=KILL:when={when}");
    let log = world.home.around().join("calls");
    let (ran, _) = calls(&command, &["-e", &format!("trace={call}"), "-e", &kill], &log);
    let at = format!("{call} {when}: {ran:?}");
    let did_run = Path::new(&mark).exists();
    let listed = data(&world.abide.run(&["ls", "-a", "--json"]));
    let sessions = listed["sessions"].as_array().expect("a list");
    assert!(sessions.len() <= 1 && (!did_run || sessions.len() == 1), "{at}: {listed}");
    let id = ran.stdout.trim_end();
    assert!(id.is_empty() || sessions.iter().any(|session| session["id"] == id), "{at}: {listed}");
    for session in sessions {
        let told = (session["status"].as_str(), session["outcome"]["code"].as_i64());
        let killed = session["outcome"]["signal"] == 9;
        let fits = match told {
            (Some("exited"), Some(3)) => did_run,
            (Some("exited"), None) => killed,
            (Some("lost"), None) => true,
            (Some("failed"), None) => !did_run,
            _ => false,
        };
        assert!(fits, "{at}: ran {did_run}: {session}");
    }
    assert_eq!(world.abide.run(&["doctor", "--fix"]).code(), Some(0), "{at}");
    let left =
        if sessions.is_empty() { Vec::new() } else { vec![sessions[0]["id"].as_str().expect("an ID")] };
    assert_eq!(world.in_sessions(), left, "{at}");
    let again = world.abide.run(&["run", "-d", "--name", "short", "--", "true"]);
    assert_eq!(again.code(), Some(0), "{at}: its name is not free: {again:?}");
}
