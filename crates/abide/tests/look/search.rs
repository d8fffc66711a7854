//! What sessions showed is found as it was seen, once, at the instant at which it came, whatever became of the index.

mod hits;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::thread;

use abide_core::evidence::How;
use abide_core::recording::Kind;
use abide_sys::clock;
use abide_sys::lock::{self, Holder};
use abide_testkit::Tape;
use abide_testkit::namespace::{lines, unshare};
use abide_testkit::scene::{Scene, identity, idle};
use serde_json::Value;

use crate::common::{Stage, data, word};

/// A session that is over, with a recording.
pub(crate) fn recorded(stage: &Stage, id: &str, tape: &Tape) -> Scene {
    let scene = stage.over(id).ended(How::Exited { code: 0 });
    tape.put(scene.dir());
    scene
}

pub(crate) fn hits(stage: &Stage, args: &[&str]) -> Vec<Value> {
    let found = data(stage.abide.json(&[&["search"], args].concat()));
    found["hits"].as_array().expect("hits").clone()
}

/// The lines that are found, each with its session.
pub(crate) fn found(stage: &Stage, args: &[&str]) -> Vec<String> {
    let line = |hit: &Value| format!("{} {}", word(&hit["session"]), word(&hit["line"]));
    hits(stage, args).iter().map(line).collect()
}

/// Whether the screen of a hit, opened as the hint says, shows its line.
pub(crate) fn is_shown(stage: &Stage, hit: &Value) -> bool {
    let screen = stage.text(&["snapshot", "--at", &word(&hit["open"]), &word(&hit["session"])]);
    // A blank before a line is wrapped is none at the end of a row.
    let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    letters(&screen).contains(&letters(&word(&hit["line"])))
}

/// A program that draws a clock, a list and a status over and over; one word stands in some frames only.
fn repainting() -> (Tape, usize) {
    let (mut tape, mut before) = (Tape::new(60, 10), 0);
    for frame in 0..200_u64 {
        let word = if (120..140).contains(&frame) { "Xylophone is here" } else { "" };
        let (first, second) = (
            format!("\x1b[?1049h\x1b[H\x1b[2J12:00:{:02} up {frame} min\r\n", frame % 60),
            format!(
                "\x1b[3;1H\x1b[7mPID COMMAND\x1b[0m\x1b[5;3H\x1b[3{}m{word}\x1b[m\x1b[10;1Hstatus: fine",
                frame % 8
            ),
        );
        tape = tape.at(frame * 50_000).output(&first).at(frame * 50_000 + 300).output(&second);
        before += if frame <= 120 { first.len() + second.len() } else { 0 };
    }
    (tape, before)
}

#[test]
fn a_word_that_only_repaints_showed_is_found_once_at_the_first_instant_of_it() {
    let stage = Stage::new();
    let (tape, before) = repainting();
    recorded(&stage, "painter0", &tape);
    let hits = hits(&stage, &["xylophone"]);
    let [hit] = hits.as_slice() else { panic!("{hits:#?}") };
    assert_eq!((&hit["seq"], &hit["count"], &hit["lines"]), (&before.into(), &1.into(), &1.into()), "{hit}");
    assert_eq!((&hit["entry"], &hit["line"]), (&(1 + 2 * 121).into(), &"  Xylophone is here".into()));
    assert_eq!(hit["matches"], serde_json::json!([[2, 11]]));
    assert!(word(&hit["at"]).starts_with("2023-11-14T22:13:26.000"), "{hit}");
    assert_eq!(word(&hit["last"]["at"]), "2023-11-14T22:13:26.950Z", "the last frame with it");
    assert!(is_shown(&stage, hit));
    assert_eq!(found(&stage, &["status"]), ["painter0 status: fine"]);
    let clock = &self::hits(&stage, &["up", "min"])[..];
    assert_eq!((clock.len(), &clock[0]["lines"]), (1, &200.into()), "one hit for a clock that is drawn anew");
    assert_eq!(self::hits(&stage, &["--all", "-n", "0", "up", "min"]).len(), 200);
}

#[test]
fn everything_that_scrolled_by_is_found_and_its_screen_shows_it() {
    let stage = Stage::new();
    let lines: String =
        (0..3000).map(|n| format!("\x1b[32mstep {n}\x1b[0m of \x1b[1mmany\x1b[0m\r\n")).collect();
    let phrase = "a phrase that is longer than the terminal is wide and therefore wrapped around";
    let tape = Tape::new(40, 10).output(lines).at(9).output(format!("{phrase} 漢字かな\r\n"));
    recorded(&stage, "flooded0", &tape);
    for number in [0, 7, 1499, 2990, 2999] {
        let hits = hits(&stage, &["--word", &format!("\"step {number} of\"")]);
        assert_eq!(hits.len(), 1, "{number}");
        assert!(is_shown(&stage, &hits[0]), "{}", hits[0]);
    }
    let wrapped = hits(&stage, &["\"the terminal is wide and therefore\"", "字か"]);
    assert_eq!(wrapped.len(), 1);
    assert_eq!(word(&wrapped[0]["line"]), format!("{phrase} 漢字かな"));
    assert!(is_shown(&stage, &wrapped[0]));
    assert_eq!(
        found(&stage, &["of", "-n", "2"]),
        ["flooded0 step 2999 of many", "flooded0 step 2998 of many"]
    );
    let all = data(stage.abide.json(&["search", "of", "-n", "2"]));
    assert_eq!(all["more"], true);
}

#[test]
fn queries_are_words_phrases_literals_or_patterns() {
    let stage = Stage::new();
    let tape = Tape::new(80, 24).output(
        "connect ECONNREFUSED 127.0.0.1:5432\r\nerror[E0308] --> src/foo.rs:12:5\r\nsay \"hi there\" twice\r\nGRÖSSE\r\n",
    );
    recorded(&stage, "queried0", &tape);
    let lines = |args: &[&str]| found(&stage, args).len();
    for (args, count) in [
        (&["econnrefused"][..], 1),
        (&["5432", "connect"], 1),
        (&["\"5432 connect\""], 0),
        (&["src/foo.rs:12"], 1),
        (&["conn", "--word"], 0),
        (&["connect", "--word"], 1),
        (&["CONNECT", "--case"], 0),
        (&["ECONNREFUSED", "--case"], 1),
        (&["größe"], 0),
        (&["grösse"], 1),
        (&["--regex", r"e\d{4}"], 1),
        (&["--regex", "^error.*:5$"], 1),
        (&["--regex", "^src"], 0),
        (&["-F", "say \"hi there\""], 1),
        (&["-F", "hi  there"], 0),
        (&["e"], 4),
    ] {
        assert_eq!(lines(args), count, "{args:?}");
    }
    for bad in [&["--regex", "(x"][..], &[""], &["\" \""], &["x", "--since", "soon"]] {
        let ran = stage.abide.run(&[&["search"], bad].concat());
        assert_eq!(ran.code(), Some(2), "{bad:?}: {ran:?}");
        assert!(ran.stderr.contains("hint: "), "{ran:?}");
    }
    let nothing = stage.abide.run(&["search", "nowhere"]);
    assert_eq!((nothing.code(), nothing.stdout.as_str()), (Some(0), ""));
    assert!(nothing.stderr.contains("nothing found"));
}

#[test]
fn sessions_are_chosen_by_id_label_program_and_status_and_lines_by_time() {
    let stage = Stage::new();
    for (number, (id, program, label)) in
        [("chosen00", "/bin/make", "core"), ("chosen01", "cargo", "core"), ("chosen02", "cargo", "web")]
            .into_iter()
            .enumerate()
    {
        let scene = stage.launched(id, |launched| {
            launched.argv = vec![program.to_owned(), "all".to_owned()];
            launched.labels.insert("team".to_owned(), label.to_owned());
        });
        let scene = if number == 1 { scene.ended(How::Exited { code: 0 }) } else { scene };
        let hour = number as u64 * 3_600_000_000;
        Tape::new(80, 24).at(hour).output("same needle\r\n").put(scene.dir());
    }
    let ids = |args: &[&str]| -> Vec<String> {
        hits(&stage, &[&["needle"], args].concat()).iter().map(|hit| word(&hit["session"])).collect()
    };
    assert_eq!(ids(&[]), ["chosen02", "chosen01", "chosen00"], "the latest first");
    assert_eq!(ids(&["--session", "chosen00"]), ["chosen00"]);
    assert_eq!(ids(&["-s", "chosen00", "-s", "chosen02"]), ["chosen02", "chosen00"]);
    assert_eq!(ids(&["--label", "team=core"]), ["chosen01", "chosen00"]);
    assert_eq!(ids(&["--label", "team", "--program", "cargo"]), ["chosen02", "chosen01"]);
    assert_eq!(ids(&["--program", "make"]), ["chosen00"]);
    assert_eq!(ids(&["--status", "exited"]), ["chosen01"]);
    assert_eq!(ids(&["--since", "2023-11-14T22:30:00Z"]), ["chosen02", "chosen01"]);
    let until = ["--since", "2023-11-14T22:30:00Z", "--until", "2023-11-14T23:30:00Z"];
    assert_eq!(ids(&until), ["chosen01"]);
    assert_eq!(stage.abide.run(&["search", "x", "-s", "nobody"]).code(), Some(3));
    assert_eq!(stage.abide.run(&["search", "x", "--status", "asleep"]).code(), Some(2));
}

#[test]
fn what_was_typed_is_found_apart_from_what_was_shown() {
    let stage = Stage::new();
    let hidden = [&[7; 16][..], &13_u64.to_le_bytes()].concat();
    let tape = Tape::new(80, 24).output("$ ").at(1_000_000).typed("git psu").typed("\x7f\x7f").typed("ush\r");
    let tape = tape
        .output("git push\r\nEverything up-to-date\r\n")
        .entry(Kind::Hidden, &hidden)
        .typed("never entered");
    recorded(&stage, "typed000", &tape);
    assert_eq!(found(&stage, &["--typed", "push"]), ["typed000 git push"]);
    assert_eq!(found(&stage, &["push"]), ["typed000 $ git push"]);
    assert_eq!(found(&stage, &["--typed", "everything"]), [""; 0]);
    assert_eq!(found(&stage, &["--typed", "never"]), ["typed000 never entered"]);
    let hit = &hits(&stage, &["--typed", "push"])[0];
    assert_eq!((&hit["kind"], &hit["seq"], &hit["entry"]), (&"typed".into(), &2.into(), &5.into()), "{hit}");
}

/// As if the program had gone on.
fn append(scene: &Scene, bytes: &[u8]) {
    let file = OpenOptions::new().append(true).open(scene.dir().join("recording"));
    file.and_then(|mut file| file.write_all(bytes)).expect("it is ours");
}

#[test]
fn a_recording_that_grows_is_not_taken_in_from_its_start_again() {
    let stage = Stage::new();
    let program = idle();
    let living = identity(&program);
    let scene = stage.scene("growing0").served(&living, &living, &living);
    let flood: String = (0..40_000).map(|n| format!("old line {n}\r\n")).collect();
    let old = Tape::new(80, 24)
        .output(&flood[..flood[..600_000].rfind('\n').map_or(0, |at| at + 1)])
        .output("half of a \x1b[3");
    old.put(scene.dir());
    assert_eq!(found(&stage, &["\"old line 77 \""]), [""; 0]);
    assert_eq!(found(&stage, &["--word", "\"old line 77\""]), ["growing0 old line 77"]);
    let whole =
        old.clone().at(5_000_000).output("2mgreen\x1b[0m line\r\n").at(6_000_000).output("new line\r\n");
    append(&scene, &whole.bytes()[old.bytes().len()..]);
    // What was taken in already is not read again: nobody notices that it is gone.
    let recording = OpenOptions::new().write(true).open(scene.dir().join("recording")).expect("it is ours");
    std::os::unix::fs::FileExt::write_all_at(&recording, &[b'x'; 500_000], 1000).expect("it is ours");
    assert_eq!(found(&stage, &["new"]), ["growing0 new line"]);
    assert_eq!(
        found(&stage, &["half"]),
        ["growing0 half of a green line"],
        "also in the middle of a sequence"
    );
    assert_eq!(found(&stage, &["--word", "\"old line 77\""]), ["growing0 old line 77"]);
    let over = scene.ended(How::Exited { code: 0 });
    assert_eq!(found(&stage, &["new"]), ["growing0 new line"]);
    // Another recording under the same name is another one.
    Tape::new(80, 24).output("quite another line\r\n").put(over.dir());
    assert_eq!(found(&stage, &["line"]), ["growing0 quite another line"]);
}

#[test]
fn an_index_that_is_damaged_of_another_version_or_gone_is_made_anew_and_nobody_notices() {
    let stage = Stage::new();
    let flood: String = (0..24_000).map(|n| format!("line {n} of the flood that takes room\r\n")).collect();
    let scene =
        recorded(&stage, "damaged0", &Tape::new(80, 24).output(&flood[..600_000]).output(&flood[600_000..]));
    let sought = ["--word", "\"line 41\"", "-n", "0"];
    let expected = ["damaged0 line 41 of the flood that takes room"];
    assert_eq!(found(&stage, &sought), expected);
    let files = ["index", "index-lines"].map(|name| scene.dir().join(name));
    let whole = files.clone().map(|path| fs::read(path).expect("it was made"));
    assert!(whole.iter().all(|bytes| bytes.len() > 1000), "both are used");
    let put = |path: &Path, bytes: &[u8]| {
        fs::File::create(path).and_then(|mut file| file.write_all(bytes)).expect("it is ours");
    };
    for (path, whole) in files.iter().zip(&whole) {
        let middle = whole.len() / 2;
        let flipped = |at: usize| [&whole[..at], &[whole[at] ^ 0x20], &whole[at + 1..]].concat();
        let damaged =
            [vec![], b"garbage".to_vec(), whole[..middle].to_vec(), flipped(7), flipped(50), flipped(middle)];
        for bytes in damaged {
            put(path, &bytes);
            // A pattern is looked for everywhere.
            let ran = stage.abide.run(&["search", "--regex", "line 41 of"]);
            assert_eq!(ran.code(), Some(0));
            assert!(
                ran.stdout.contains("line 41 of the flood") && !ran.stderr.contains("warning"),
                "{ran:?}"
            );
            assert_eq!(found(&stage, &sought), expected);
        }
        fs::remove_file(path).expect("it is ours");
        assert_eq!(found(&stage, &sought), expected);
    }
    // What a killed writer had not told of.
    let mut torn = OpenOptions::new().append(true).open(&files[1]).expect("it is there");
    torn.write_all(&whole[1][..100_000]).expect("there is room");
    assert_eq!(found(&stage, &sought), expected);
    let mode =
        |path: &Path| std::os::unix::fs::MetadataExt::mode(&fs::metadata(path).expect("it is there")) & 0o777;
    assert_eq!(files.each_ref().map(|path| mode(path)), [0o600; 2]);
}

#[test]
fn many_searches_at_once_find_the_same_and_leave_a_sound_index() {
    let stage = Stage::new();
    let flood: String = (0..40_000).map(|n| format!("line {n} of the flood\r\n")).collect();
    for id in ["together", "alltoo00"] {
        recorded(&stage, id, &Tape::new(80, 24).output(&flood[..800_000]));
    }
    let search = || {
        let answer = data(stage.abide.json(&["search", "--word", "\"line 41\""]));
        let of = |value: &Value| value.as_array().expect("a list").clone();
        let found = of(&answer["hits"]).iter().map(|hit| word(&hit["session"])).collect::<Vec<_>>();
        (found, of(&answer["behind"]).iter().map(word).collect::<Vec<_>>())
    };
    let answers = thread::scope(|scope| {
        let searches: Vec<_> = (0..8).map(|_| scope.spawn(search)).collect();
        searches.into_iter().map(|search| search.join().expect("it ends")).collect::<Vec<_>>()
    });
    for (found, behind) in answers {
        let all = |id: &str| found.iter().chain(&behind).any(|one| one == id);
        assert!(all("together") && all("alltoo00"), "{found:?}, and another one was taking in {behind:?}");
    }
    let (mut found, behind) = search();
    found.sort_unstable();
    assert_eq!((found.len(), found[0].as_str(), behind), (2, "alltoo00", vec![]));
}

#[test]
fn one_who_finds_an_index_being_written_waits_while_it_grows_else_answers_from_what_is_there_and_says_so() {
    let stage = Stage::new();
    let program = idle();
    let living = identity(&program);
    let scene = stage.scene("written0").served(&living, &living, &living);
    let old = Tape::new(80, 24).output("old line\r\n");
    old.put(scene.dir());
    assert_eq!(found(&stage, &["line"]), ["written0 old line"]);
    let new = old.clone().at(9_000_000).output("new line\r\n");
    append(&scene, &new.bytes()[old.bytes().len()..]);
    let held =
        OpenOptions::new().read(true).append(true).open(scene.dir().join("index-lines")).expect("it is ours");
    assert!(lock::take(&held, Holder::Sealer).expect("it can be locked"));
    let ran = stage.abide.run(&["search", "line"]);
    assert!(ran.stdout.contains("old line") && !ran.stdout.contains("new line"), "{ran:?}");
    assert!(ran.stderr.contains("another search takes in session written0"), "{ran:?}");
    let told = stage.abide.json(&["search", "line"]);
    assert_eq!(told["data"]["behind"], serde_json::json!(["written0"]));
    // One that grows is waited for, longer than one that stands still.
    let (length, until) = (held.metadata().expect("it is there").len(), clock::now().boot + 4_000);
    let told = thread::scope(|scope| {
        let search = scope.spawn(|| stage.abide.json(&["search", "line"]));
        while clock::now().boot < until {
            (&held).write_all(b"x").expect("it is ours");
            let _ = stage.abide.run(&["ls"]);
        }
        held.set_len(length).expect("it is ours");
        lock::give_back(&held, Holder::Sealer);
        search.join().expect("it ends")
    });
    assert_eq!(told["data"]["behind"], serde_json::json!([]));
    assert_eq!(told["data"]["hits"].as_array().map(Vec::len), Some(2), "{told}");
}

#[test]
fn a_home_that_cannot_be_written_is_searched_all_the_same_and_says_so() {
    let stage = Stage::new();
    let scene = recorded(&stage, "frozen00", &Tape::new(80, 24).output("needle in the ice\r\n"));
    let mut command = unshare(&["--mount"], Path::new("sh"));
    let script =
        "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && exec \"$0\" search needle 2>&1";
    let search = stage.abide.command(&[]);
    command.args(["-c", script]).arg(search.get_program()).arg(stage.path());
    command.env_clear().envs(search.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = lines(&mut command).join("\n");
    assert!(said.contains("  needle in the ice") && said.contains("the index cannot be kept"), "{said}");
    assert!(!scene.dir().join("index").exists());
    assert_eq!(found(&stage, &["needle"]), ["frozen00 needle in the ice"]);
}

#[test]
fn the_lines_of_a_session_go_with_it() {
    let stage = Stage::new();
    recorded(&stage, "removed0", &Tape::new(80, 24).output("Unforgettable words\r\n"));
    recorded(&stage, "staying0", &Tape::new(80, 24).output("other words\r\n"));
    assert_eq!(found(&stage, &["words"]).len(), 2);
    assert_eq!(stage.abide.run(&["rm", "removed0"]).code(), Some(0));
    assert_eq!(found(&stage, &["words"]), ["staying0 other words"]);
    let grep = std::process::Command::new("grep").args(["-ri", "unforgettable"]).arg(stage.path()).output();
    assert_eq!(String::from_utf8_lossy(&grep.expect("there is grep").stdout), "");
}

#[test]
fn what_is_damaged_in_a_recording_hides_nothing_else() {
    let stage = Stage::new();
    let tape =
        Tape::new(80, 24).output("first words\r\n").output("broken words\r\n").output("last words\r\n");
    recorded(&stage, "flipped0", &tape.damaged(3));
    assert_eq!(found(&stage, &["words"]), ["flipped0 last words", "flipped0 first words"]);
    recorded(&stage, "headless", &Tape::new(80, 24).output("some words\r\n").damaged(1));
    assert_eq!(found(&stage, &["some"]), ["headless some words"]);
    let _no_recording = stage.over("silent00").ended(How::Exited { code: 0 });
    assert_eq!(found(&stage, &["some"]), ["headless some words"]);
}

#[test]
fn nothing_that_was_shown_reaches_the_terminal_of_who_searches() {
    let stage = Stage::new();
    let tape = Tape::new(80, 24)
        .output("\x1b]0;title\x07evil \u{202e}txet\u{2066} here \x1b[5mblink\r\n")
        .typed("evil \u{202e}typed\r");
    recorded(&stage, "evil0000", &tape);
    for args in [&["search", "evil"][..], &["search", "--typed", "evil"], &["search", "--json", "evil"]] {
        let said = stage.text_and_errors(args);
        assert!(said.contains("evil") && !said.contains('\u{202e}') && !said.contains('\u{1b}'), "{said:?}");
    }
    let coloured = stage.text_and_errors(&["search", "--color", "always", "evil"]);
    assert!(coloured.contains("\x1b[31mevil\x1b[0m"), "{coloured:?}");
}

#[test]
fn many_sessions_that_are_not_whole_are_one_warning() {
    let stage = Stage::new();
    for number in 0..8 {
        let (id, cut) = (format!("lacking{number}"), b"the disk is full");
        recorded(&stage, &id, &Tape::new(80, 24).output("needle\r\n").entry(Kind::Cut, cut).output("behind"));
    }
    let one = stage.abide.run(&["search", "needle", "-s", "lacking0"]);
    assert!(one.stderr.contains("session lacking0 is not searched whole"), "{one:?}");
    let all = stage.abide.run(&["search", "needle"]);
    assert_eq!(all.stderr.matches("warning").count(), 1, "{all:?}");
    assert!(all.stderr.contains("8 sessions are not searched whole") && all.stderr.contains("and 3 more"));
    let told = data(stage.abide.json(&["search", "needle"]));
    assert_eq!(told["incomplete"].as_array().map(Vec::len), Some(8));
}
