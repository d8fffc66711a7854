//! What a search finds is shown by the instant that it names, whatever came behind it, however it came and went.

use abide_core::recording::Kind;
use abide_testkit::Tape;

use crate::common::{Stage, word};
use crate::search::{found, hits, is_shown, recorded};

#[test]
fn the_instant_of_a_hit_shows_it_whatever_size_the_terminal_has_behind_it() {
    let stage = Stage::new();
    let lines: String = (1..=15).map(|n| format!("{n}\r\n")).collect();
    let flood: String = (0..100).map(|n| format!("flood {n}\r\n")).collect();
    let tape = Tape::new(80, 24).output(format!("needle line\r\n{lines}")).resize(80, 10);
    let tape = tape.at(1_000_000).output(&flood).resize(80, 10).typed("needle typed\r");
    recorded(&stage, "resized0", &tape);
    let needle = &hits(&stage, &["needle"])[0];
    assert_eq!(
        (&needle["open"], &needle["last"]["open"]),
        (&"entry:2".into(), &"entry:2".into()),
        "{needle}"
    );
    let behind = stage.text(&["snapshot", "--at", &format!("seq:{}", needle["seq"]), "resized0"]);
    assert!(
        is_shown(&stage, needle) && !behind.contains("needle"),
        "the position alone means the other size too"
    );
    let ran = stage.abide.run(&["search", "needle"]);
    assert!(ran.stderr.contains("`abide snapshot --at entry:2 resized0` shows"), "{ran:?}");
    assert!(ran.stdout.contains("  entry:2\n"), "{ran:?}");
    for (number, form) in [(0, "seq:"), (50, "seq:"), (99, "entry:4")] {
        let hit = &hits(&stage, &["--word", &format!("\"flood {number}\"")])[0];
        assert!(is_shown(&stage, hit) && word(&hit["open"]).starts_with(form), "{hit}");
    }
    assert_eq!(hits(&stage, &["--typed", "needle"])[0]["open"], "entry:6");
}

#[test]
fn what_leaves_the_screen_within_one_entry_is_shown_by_its_instant_however_it_leaves() {
    let stage = Stage::new();
    for (number, leaves) in [
        "\x1b[3S\x1b[2;1H",
        "\x1b[24;1H\n\n\n\x1b[H",
        "\x1b[24T",
        "\x1b[H\x1b[2M",
        "\x1b[H\x1b[24L",
        "\x1b[1;2r\x1b[2;1H\n\n",
        "\x1b[24;1H\n\n\x1b[2J",
        "\x1b[24;1H\n\n\x1b[?1049h",
    ]
    .into_iter()
    .enumerate()
    {
        for (page, begin) in [("main", ""), ("alte", "\x1b[?1049h\x1b[H")] {
            let id = format!("{page}000{number}");
            recorded(&stage, &id, &Tape::new(80, 24).output(format!("{begin}findme\r\n{leaves}done")));
            let hits = hits(&stage, &["findme", "-s", &id]);
            let [hit] = hits.as_slice() else { panic!("{leaves:?}: {hits:#?}") };
            assert!(is_shown(&stage, hit), "{leaves:?}: {hit}");
        }
    }
}

#[test]
fn what_an_exec_lets_scroll_by_is_shown_by_its_instant() {
    let stage = Stage::new();
    let tag = |phase: &str, line: &str| {
        let tag = serde_json::json!({ "phase": phase, "nonce": "n0nce", "line": line });
        [&[7; 16][..], tag.to_string().as_bytes()].concat()
    };
    let lines: String = (0..50).map(|n| format!("line {n}\r\n")).collect();
    let output = format!(
        "echo of the mechanism\r\n\x1b]7717;abide;n0nce;B\x07{lines}\x1b]7717;abide;n0nce;E;0\x07{}$ ",
        "\x1b[2Sbehind\r\n".repeat(15)
    );
    let tape = Tape::new(80, 24).output("$ ").entry(Kind::Exec, &tag("begin", "seq 50")).output(output);
    recorded(&stage, "execing0", &tape);
    assert_eq!(found(&stage, &["mechanism"]), [""; 0]);
    for number in [0, 20, 30, 49] {
        let hits = hits(&stage, &["--word", &format!("\"line {number}\"")]);
        let [hit] = hits.as_slice() else { panic!("{number}: {hits:#?}") };
        assert!(is_shown(&stage, hit), "{hit}");
    }
}

#[test]
fn a_line_is_found_in_the_time_in_which_it_came_and_at_an_instant_of_that() {
    let stage = Stage::new();
    let clear = "\x1b[2J\x1b[H";
    let mut tape = Tape::new(80, 24);
    for (seconds, shown) in [(0, "windowed"), (1, clear), (6, "windowed"), (7, clear), (60, "end")] {
        tape = tape.at(seconds * 1_000_000).output(shown);
    }
    recorded(&stage, "windowed", &tape);
    let second = |second: u64| format!("2023-11-14T22:13:{}Z", 20 + second);
    for (from, until, at) in
        [(0, 8, Some((0, 6))), (0, 3, Some((0, 0))), (3, 4, None), (3, 8, Some((6, 6))), (8, 20, None)]
    {
        let hits = hits(&stage, &["windowed", "--since", &second(from), "--until", &second(until)]);
        let told = hits.first().map(|hit| (word(&hit["at"]), word(&hit["last"]["at"])));
        let at = at.map(|(first, last)| (second(first), second(last)));
        let at = at.map(|(first, last)| (first.replace('Z', ".000Z"), last.replace('Z', ".000Z")));
        assert_eq!(told, at, "{from} to {until}");
        assert!(hits.iter().all(|hit| is_shown(&stage, hit)), "{hits:?}");
    }
    assert_eq!(hits(&stage, &["windowed"])[0]["count"], 2);
}

#[test]
fn a_line_that_went_and_came_back_in_its_row_came_as_often() {
    let stage = Stage::new();
    let shown = |tape: Tape, number: u64| {
        let tape = tape.at(number * 1_000_000).output("\x1b[2J\x1b[Hcomeback");
        tape.at(number * 1_000_000 + 500_000).output("\x1b[2J\x1b[H")
    };
    recorded(&stage, "comeback", &(0..4).fold(Tape::new(80, 24), shown));
    assert_eq!(hits(&stage, &["comeback"])[0]["count"], 4);
}

#[test]
fn repaints_are_one_hit_though_the_rows_of_a_list_move_come_and_go() {
    let stage = Stage::new();
    let mut tape = Tape::new(80, 24).output("try 1 failed\r\ntry 2 failed\r\n$ top");
    for frame in 0..40_usize {
        let mut rows = [format!("worker busy {frame}"), "idle task zed".to_owned(), String::new()];
        rows.rotate_left(frame % 3);
        if frame % 5 == 0 {
            rows[frame % 3] = "free".to_owned();
        }
        tape =
            tape.at(1_000_000 + frame as u64 * 60_000).output(format!("\x1b[H\x1b[2J{}", rows.join("\r\n")));
    }
    recorded(&stage, "moving00", &tape);
    let hits = |query: &[&str]| hits(&stage, &[query, &["-n", "0"]].concat());
    let busy = hits(&["busy"]);
    let [one] = busy.as_slice() else { panic!("{} hits", busy.len()) };
    assert!(one["lines"].as_u64() > Some(20) && is_shown(&stage, one), "{one}");
    assert!(self::hits(&stage, &["-n", "0", "--all", "busy"]).len() > 20);
    assert_eq!(hits(&["zed"]).len(), 1);
    assert_eq!(hits(&["failed"]).len(), 2, "printed below each other, though drawn over since");
}

#[test]
fn what_is_printed_again_on_a_screen_that_was_cleared_with_its_history_stays_apart() {
    let stage = Stage::new();
    let mut tape = Tape::new(80, 24);
    for run in 0..3_u64 {
        tape = tape.at(run * 5_000_000).output("\x1b[H\x1b[2J\x1b[3J");
        for test in 1..=5_u64 {
            let at = run * 5_000_000 + test * 150_000;
            tape = tape.at(at).output(format!("test {run}{test} passed\r\n"));
        }
    }
    recorded(&stage, "watched0", &tape);
    let passed = hits(&stage, &["-n", "0", "passed"]);
    assert_eq!(passed.len(), 15, "{passed:?}");
    assert!(passed.iter().all(|one| is_shown(&stage, one)));
}
