//! A recording that is played: what keys do, in a terminal of the test's own.

use abide_testkit::{Ending, Tape, Terminal};

use super::{ID, stage};

/// Half a minute.
fn long() -> Tape {
    (0..=30).fold(Tape::new(30, 4), |tape, second| {
        tape.at(second * 1_000_000).output(format!("\x1b[2J\x1b[Hsecond {second}"))
    })
}

#[test]
fn space_begins_again_at_the_end_and_keys_that_come_together_all_count() {
    let (stage, _scene) = stage(&long());
    let mut terminal = Terminal::start(&stage.abide.command(&["play", "--speed", "0.0625", ID]));
    terminal.until_screen("the beginning", |screen| screen.view().text().contains("second 0"));
    let mut press = |keys: &[u8], shown: &str| {
        terminal.type_in(keys);
        terminal.until_screen(shown, |screen| screen.view().text().contains(shown));
    };
    press(b"$", "paused 0:30 / 0:30");
    press(b" ", "playing 0:00 / 0:30");
    press(b" ", "paused 0:00 / 0:30");
    press(b"lll", "paused 0:15 / 0:30");
    press(b"glh l", "playing 0:05 / 0:30");
    press(b"$ ll ", "paused 0:10 / 0:30");
    terminal.type_in(b"q");
    assert_eq!(terminal.reap(), Ending::Exited(0));
}

#[test]
fn a_speed_that_there_is_not_is_refused() {
    let (stage, _scene) = stage(&long());
    for speed in ["257", "0.01", "0", "-1", "inf", "NaN"] {
        let ran = stage.abide.run(&["play", &format!("--speed={speed}"), ID]);
        assert_eq!(ran.code(), Some(2), "{speed}: {ran:?}");
        assert!(ran.stderr.contains("times as fast") && ran.stderr.contains("from 0.0625 to 256"), "{ran:?}");
    }
}
