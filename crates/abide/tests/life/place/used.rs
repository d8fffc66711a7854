//! What sessions use: the kernel's numbers, the busiest first; on a terminal until somebody leaves.

use abide_testkit::deadline::until;
use abide_testkit::{Ending, Terminal};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{World, data, pid};

fn top(world: &World) -> Vec<Value> {
    let told = data(&world.abide.run(&["top", "--json"]));
    told["sessions"].as_array().expect("a list").clone()
}

#[test]
fn the_busiest_session_comes_first_with_each_of_its_processes() {
    let world = World::new();
    let over = world.launch(&[], &["true"]);
    assert_eq!(world.wait(&over).0, Some(0));
    let busy = world.launch(&["--name", "busy"], &["sh", "-c", "sleep 300 & while :; do :; done"]);
    let idle = world.launch(&["--name", "idle"], &["sleep", "300"]);
    let mut told = Vec::new();
    until("its work is counted", || {
        told = top(&world);
        told[0]["cpu_percent"].as_u64() > Some(0) && told[0]["processes"].as_array().unwrap().len() == 2
    });
    let named: Vec<&str> = told.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(named, ["busy", "idle"], "{told:?}");
    let program = pid(&world.inspect(&busy), "program");
    let processes = told[0]["processes"].as_array().unwrap();
    assert_eq!((&processes[0]["pid"], &processes[1]["parent"]), (&program.into(), &program.into()));
    assert_eq!(processes[1]["command"], "sleep 300");
    assert!(processes[0]["cpu_ms"].as_u64() > Some(0) && processes[1]["cpu_ms"] == 0, "{told:?}");
    let memory: u64 = processes.iter().filter_map(|one| one["memory_bytes"].as_u64()).sum();
    assert!(memory > 0 && told[0]["memory_bytes"] == memory, "{told:?}");
    let table = world.abide.run(&["top"]).stdout;
    let ids: Vec<&str> = table.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(ids, ["ID", &busy, &idle], "{table}");
    let of_one = world.abide.run(&["top", "idle"]).stdout;
    let program = pid(&world.inspect(&idle), "program").to_string();
    assert!(of_one.lines().nth(1).is_some_and(|line| line.starts_with(&program)), "{of_one}");
    assert_eq!(world.abide.run(&["top", &over]).code(), Some(5));
    assert_eq!(world.abide.run(&["stop", "--grace", "0s", &busy, &idle]).code(), Some(0));
    let ran = world.abide.run(&["top"]);
    assert_eq!((ran.code(), ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", "no session runs\n"));
}

#[test]
fn on_a_terminal_it_shows_what_comes_until_somebody_leaves_and_gives_the_terminal_back() {
    let world = World::new();
    let (_first, command) = (world.live(&["hang"]), world.abide.command(&["top", "--every", "100ms"]));
    for (ends, left) in [(None, Ending::Exited(0)), (Some(Signal::TERM), Ending::Exited(143))] {
        let mut terminal = Terminal::start(&command);
        terminal
            .until_screen("one session", |screen| screen.view().text().contains("1 session, 1 process: "));
        assert!(terminal.screen().alternate() && !terminal.screen().view().cursor().visible);
        let second = world.live(&["hang"]);
        terminal.until_screen("another", |screen| screen.view().text().contains(&second.id));
        match ends {
            None => terminal.type_in(b"q"),
            Some(signal) => terminal.observer().signal(signal),
        }
        assert_eq!(terminal.reap(), left);
        assert!(!terminal.screen().alternate() && terminal.screen().view().cursor().visible);
        assert_eq!(world.abide.run(&["stop", "--grace", "0s", &second.id]).code(), Some(0));
    }
}
