//! What is let go of a recording, act by act: whoever is killed in between, and whoever reads meanwhile, every reader finds
//! what was or what is to be.

use std::fs;
use std::path::PathBuf;

use abide_core::evidence::How;
use abide_core::instant::{At, Span};
use abide_sys::disk::PrivateDir;
use abide_sys::probe::Probe;
use abide_testkit::scene::{Scene, before_reboot};
use abide_testkit::{ScratchHome, Tape};

use super::super::{Found, Reader};
use super::*;
use crate::{Session, Sessions, What};

const ID: &str = "recorded";
/// How many lines the tape shows.
const LINES: u64 = 400;
/// So much of it may be there, beside what is left for what comes until it is asked again.
const FULL: u64 = 24 * 1024;
const PAGE: usize = 4096;

/// A session that is over, with a recording that may shed.
struct Shedding {
    sessions: Sessions,
    session: Session,
    path: PathBuf,
    _home: ScratchHome,
}

impl Shedding {
    /// The first row is written once and stays, whatever scrolls below it.
    fn new() -> Self {
        let above: String = (0..300).map(|line| format!("line {line} above all that follows\r\n")).collect();
        let tape = Tape::new(40, 6).sheds().output(above);
        let mut tape = tape.output("\x1b]2;the title\x07\x1b[H\x1b[31mheader\x1b[2;6r\x1b[2;1H");
        for line in 0..LINES {
            tape = tape.at(line * 1000).output(format!("line {line} of some length, so that pages fill\r\n"));
        }
        Self::of(&tape)
    }

    fn of(tape: &Tape) -> Self {
        // No process is started for it: another test here counts those.
        let us = Probe::new().identify(std::process::id()).expect("we live");
        let (home, gone) = (ScratchHome::new(), before_reboot(&us));
        let scene = Scene::new(&home.path(), ID).served(&gone, &gone, &gone).ended(How::Exited { code: 0 });
        let path = scene.dir().to_path_buf();
        tape.put(&path);
        let sessions = Sessions::open(&home.path()).expect("the home is ours");
        let session = sessions.find(ID).expect("it is there");
        let shedding = Self { sessions, session, path, _home: home };
        shedding.make_keyframes();
        shedding
    }

    fn dir(&self) -> SessionDir {
        SessionDir::from_trusted(PrivateDir::open(&self.path).expect("it is ours"))
    }

    fn file(&self) -> File {
        self.dir().sheddable_recording().expect("it is ours")
    }

    fn make_keyframes(&self) {
        keyframes::make(&self.dir(), &self.session, 1000, 1).expect("there is room");
    }

    fn forget_keyframes(&self) {
        self.dir().remove_keyframes().expect("they are ours");
    }

    fn acts(&self, full: u64) -> Vec<Act> {
        let recording = self.dir().recording().expect("it is there");
        let before = said(&recording).expect("it may shed");
        plan(&self.dir(), &recording, before, keyframes::EVERY + full, u64::MAX - 1).expect("it can be read")
    }

    fn shed(&self, full: u64) {
        assert!(shed(&self.dir(), keyframes::EVERY + full, u64::MAX - 1).expect("it can be done"));
    }

    /// Every step from an instant on, and the screens beside them.
    fn steps(&self, from: Option<At>) -> Vec<String> {
        let span = Span { from, to: None };
        let mut replay = self.sessions.replay(&self.session, &span, false).expect("there is a recording");
        let mut steps = Vec::new();
        while let Some(step) = replay.next().expect("it can be read") {
            let (screen, at) = (step.screen, step.at);
            let shown = (screen.view().text(), screen.title(), screen.scrollback_len());
            let told = match step.what {
                What::Entry(..) if !at.entry.is_multiple_of(16) => String::new(),
                What::Entry(entry, _) => format!("{:?} {shown:?}", entry.kind),
                what @ (What::Begin(_) | What::Screen | What::Gap(_) | What::LetGo | What::CaughtUp) => {
                    format!("{what:?} {shown:?}")
                }
            };
            steps.push(format!("{} {} {} {told}", at.entry, at.position, at.micros));
        }
        steps
    }

    /// All that readers say, with keyframes and without.
    fn everything(&self) -> Vec<Vec<String>> {
        let late = || Some(At::Entry(LINES - 3));
        let seen = || [self.steps(None), self.steps(late())];
        let kept = fs::read(self.path.join("keyframes")).expect("they are ours");
        let with = seen();
        self.forget_keyframes();
        let without = seen();
        self.make_keyframes();
        let anew = seen();
        self.dir().replace_keyframes(&mut kept.as_slice()).expect("there is room");
        assert_eq!(with, without, "without keyframes");
        assert_eq!(with, anew, "with keyframes that were made anew");
        with.to_vec()
    }
}

#[test]
fn killed_at_any_act_whoever_lets_go_leaves_what_was_or_what_is_to_be() {
    let shedding = Shedding::new();
    let kept = shedding.path.join("before");
    // The second time there is a screen already, which is led to until another one is.
    for turn in ["first", "second"] {
        let full = if turn == "first" { FULL } else { FULL - 1024 };
        let recording = shedding.path.join("recording");
        fs::copy(&recording, &kept).expect("there is room");
        let (acts, before) = (shedding.acts(full), shedding.everything());
        let leads = acts.iter().rposition(|act| matches!(act, Act::Write(..))).expect("it says so");
        let mut after = None;
        for killed in (0..=acts.len()).rev() {
            fs::copy(&kept, &recording).expect("there is room");
            acts[..killed].iter().for_each(|act| act.perform(&shedding.file()).expect("it can be done"));
            let steps = shedding.steps(None);
            let after: &Vec<String> = after.get_or_insert_with(|| steps.clone());
            let is_new = killed > leads;
            assert!(
                steps == if is_new { after.clone() } else { before[0].clone() },
                "{turn}: killed at {killed}"
            );
            // A write that is killed ends with a page.
            let Some(Act::Write(at, bytes)) = acts.get(killed) else { continue };
            let pages =
                (0..bytes.len()).skip(1).filter(|length| (*at as usize + length).is_multiple_of(PAGE));
            let torn: Vec<usize> = pages.collect();
            assert!(killed == leads || torn.len() > 1, "a screen takes pages");
            assert!(killed != leads || torn.is_empty(), "what leads to it is there or not");
            for length in torn {
                Act::Write(*at, bytes[..length].to_vec()).perform(&shedding.file()).expect("there is room");
                assert!(
                    shedding.steps(None) == before[0],
                    "{turn}: killed at {killed}, behind {length} bytes"
                );
            }
        }
        fs::copy(&kept, &recording).expect("there is room");
        shedding.shed(full);
        let now = shedding.everything();
        assert_eq!(Some(&now[0]), after.as_ref());
        assert_eq!(now[1], before[1], "{turn}: screens behind it are what they were");
        let is_missing = |step: &&String| step.contains("they were let go");
        assert_eq!(now[0].iter().filter(is_missing).count(), 1, "{:?}", now[0]);
        assert!(now[0].iter().any(|step| step.contains("Screen") && step.contains("header")));
    }
    fs::remove_file(kept).expect("it is ours");
}

#[test]
fn what_was_let_go_is_answered_with_the_first_screen_that_is_left_and_told() {
    let shedding = Shedding::new();
    let late =
        || shedding.sessions.snapshot(&shedding.session, Some(&At::Entry(LINES))).expect("it is there");
    let before = late();
    shedding.shed(FULL);
    let early =
        shedding.sessions.snapshot(&shedding.session, Some(&At::Entry(9))).expect("told what there is");
    let goes_on = said(&shedding.dir().recording().expect("it is there")).expect("it says so").1.entries;
    assert_eq!(early.instant.expect("an instant").entry, goes_on);
    assert!(early.screen.view().row_text(0).starts_with("header"), "{}", early.screen.view().text());
    let told: Vec<String> = early.gaps.iter().map(Gap::says).collect();
    assert!(told.len() == 2 && told[0].contains("they were let go"), "{told:?}");
    assert!(told[1].contains("the first screen"), "{told:?}");
    let after = late();
    assert_eq!(
        (after.screen.hash(), after.gaps, before.gaps),
        (before.screen.hash(), Vec::new(), Vec::new())
    );
    let span = Span { from: Some(At::Entry(5)), to: Some(At::Entry(9)) };
    let mut replay = shedding.sessions.replay(&shedding.session, &span, false).expect("there is a recording");
    let refused = replay.next().expect_err("all of it was let go").to_string();
    assert!(refused.contains("was let go"), "{refused}");
}

#[test]
fn whoever_is_overtaken_is_told_what_was_let_go_and_goes_on_behind_it() {
    // Far more than is read at once.
    let piece = "x".repeat(32 * 1024);
    let tape = (0..40).fold(Tape::new(40, 6).sheds(), |tape, _| tape.output(&piece));
    let shedding = Shedding::of(&tape.output("the end"));
    let replay = shedding.sessions.replay(&shedding.session, &Span::default(), false);
    let mut replay = replay.expect("there is a recording").without_screen();
    let mut position = 0;
    while position == 0 {
        position = replay.next().expect("it can be read").expect("there is more").at.position;
    }
    shedding.shed(200 * 1024);
    let goes_on = said(&shedding.dir().recording().expect("it is there")).expect("it says so").1.entries;
    let (mut gaps, mut screens, mut last) = (Vec::new(), 0, 0);
    while let Some(step) = replay.next().expect("it can be read") {
        match step.what {
            What::Gap(gap) => gaps.push((gap, position, step.at.position)),
            What::Screen => screens += 1,
            What::Entry(..) | What::Begin(_) | What::LetGo | What::CaughtUp => {}
        }
        (position, last) = (step.at.position, step.at.entry);
    }
    let [(Gap::Cut(says), from, to)] = &gaps[..] else { panic!("{gaps:?}") };
    assert!(says.starts_with(&format!("{} bytes", to - from)) && says.contains("let go"), "{gaps:?}");
    assert_eq!((screens, last, position), (1, 43, 40 * 32 * 1024 + 7));
    assert!(goes_on > 30 && *to == (goes_on - 2) * 32 * 1024);
}

#[test]
fn what_was_let_go_is_not_packed_and_what_is_packed_shows_what_it_showed() {
    const FAR: u64 = 1 << 35;
    let shedding = Shedding::new();
    shedding.shed(FULL);
    // As if it had shed for weeks: what is left stands far behind.
    let file = shedding.file();
    let (at, before) =
        said(&RecordingFile::from(file.try_clone().expect("it is open"))).expect("it has shed");
    let mut rest = vec![
        0;
        usize::try_from(file.metadata().expect("it is open").len() - before.goes_on)
            .expect("little")
    ];
    file.read_exact_at(&mut rest, before.goes_on).expect("it is there");
    file.write_all_at(&rest, FAR).expect("files can have holes");
    let mut head = [0; HEADER];
    file.read_exact_at(&mut head, at).expect("it is there");
    let first = abide_core::recording::claimed(&head).expect("it is an entry");
    let shed = Shed { goes_on: FAR, ..before };
    file.write_all_at(&framed(&Entry { payload: &shed.payload(), ..first }), at).expect("there is room");
    shedding.forget_keyframes();
    let shown = shedding.steps(None);
    let room = shedding.dir().unpacked_bytes().expect("it is not packed");
    assert!(room < 1 << 20, "{room}");
    let (was, is) = shedding.dir().pack_recording().expect("there is room").expect("there is one");
    assert!(was == room && is < 64 * 1024, "{was} became {is}");
    assert_eq!(shedding.steps(None), shown);
}

#[test]
fn a_screen_that_is_damaged_is_told_and_all_behind_it_is_shown() {
    let shedding = Shedding::new();
    shedding.shed(FULL);
    shedding.forget_keyframes();
    let whole = shedding.steps(None);
    let slot = said(&shedding.dir().recording().expect("it is there")).and_then(|(_, shed)| shed.screen);
    shedding.file().write_all_at(b"?", slot.expect("a screen") + 100).expect("it is ours");
    let damaged = shedding.steps(None);
    let told: Vec<&String> = damaged.iter().filter(|step| step.contains("Gap")).collect();
    assert!(
        told.len() == 2 && told[1].contains(&format!("Gap(Screen({}))", slot.expect("a screen"))),
        "{told:?}"
    );
    let at = |at| shedding.sessions.snapshot(&shedding.session, Some(&At::Entry(at))).expect("it is there");
    let (early, late) = (at(9), at(LINES));
    assert!(early.is_let_go && !late.is_let_go);
    assert!(late.gaps.iter().any(|gap| gap.says().contains("the screen behind what was let go")));
    let last = |steps: &[String]| steps.last().and_then(|step| step.split(' ').next().map(str::to_owned));
    assert_eq!(last(&damaged), last(&whole));
    assert!(!damaged.iter().any(|step| step.contains("header")));
}

#[test]
fn a_screen_that_is_too_large_is_kept_without_its_looks_and_that_is_told() {
    let link = |cell: usize| format!("\x1b]8;;https://h/{cell}{}\x1b\\{}", "u".repeat(2000), cell % 10);
    let links: Vec<String> = (0..800).map(link).collect();
    let tape = links.chunks(400).fold(Tape::new(40, 24).sheds(), |tape, half| tape.output(half.concat()));
    let tape = tape.output("\x1b]8;;\x1b\\\x1b[21;24r\x1b[21;1H");
    let shedding = Shedding::of(&(0..6).fold(tape, |tape, _| tape.output("z".repeat(8000))));
    let last = || shedding.sessions.snapshot(&shedding.session, None).expect("it is there");
    let before = last();
    shedding.shed(FULL);
    shedding.forget_keyframes();
    let after = last();
    assert_eq!(after.screen.hash(), before.screen.hash(), "its text is there");
    let lacks = "its colours and links are missing";
    assert!(after.gaps.len() == 1 && after.gaps[0].says().contains(lacks), "{:?}", after.gaps);
    let steps = shedding.steps(None);
    assert_eq!(steps.iter().filter(|step| step.contains("Gap") && step.contains(lacks)).count(), 1);
}

#[test]
fn nothing_is_let_go_that_was_not_read_or_fits() {
    let shedding = Shedding::new();
    let most = keyframes::EVERY + FULL;
    assert!(!shed(&shedding.dir(), most, BEGINS).expect("it can be done"), "nobody has read it yet");
    assert!(!shed(&shedding.dir(), most + (1 << 20), u64::MAX - 1).expect("it can be done"), "it fits");
    let plain = Shedding::of(&Tape::new(40, 6).output("it was never to be let go"));
    let error = shed(&plain.dir(), 1, u64::MAX - 1).expect_err("there is no room to say so");
    assert_ne!(error.kind(), io::ErrorKind::Unsupported);
}

#[test]
fn a_recording_that_is_made_shorter_than_where_it_goes_on_is_followed_from_there() {
    let shedding = Shedding::new();
    shedding.shed(FULL);
    let mut reader = Reader::new(shedding.file(), 0);
    let mut read = || {
        let mut last = Vec::new();
        let mut take = |found: Found<'_>| {
            if let Found::Entry(entry) = found {
                entry.payload.clone_into(&mut last);
            }
        };
        while reader.advance(&mut take).expect("it can be read") {}
        last
    };
    assert!(read().starts_with(b"line 399 "));
    let (file, added) = (shedding.file(), BEGINS + 10_000);
    file.set_len(added).expect("it is ours");
    let entry = Entry { kind: Kind::Output, number: 0, time: 1 << 61, position: 0, payload: b"added since" };
    file.write_all_at(&framed(&entry), added).expect("there is room");
    assert_eq!(read(), b"added since");
}
