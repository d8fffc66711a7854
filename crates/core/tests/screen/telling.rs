//! What comes out beside the screen: answers, notices, modes, titles.

use abide_core::screen::{InputModes, Mouse, MouseEncoding, Progress, Screen, ShellMark, Told};

use crate::common::{fed, feed, screen};

fn answers(stream: &str) -> Vec<String> {
    let mut screen = screen(80, 24);
    let told = feed(&mut screen, stream).into_iter();
    let answers = told.filter_map(|notice| match notice.what {
        Told::Answer(bytes) => Some(String::from_utf8(bytes).expect("an answer in ASCII")),
        Told::Bell
        | Told::Title(_)
        | Told::Clipboard { .. }
        | Told::Notification { .. }
        | Told::Progress(_)
        | Told::Directory(_)
        | Told::Mark(_) => None,
    });
    answers.collect()
}

#[test]
fn questions_are_answered() {
    for (question, answer) in [
        ("\x1b[c", "\x1b[?62;22;52c"),
        ("\x1b[0c", "\x1b[?62;22;52c"),
        ("\x1bZ", "\x1b[?62;22;52c"),
        ("\x1b[>c", "\x1b[>1;3000;0c"),
        ("\x1b[=c", "\x1bP!|00000000\x1b\\"),
        ("\x1b[5n", "\x1b[0n"),
        ("\x1b[3;4H\x1b[6n", "\x1b[3;4R"),
        ("\x1b[3;4H\x1b[?6n", "\x1b[?3;4;1R"),
        ("\x1b[3;9r\x1b[?6h\x1b[2;4H\x1b[6n", "\x1b[2;4R"),
        ("\x1b[?996n", "\x1b[?997;1n"),
        ("\x1b[?u", "\x1b[?0u"),
        ("\x1b[>5u\x1b[?u", "\x1b[?5u"),
        ("\x1b[?25$p", "\x1b[?25;1$y"),
        ("\x1b[?25l\x1b[?25$p", "\x1b[?25;2$y"),
        ("\x1b[?2026$p", "\x1b[?2026;2$y"),
        ("\x1b[?2027$p", "\x1b[?2027;1$y"),
        ("\x1b[?2027l\x1b[?2027$p", "\x1b[?2027;2$y"),
        ("\x1b[?69$p", "\x1b[?69;0$y"),
        ("\x1b[?4m", "\x1b[>4;0m"),
        ("\x1b[>4;2m\x1b[?4m", "\x1b[>4;2m"),
        ("\x1b[?1006h\x1b[?1006$p", "\x1b[?1006;1$y"),
        ("\x1b[?1049$p", "\x1b[?1049;2$y"),
        ("\x1b[?9999$p", "\x1b[?9999;0$y"),
        ("\x1b[4$p", "\x1b[4;2$y"),
        ("\x1b[14t", "\x1b[4;480;800t"),
        ("\x1b[16t", "\x1b[6;20;10t"),
        ("\x1b[18t", "\x1b[8;24;80t"),
        ("\x1b]10;?\x07", "\x1b]10;rgb:e5e5/e5e5/e5e5\x07"),
        ("\x1b]11;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\"),
        ("\x1b]11;#102030\x07\x1b]11;?\x07", "\x1b]11;rgb:1010/2020/3030\x07"),
        ("\x1b]4;1;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07"),
        ("\x1b]4;1;rgb:1/2/3\x07\x1b]4;1;?\x07", "\x1b]4;1;rgb:1111/2222/3333\x07"),
        ("\x1b]4;1;rgb:1/2/3\x07\x1b]104;1\x07\x1b]4;1;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07"),
        ("\x1b[1;31m\x1bP$qm\x1b\\", "\x1bP1$r0;1;31m\x1b\\"),
        ("\x1b[2;5r\x1bP$qr\x1b\\", "\x1bP1$r2;5r\x1b\\"),
        ("\x1b[4 q\x1bP$q q\x1b\\", "\x1bP1$r4 q\x1b\\"),
        ("\x1bP$qz\x1b\\", "\x1bP0$r\x1b\\"),
        ("\x1bP+q436f\x1b\\", "\x1bP1+r436f=323536\x1b\\"),
        ("\x1bP+q536D756C78\x1b\\", "\x1bP1+r536D756C78=1B5B343A25703125646D\x1b\\"),
        ("\x1bP+q5463\x1b\\", "\x1bP1+r5463\x1b\\"),
        ("\x1bP+q4142\x1b\\", "\x1bP0+r4142\x1b\\"),
    ] {
        assert_eq!(answers(question), [answer], "{}", question.escape_debug());
    }
    assert!(answers("\x1b[>q")[0].starts_with("\x1bP>|abide("));
    // Nobody has a printer, a locator or a window, and nobody says so.
    for silent in ["\x1b[?4;1m", "\x1b[?15n", "\x1b[21t", "\x05", "\x1b[1c", "\x1b[>1q", "\x1b]17;?\x07"] {
        assert_eq!(answers(silent), [""; 0], "{}", silent.escape_debug());
    }
}

#[test]
fn what_is_told_says_where_in_the_stream() {
    let mut screen = screen(80, 24);
    let first = feed(&mut screen, "ab\x07\x1b]2;ti");
    let second = feed(&mut screen, "tle\x07\x1b]52;c;aGk=\x07");
    let told: Vec<(u64, Told)> =
        first.into_iter().chain(second).map(|notice| (notice.at, notice.what)).collect();
    let clipboard = Told::Clipboard { selection: "c".to_owned(), base64: Some("aGk=".to_owned()) };
    assert_eq!(told, [(3, Told::Bell), (13, Told::Title("title".to_owned())), (25, clipboard)]);
    assert_eq!(screen.fed(), 25);
}

#[test]
fn notices_carry_what_the_program_told() {
    let text = |text: &str| text.to_owned();
    for (osc, expected) in [
        ("7;file://host/tmp", Told::Directory(text("file://host/tmp"))),
        ("9;done; really", Told::Notification { title: text(""), body: text("done; really") }),
        ("9;4;1;42", Told::Progress(Progress::At(42))),
        ("9;4;0", Told::Progress(Progress::Gone)),
        ("9;4;3", Told::Progress(Progress::Unclear)),
        ("9;4 of 5", Told::Notification { title: text(""), body: text("4 of 5") }),
        ("777;notify;a;b", Told::Notification { title: text("a"), body: text("b") }),
        ("52;c;?", Told::Clipboard { selection: text("c"), base64: None }),
        ("133;A;k=s", Told::Mark(ShellMark::PromptStart)),
        ("133;B", Told::Mark(ShellMark::CommandStart)),
        ("133;C", Told::Mark(ShellMark::OutputStart)),
        ("133;D", Told::Mark(ShellMark::CommandEnd { exit_code: None })),
        ("133;D;7;aid=1", Told::Mark(ShellMark::CommandEnd { exit_code: Some(7) })),
    ] {
        let told: Vec<Told> = feed(&mut screen(9, 1), format!("\x1b]{osc}\x07"))
            .into_iter()
            .map(|notice| notice.what)
            .collect();
        assert_eq!(told, [expected], "{osc}");
    }
}

#[test]
fn commands_of_other_terminals_are_no_notifications() {
    for osc in ["9;9;/tmp", "9;1;100", "9;12", "1337;File=inline=1:AAAA", "99;;hello", "633;A", "66;w=2;x"] {
        assert_eq!(feed(&mut screen(9, 1), format!("\x1b]{osc}\x07")), [], "{osc}");
        assert_eq!(fed(9, 1, format!("\x1b]{osc}\x07")).view().row_text(0), "", "{osc}");
    }
}

#[test]
fn titles_are_set_stacked_and_given_back() {
    for (stream, window, icon) in [
        ("\x1b]0;both\x07", "both", "both"),
        ("\x1b]1;i\x07\x1b]2;w\x1b\\", "w", "i"),
        ("\x1b]0;a\x07\x1b[22;0t\x1b]0;b\x07\x1b[23;0t", "a", "a"),
        ("\x1b]0;a\x07\x1b[22t\x1b]0;b\x07\x1b[23;2t", "a", "b"),
        ("\x1b]2;Grüße\x07", "Grüße", ""),
        ("\x1b]2;x\x07\x1bc", "x", ""),
    ] {
        let screen = fed(9, 1, stream);
        assert_eq!((screen.title(), screen.icon_title()), (window, icon), "{}", stream.escape_debug());
    }
}

#[test]
fn modes_say_what_keys_and_mouse_must_send() {
    let plain = Screen::new(abide_core::screen::Size { cols: 9, rows: 2 }, 0).input_modes();
    for (stream, expected) in [
        ("\x1b[?1h\x1b=", InputModes { app_cursor: true, app_keypad: true, ..plain }),
        ("\x1b[?2004h\x1b[?1004h", InputModes { bracketed_paste: true, focus: true, ..plain }),
        ("\x1b[?1002;1006h", InputModes { mouse: Mouse::Drag, mouse_encoding: MouseEncoding::Sgr, ..plain }),
        ("\x1b[?1003h\x1b[?1000h", InputModes { mouse: Mouse::Click, ..plain }),
        ("\x1b[?1003h\x1b[?1003l", plain),
        ("\x1b[?1007h\x1b[?2031h", InputModes { color_scheme: true, ..plain }),
        ("\x1b[?1007h\x1b[?1049h", InputModes { alternate_scroll: true, ..plain }),
        ("\x1b[>4;2m", InputModes { modify_other_keys: 2, ..plain }),
        ("\x1b[>4;2m\x1b[>4m", plain),
        ("\x1b[>1u\x1b[>3u\x1b[<u", InputModes { key_flags: 1, ..plain }),
        ("\x1b[>1u\x1b[<9u", plain),
        ("\x1b[=5u\x1b[=2;2u\x1b[=4;3u", InputModes { key_flags: 3, ..plain }),
        ("\x1b[>1u\x1b[?1049h", plain),
        ("\x1b[>1u\x1b[?1049h\x1b[>7u\x1b[?1049l", InputModes { key_flags: 1, ..plain }),
        ("\x1b[?1h\x1b[?2004h\x1bc", plain),
        ("\x1b[?1h\x1b[4h\x1b[!p", plain),
    ] {
        assert_eq!(fed(9, 2, stream).input_modes(), expected, "{}", stream.escape_debug());
    }
}

#[test]
fn the_cursor_has_a_style_and_can_be_hidden() {
    let cursor = fed(9, 1, "\x1b[5 q\x1b[?25l").view().cursor();
    assert_eq!((cursor.style, cursor.visible), (5, false));
    let cursor = fed(9, 1, "\x1b[9 q").view().cursor();
    assert_eq!((cursor.style, cursor.visible), (0, true));
}

#[test]
fn a_synchronized_update_is_seen_whole_or_not_at_all() {
    let mut screen = fed(9, 1, "before\x1b[?2026h\rafter");
    assert_eq!((screen.view().row_text(0), screen.live().row_text(0)), ("before".into(), "aftere".into()));
    assert!(screen.is_held());
    feed(&mut screen, "\x1b[?2026l");
    assert_eq!(screen.view().row_text(0), "aftere");

    let mut forgotten = fed(9, 1, "before\x1b[?2026h\rafter");
    feed(&mut forgotten, "\x07".repeat(abide_core::screen::HOLD_LIMIT as usize));
    assert_eq!(forgotten.view().row_text(0), "aftere", "a program that never ends it is shown nevertheless");
}

#[test]
fn a_synchronized_update_that_is_not_ended_in_time_is_shown() {
    let begun = 7_000_000;
    let mut screen = fed(9, 1, "");
    screen.elapse(begun);
    feed(&mut screen, "before\x1b[?2026h\rafter");
    assert_eq!(screen.hold_ends(), Some(begun + abide_core::screen::HOLD_TIME));
    screen.elapse(begun + abide_core::screen::HOLD_TIME - 1);
    // One that goes on is no new one.
    feed(&mut screen, "\x1b[?2026h");
    assert_eq!(screen.view().row_text(0), "before");
    let mut thawed = Screen::thaw(&screen.freeze()).expect("it was frozen");
    for screen in [&mut screen, &mut thawed] {
        screen.elapse(0);
        assert!(screen.is_held(), "time does not go back");
        screen.elapse(begun + abide_core::screen::HOLD_TIME);
        assert_eq!((screen.view().row_text(0), screen.hold_ends()), ("aftere".into(), None));
        feed(screen, "\x1b[?2026h\rlater!");
        assert_eq!(screen.view().row_text(0), "aftere", "the next one is one");
        screen.let_go();
        assert_eq!(screen.view().row_text(0), "later!");
    }
}
