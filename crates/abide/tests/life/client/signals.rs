//! Signals to the commands that last: each ends the command as its help says, and the command only.

use abide_testkit::deadline::until;
use abide_testkit::{Ending, Terminal};
use rustix::process::Signal;

use crate::common::World;

const SIGNALS: [Signal; 3] = [Signal::HUP, Signal::INT, Signal::TERM];

/// The help of a verb, on one line.
fn help(world: &World, verb: &str) -> String {
    world.abide.run(&[verb, "--help"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_help_of_each_command_that_lasts_says_what_signals_do_to_it() {
    let world = World::new();
    for verb in ["run", "wait", "logs", "stop"] {
        let help = help(&world, verb);
        assert!(help.contains("HUP, INT and TERM end this command only, as they end any program"), "{help}");
    }
    let with_terminal = "with the terminal restored and 128+signal";
    assert!(help(&world, "run").contains(with_terminal) && help(&world, "attach").contains(with_terminal));
    assert!(help(&world, "attach").contains("WINCH gives the session the new size"));
}

#[test]
fn a_signal_ends_what_waits_and_follows_as_it_ends_any_program_and_nothing_else() {
    let world = World::new();
    let life = world.live(&["print here", "hang"]);
    life.until_shown("here");
    for signal in SIGNALS {
        for args in [&["wait", &life.id][..], &["logs", "-f", &life.id]] {
            let mut command = world.start(args);
            command.signal(signal);
            let ending = Ending::Signaled { signal: signal.as_raw(), core: false };
            assert_eq!(command.reap(), ending, "{args:?} {signal:?}");
        }
        assert!(life.program.0.lives() && life.inspect()["status"] == "running", "{signal:?}");
    }
}

#[test]
fn a_signal_ends_what_is_attached_with_its_terminal_restored_and_nothing_else() {
    let world = World::new();
    let life = world.live(&["print here", "hang"]);
    for signal in SIGNALS {
        let mut terminal = Terminal::start(&world.abide.command(&["attach", &life.id]));
        terminal.until("here");
        terminal.observer().signal(signal);
        assert_eq!(terminal.reap(), Ending::Exited(128 + signal.as_raw()), "{signal:?}");
        assert!(life.program.0.lives() && life.inspect()["status"] == "running", "{signal:?}");
    }
}

#[test]
fn a_stop_whose_command_was_ended_is_completed_all_the_same() {
    let world = World::new();
    let ended_by = |signal: Signal| {
        let life = world.live(&["ignore TERM", "print here", "hang"]);
        life.until_shown("here");
        let mut stop = world.start(&["stop", "--grace", "3s", &life.id]);
        until("the stop is on record", || !world.told(&life.id, "stop_asked").is_empty());
        stop.signal(signal);
        let ending = Ending::Signaled { signal: signal.as_raw(), core: false };
        assert_eq!(stop.reap(), ending, "{signal:?}");
        assert_eq!(world.wait(&life.id).0, Some(137), "{signal:?}");
    };
    let ended_by = &ended_by;
    std::thread::scope(|scope| {
        for signal in SIGNALS {
            scope.spawn(move || ended_by(signal));
        }
    });
}
