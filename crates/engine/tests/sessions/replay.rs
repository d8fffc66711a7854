//! A recording is shown again as it was, from anywhere to anywhere, whatever is missing in it.

use abide_core::evidence::How;
use abide_core::failure::{Code, Failure};
use abide_core::instant::{At, Instant, Span};
use abide_core::recording::Kind;
use abide_core::recording::veil::{Phase, Tag, begins, ends};
use abide_engine::{Gap, Session, Sessions, Snapshot, What};
use abide_testkit::scene::{Scene, dead};
use abide_testkit::tape::WALL_MS;
use abide_testkit::{ScratchHome, Tape};

const ID: &str = "recorded";

/// A session that is over, with a recording.
struct Recorded {
    sessions: Sessions,
    session: Session,
    _home: ScratchHome,
}

impl Recorded {
    fn new(tape: &Tape) -> Self {
        let home = ScratchHome::new();
        let gone = dead();
        let scene = Scene::new(&home.path(), ID).served(&gone, &gone, &gone).ended(How::Exited { code: 0 });
        tape.put(scene.dir());
        let sessions = Sessions::open(&home.path()).expect("the home is ours");
        let session = sessions.find(ID).expect("it is there");
        Self { sessions, session, _home: home }
    }

    fn at(&self, at: At) -> Result<Snapshot, Failure> {
        self.sessions.snapshot(&self.session, Some(&at))
    }

    /// What the screen showed at an instant: the text of its first row.
    fn row(&self, at: At) -> String {
        self.at(at).expect("there is such an instant").screen.view().row_text(0)
    }

    /// Every step of a span: what it is, and the first row as it stands after it.
    fn steps(&self, from: Option<At>, to: Option<At>) -> Vec<String> {
        let span = Span { from, to };
        let mut replay = self.sessions.replay(&self.session, &span, false).expect("there is a recording");
        let mut steps = Vec::new();
        while let Some(step) = replay.next().expect("it can be read") {
            let what = match step.what {
                What::Begin(gaps) => format!("begin {}", gaps.len()),
                What::Entry(entry, _) if entry.kind == Kind::Output => {
                    format!("output {:?}", String::from_utf8_lossy(entry.payload))
                }
                What::Entry(entry, _) => format!("{:?}", entry.kind),
                What::Gap(gap) => format!("{gap:?}"),
                What::LetGo => format!("let go at {}", step.at.micros),
                What::Screen => "screen".to_owned(),
                What::CaughtUp => "caught up".to_owned(),
            };
            steps.push(format!("#{} {what} -> {}", step.at.entry, step.screen.view().row_text(0)));
        }
        steps
    }
}

fn tape() -> Tape {
    Tape::new(20, 4)
        .at(1_000_000)
        .output("one ")
        .at(2_000_000)
        .typed("x")
        .mark("here")
        .output("two ")
        .at(2_500_000)
        .resize(30, 5)
        .at(3_000_000)
        .output("three")
}

#[test]
fn an_instant_is_found_by_its_time_its_position_its_entry_and_its_mark() {
    let recorded = Recorded::new(&tape());
    for (at, row) in [
        (At::Since(0), ""),
        (At::Since(999_999), ""),
        (At::Since(1_000_000), "one"),
        (At::Wall(WALL_MS + 1_000), "one"),
        (At::Wall(WALL_MS + 1_999), "one"),
        (At::Wall(WALL_MS + 2_000), "one two"),
        (At::Since(u64::MAX), "one two three"),
        (At::Position(0), ""),
        (At::Position(2), "on"),
        (At::Position(4), "one"),
        (At::Position(5), "one t"),
        (At::Position(13), "one two three"),
        (At::Entry(0), ""),
        (At::Entry(1), ""),
        (At::Entry(2), "one"),
        (At::Entry(4), "one"),
        (At::Entry(5), "one two"),
        (At::Entry(7), "one two three"),
        (At::Mark("here".into()), "one"),
    ] {
        assert_eq!(recorded.row(at.clone()), row, "{at:?}");
    }
    let seen = recorded.at(At::Mark("here".into())).expect("it is there");
    let wall = WALL_MS + 2_000;
    assert_eq!(seen.instant, Some(Instant { entry: 4, position: 4, micros: 2_000_000, wall, within: false }));
}

/// A shell that is made to run a line: the echo of what does it, that it runs, what it writes, its end.
fn executed() -> Tape {
    let tag = Tag { phase: Phase::Begin, nonce: "n1".into(), line: "make".into(), typed: String::new() };
    Tape::new(40, 4)
        .output("$ ")
        .entry(Kind::Exec, &[&[7; 16], tag.to_bytes().as_slice()].concat())
        .output(" . /run/exec-n1\r\n")
        .output(begins("n1"))
        .output("done ")
        .output(format!("{}3\x07$ ", ends("n1")))
}

#[test]
fn a_line_that_was_run_in_the_shell_stands_there_as_if_typed_and_what_ran_it_does_not() {
    let recorded = Recorded::new(&executed());
    let shown: Vec<String> = recorded.steps(None, None);
    let shown: Vec<&str> =
        shown.iter().filter_map(|step| step.split_once("output ")).map(|(_, s)| s).collect();
    assert_eq!(
        shown,
        [
            r#""$ " -> $"#,
            r#""" -> $"#,
            r#""make\r\n" -> $ make"#,
            r#""done " -> $ make"#,
            r#""$ " -> $ make"#,
        ]
    );
    for position in 2..20 {
        assert_eq!(recorded.row(At::Position(position)), "$", "{position}");
    }
}

#[test]
fn what_came_before_the_line_could_run_is_shown_at_the_end_and_after_a_while() {
    let tag = Tag { phase: Phase::Begin, nonce: "n1".into(), line: "make".into(), typed: String::new() };
    let tag = [&[7; 16], tag.to_bytes().as_slice()].concat();
    let begun = Tape::new(40, 4).output("$ ").entry(Kind::Exec, &tag).output("x\rlast words");
    let ended = Recorded::new(&begun);
    let shown = ended.steps(None, None);
    assert!(shown.iter().any(|step| step.ends_with(r#"output "x\rlast words" -> last words"#)), "{shown:?}");
    assert_eq!(ended.row(At::Since(u64::MAX)), "last words");
    assert_eq!(ended.row(At::Position(5)), "$", "before the end");
    let later = Recorded::new(&begun.at(40_000_000).output("!").output("?"));
    let shown = later.steps(None, None);
    assert!(
        shown.iter().any(|step| step.ends_with(r#"output "x\rlast words!" -> last words!"#)),
        "{shown:?}"
    );
    assert_eq!(later.row(At::Since(u64::MAX)), "last words!?");
    let (soon, late) = (later.row(At::Since(20_000_000)), later.row(At::Since(39_000_000)));
    assert_eq!((soon.as_str(), late.as_str()), ("$", "last words"), "although nothing came then");
}

#[test]
fn output_behind_a_gap_is_shown_although_nobody_knows_that_the_line_ran() {
    for gone in [executed().without(5), executed().damaged(5)] {
        let shown = Recorded::new(&gone).steps(None, None).join("\n");
        assert!(shown.contains(r#"exec-n1\r\ndone ""#), "{shown}");
    }
}

#[test]
fn between_two_bytes_of_output_everything_that_came_there_counts() {
    let recorded = Recorded::new(&tape());
    let cols = |at| recorded.at(at).expect("it is there").screen.size().cols;
    assert_eq!(cols(At::Position(7)), 20, "before the last byte that came before the resize");
    assert_eq!(cols(At::Position(8)), 30);
    assert_eq!(cols(At::Since(2_499_999)), 20);
}

#[test]
fn an_instant_that_never_was_is_refused_with_a_way_out() {
    let recorded = Recorded::new(&tape());
    for at in [At::Wall(WALL_MS - 1), At::Position(14), At::Entry(8), At::Mark("there".into())] {
        let failure = recorded.at(at.clone()).expect_err("there is no such instant");
        assert_eq!(failure.code, Code::BadTime, "{at:?}");
        assert_eq!(failure.session.as_deref(), Some(ID));
        assert!(failure.hint.is_some_and(|hint| hint.contains("abide ")), "{at:?}");
    }
}

#[test]
fn a_span_has_its_entries_in_order_each_with_the_screen_it_makes() {
    let recorded = Recorded::new(&tape());
    assert_eq!(
        recorded.steps(None, None),
        [
            "#1 begin 0 -> ",
            "#2 output \"one \" -> one",
            "#3 Input -> one",
            "#4 Mark -> one",
            "#5 output \"two \" -> one two",
            "#6 Resize -> one two",
            "#7 output \"three\" -> one two three",
        ]
    );
    assert_eq!(
        recorded.steps(Some(At::Position(2)), Some(At::Position(6))),
        [
            "#1 begin 0 -> on",
            "#2 output \"e \" -> one",
            "#3 Input -> one",
            "#4 Mark -> one",
            "#4 output \"tw\" -> one tw"
        ]
    );
    assert_eq!(
        recorded.steps(Some(At::Mark("here".into())), Some(At::Since(2_600_000))),
        ["#4 begin 0 -> one", "#5 output \"two \" -> one two", "#6 Resize -> one two"]
    );
}

#[test]
fn damage_is_located_where_it_is_and_everything_else_is_shown() {
    let recorded = Recorded::new(&tape().damaged(5).cut(9).output("!").torn(1));
    let steps = recorded.steps(None, None);
    let damage = steps.iter().filter(|step| step.contains("Damage")).count();
    assert_eq!(damage, 2, "{steps:?}");
    assert!(steps[4].contains("Damage") && steps[5].starts_with("#6 Resize"), "{steps:?}");
    let lost = recorded.at(At::Entry(5)).expect("a screen");
    assert_eq!(
        (lost.screen.view().row_text(0).as_str(), lost.gaps.len()),
        ("one", 1),
        "the one that is lost"
    );
    assert!(steps.iter().any(|step| step.contains("Cut(\"9 bytes of output are missing")), "{steps:?}");
    let last = recorded.sessions.snapshot(&recorded.session, None).expect("a screen");
    assert_eq!(last.screen.view().row_text(0), "one three");
    assert_eq!(last.gaps.len(), 3, "{:?}", last.gaps);
    assert!(recorded.at(At::Since(1_500_000)).expect("a screen").gaps.is_empty(), "nothing is missing there");
}

#[test]
fn where_the_first_entry_is_damaged_the_evidence_says_what_it_would_have_said() {
    let recorded = Recorded::new(&tape().damaged(1));
    let seen = recorded.at(At::Position(4)).expect("a screen");
    assert_eq!(seen.screen.size().cols, 80, "as it was launched");
    assert_eq!(seen.gaps.len(), 1);
    assert!(matches!(seen.gaps[0], Gap::Damage { offset: 0, .. }));
}

#[test]
fn an_update_that_is_never_ended_hides_nothing_for_long_and_nothing_at_the_end() {
    let tape = Tape::new(30, 4)
        .at(1_000_000)
        .output("one\x1b[?2026h")
        .at(2_000_000)
        .output(" two")
        .at(2_100_000)
        .output("\x1b[?2026h three")
        .at(3_000_000)
        .output(" four\x1b[?2026h")
        .at(3_010_000)
        .output(" five");
    let recorded = Recorded::new(&tape);
    for (at, row) in [
        (At::Since(1_400_000), "one"),
        (At::Since(2_050_000), "one two"),
        (At::Since(2_599_999), "one two"),
        (At::Since(2_600_000), "one two three"),
        // The last instant of it counts, which is that of the next entry.
        (At::Entry(4), "one two three"),
        (At::Entry(5), "one two three four"),
        (At::Position(29), "one two three"),
        (At::Position(42), "one two three four"),
        (At::Since(u64::MAX), "one two three four five"),
    ] {
        assert_eq!(recorded.row(at.clone()), row, "{at:?}");
    }
    let steps = recorded.steps(Some(At::Since(1_000_000)), None);
    let shown: Vec<&str> = steps.iter().map(String::as_str).collect();
    assert_eq!(
        shown,
        [
            "#2 begin 0 -> one",
            "#2 let go at 1500000 -> one",
            "#3 output \" two\" -> one two",
            "#4 output \"\\u{1b}[?2026h three\" -> one two",
            "#4 let go at 2600000 -> one two three",
            "#5 output \" four\\u{1b}[?2026h\" -> one two three four",
            "#6 output \" five\" -> one two three four five",
        ]
    );
}
