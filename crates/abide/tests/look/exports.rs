//! What is made of a recording for others: where the file goes, what is left out of it, and when it ends.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use abide_core::evidence::How;
use abide_core::moment::Moment;
use abide_testkit::namespace::unshare;
use abide_testkit::scene::Scene;
use abide_testkit::tape::{BOOT_US, WALL_MS};
use abide_testkit::{Ran, Running, Tape};
use rustix::fs::{CWD, Mode, mkfifoat};

use crate::common::Stage;

const ID: &str = "exported";

fn stage(tape: &Tape) -> (Stage, Scene) {
    let stage = Stage::new();
    let scene = stage.over(ID).ended(How::Exited { code: 7 });
    tape.put(scene.dir());
    (stage, scene)
}

fn tape() -> Tape {
    Tape::new(30, 4).at(1_000_000).output("one\r\n").at(2_000_000).output("two\r\n")
}

/// An empty directory beside the home.
fn folder(stage: &Stage) -> PathBuf {
    let folder = stage.home.around().join("made");
    fs::create_dir(&folder).expect("there is room");
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let there = fs::read_dir(folder).expect("it is ours").flatten();
    let mut names: Vec<String> =
        there.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o7777
}

/// What is made with this umask.
fn made(stage: &Stage, verb: &str, path: &Path) -> Ran {
    let abide = stage.abide.command(&[verb, "-o", path.to_str().expect("it is text"), ID]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "umask 027; exec \"$0\" \"$@\""]).arg(abide.get_program()).args(abide.get_args());
    shell.env_clear().envs(abide.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ran::of(&mut shell)
}

#[test]
fn a_file_that_is_made_has_the_mode_it_had_or_the_umask_gives_and_links_are_followed() {
    let (stage, _scene) = stage(&tape());
    let folder = folder(&stage);
    for verb in ["export", "screenshot"] {
        let there = folder.join("there.svg");
        File::create(&there).expect("there is room");
        fs::set_permissions(&there, Permissions::from_mode(0o644)).expect("it is ours");
        symlink("there.svg", folder.join("link.svg")).expect("there is room");
        symlink("new.svg", folder.join("dangling.svg")).expect("there is room");
        for name in ["link.svg", "dangling.svg"] {
            let ran = made(&stage, verb, &folder.join(name));
            assert_eq!((ran.code(), ran.stderr.as_str()), (Some(0), ""), "{verb} {name}");
            assert!(folder.join(name).is_symlink(), "{verb} {name}");
        }
        assert_eq!((mode(&there), mode(&folder.join("new.svg"))), (0o644, 0o640), "{verb}");
        assert!(fs::read_to_string(&there).expect("text").contains("<svg"), "{verb}");
        assert_eq!(names(&folder), ["dangling.svg", "link.svg", "new.svg", "there.svg"], "{verb}");
        names(&folder).iter().for_each(|name| fs::remove_file(folder.join(name)).expect("it is ours"));
    }
}

#[test]
fn what_is_no_file_is_written_to_and_stays_what_it_is() {
    let (stage, _scene) = stage(&tape());
    let folder = folder(&stage);
    let fifo = folder.join("pipe.svg");
    mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).expect("there is room");
    for verb in ["export", "screenshot"] {
        let mut reader = Running::start(std::process::Command::new("cat").arg(&fifo));
        let ran = made(&stage, verb, &fifo);
        assert_eq!((ran.code(), ran.stderr.as_str()), (Some(0), ""), "{verb}");
        reader.until("</svg>");
        reader.reap();
        assert!(fs::metadata(&fifo).expect("it is there").file_type().is_fifo(), "{verb}");
        let ran = made(&stage, verb, &folder.join("."));
        assert_ne!(ran.code(), Some(0), "{verb}: {ran:?}");
        fs::create_dir(folder.join("folder.svg")).expect("there is room");
        let ran = made(&stage, verb, &folder.join("folder.svg"));
        assert_eq!(
            (ran.code(), ran.stderr.contains("name a file in it")),
            (Some(1), true),
            "{verb}: {ran:?}"
        );
        fs::remove_dir(folder.join("folder.svg")).expect("it is empty");
        assert_eq!(names(&folder), ["pipe.svg"], "{verb}");
    }
}

#[test]
fn a_device_without_room_stays_what_it_is_and_the_way_out_fits() {
    let (stage, _scene) = stage(&tape());
    let folder = folder(&stage);
    let path = folder.join("full.cast");
    File::create(&path).expect("there is room");
    // A device that has never room stands there, for nobody but this command.
    let script =
        "mount --bind /dev/full \"$0\" && { \"$@\"; code=$?; test -c \"$0\" || exit 99; exit $code; }";
    let abide = stage.abide.command(&["export", "-o", path.to_str().expect("it is text"), ID]);
    let mut shell = unshare(&["--mount"], Path::new("sh"));
    shell.args(["-c", script]).arg(&path).arg(abide.get_program()).args(abide.get_args());
    shell.env_clear().envs(abide.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = Ran::of(&mut shell);
    assert_eq!(ran.code(), Some(1), "{ran:?}");
    assert!(ran.stderr.contains("there is no room: write it elsewhere"), "{ran:?}");
    assert_eq!(names(&folder), ["full.cast"]);
}

#[test]
fn the_ending_of_a_name_says_what_to_make_in_any_case() {
    let (stage, _scene) = stage(&tape());
    let folder = folder(&stage);
    for (verb, name, begins) in [
        ("screenshot", "UP.PNG", "\u{89}PNG"),
        ("screenshot", "Up.Svg", "<svg"),
        ("export", "UP.CAST", "{\"version\":3"),
    ] {
        let ran = made(&stage, verb, &folder.join(name));
        assert_eq!(ran.code(), Some(0), "{ran:?}");
        let bytes = fs::read(folder.join(name)).expect("it is there");
        let first: String = bytes.iter().take(begins.chars().count()).map(|byte| char::from(*byte)).collect();
        assert_eq!(first, begins, "{name}");
    }
}

#[test]
fn characters_without_width_are_shown_as_they_came() {
    let shown = "a\u{200b}b\u{feff}c \u{2060}d";
    let (stage, _scene) = stage(&Tape::new(30, 4).output(shown));
    for args in [&["snapshot"][..], &["logs"], &["export", "--format", "txt"]] {
        let text = stage.text(&[args, &[ID]].concat());
        assert_eq!(text.trim_end(), shown, "{args:?}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&stage.text(&["snapshot", "--json", ID])).expect("JSON");
    assert_eq!(json["data"]["lines"][0], shown);
}

#[test]
fn text_has_what_another_size_cut_off() {
    let rows: Vec<String> = (1..=24).map(|row| format!("row {row}")).collect();
    let tape = Tape::new(80, 24).output(rows.join("\r\n")).output("\x1b[H").resize(80, 10).resize(80, 24);
    let (stage, _scene) = stage(&tape);
    assert_eq!(stage.text(&["export", "--format", "txt", ID]).trim_end(), rows.join("\n"));
}

#[test]
fn a_token_that_a_program_draws_in_parts_is_in_no_format() {
    let mut tape =
        Tape::new(40, 10).output("\x1b[?1049h\x1b[5;5Hghp_01234\x1b[7;1Hother\x1b[5;14H56789abcdef");
    let mut time = 1_000_000;
    for (at, letter) in "ghp_klmnopqrstuv".chars().enumerate() {
        time += 1_000_000;
        tape = tape.at(time).output(format!("\x1b[3;{}H{letter}\x1b[9;1H{at} letters\x1b[K", at + 5));
    }
    let (stage, _scene) = stage(&tape);
    for format in ["cast", "txt", "html", "svg"] {
        // Of one that a span cuts there is nothing either.
        for (end, at) in [("--from", "+0s"), ("--from", "#6"), ("--to", "#6")] {
            let text = stage.text(&["export", "--redact", end, at, "--format", format, ID]);
            for secret in ["ghp", "56789", "01234", "abcdef", "nopq"] {
                assert!(!text.contains(secret), "{format} {end} {at}: {secret} in {text}");
            }
        }
    }
    // Played to its end, the cast shows what the session did, but for the letters.
    let mut screen = abide_core::screen::Screen::new(abide_core::screen::Size { cols: 40, rows: 10 }, 0);
    for line in stage.text(&["export", "--redact", ID]).lines().skip(1) {
        let event: serde_json::Value = serde_json::from_str(line).expect("an event");
        if event[1] == "o" {
            let _ = screen.feed(event[2].as_str().expect("text").as_bytes());
        }
    }
    let stars = |count: usize| "*".repeat(count);
    let rows = format!("\n\n    {}\n\n    {}\n\nother\n\n15 letters\n\n", stars(16), stars(20));
    assert_eq!(screen.visible_text(), rows);
}

#[test]
fn no_letter_of_a_secret_is_in_any_format_however_it_came() {
    let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let link = format!("\x1b]8;;https://u:p4ssw0rd@h/?token={token}\x1b\\link\x1b]8;;\x1b\\\r\n");
    let mut tape = Tape::new(60, 6).output(format!("\x1b]2;TOKEN={token}\x07above {token}\r\n"));
    tape = tape.output(link).mark("TOKEN=hunter2").output("$ ");
    let mut time = 1_000_000;
    for letter in token.chars() {
        time += 1_000_000;
        tape = tape.at(time).output(letter.to_string());
    }
    let tape = tape.at(time + 1_000_000).output("\r\nbye\r\n");
    let (stage, _scene) = stage(&tape);
    for format in ["cast", "txt", "html", "svg"] {
        let spans =
            [("--from", "+0s"), ("--from", "#4"), ("--from", "#10"), ("--from", "#20"), ("--to", "#10")];
        for (end, at) in spans {
            let text = stage.text(&["export", "--redact", end, at, "--format", format, ID]);
            for secret in ["ghp_", "p4ssw0rd", "hunter2", "uvwxyz"] {
                assert!(!text.contains(secret), "{format} {end} {at}: {secret} in {text}");
            }
            assert!(text.contains("***"), "{format} {end} {at}: {text}");
        }
    }
    let shown = stage.text(&["export", "--format", "html", ID]);
    assert!(shown.contains("p4ssw0rd") && shown.contains(token), "{shown}");
}

#[test]
fn a_redacted_cast_does_not_say_a_secret_that_stands_within_an_argument() {
    let stage = Stage::new();
    let line = "login --user me; DB_PASSWORD=hunter2 make";
    let scene = stage.launched(ID, |launched| launched.argv = vec!["sh".into(), "-c".into(), line.into()]);
    Tape::new(30, 3).output("made\r\n").put(scene.dir());
    let cast = stage.text_and_errors(&["export", "--redact", ID]);
    assert!(cast.contains("DB_PASSWORD=******* make") && !cast.contains("hunter2"), "{cast}");
}

#[test]
fn an_export_goes_on_with_the_screen_that_stood_where_the_recording_does_without_its_secrets() {
    let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let shown = format!("header {token}\x1b[2;6r\x1b[3;1Hbefore\r\n");
    let tape = Tape::new(60, 6).at(1_000_000).shed(900, 70_000, &shown).at(2_000_000).output("behind\r\n");
    let (stage, _scene) = stage(&tape);
    for format in ["cast", "txt", "html", "svg"] {
        let told = stage.abide.run(&["export", "--format", format, ID]);
        assert!(
            told.stderr.contains("70000 bytes of output are missing: they were let go"),
            "{format}: {told:?}"
        );
        let wanted = ["header", token, "before", "behind"];
        assert!(wanted.iter().all(|text| told.stdout.contains(text)), "{format}: {told:?}");
        let redacted = stage.abide.run(&["export", "--redact", "--format", format, ID]).stdout;
        let wanted = ["header", "before", "behind", "***"];
        assert!(wanted.iter().all(|text| redacted.contains(text)), "{format}: {redacted}");
        assert!(!redacted.contains("ghp_"), "{format}: {redacted}");
    }
    let found = stage.text_and_errors(&["search", "--json", "header"]);
    assert!(found.contains("\"entry\":902,"), "{found}");
    let logs = stage.text(&["logs", ID]);
    assert!(logs.contains("they were let go") && logs.ends_with("\nbehind\n"), "{logs}");
    assert!(!logs.contains("header"), "it was let go: {logs}");
}

/// What a program switches on that keys, mouse and the viewer's terminal would feel.
const ACTING: &str = "\x1b[?1000h\x1b[?1006h\x1b[?2004h\x1b[?1004h\x1b[?1h\x1b=\x1b[>1u\x1b[>4;2m";

#[test]
fn a_picture_for_a_terminal_switches_nothing_on_and_shows_what_the_text_shows() {
    let held = "\x1b]4;1;rgb:12/34/56\x1b\\\x1b[?25l\x1b[31mred\x1b[0m\r\n\x1b[?2026hhalf";
    let (stage, _scene) = stage(&Tape::new(30, 3).output(ACTING).output(held));
    let ansi = stage.text(&["snapshot", "--format", "ansi", ID]);
    // At the end of a session no update is held back any more.
    assert_eq!(ansi, "\x1b[0;38;2;18;52;86mred\x1b[0m\nhalf\n\n");
    assert_eq!(stage.text(&["snapshot", ID]), "red\nhalf\n\n");
}

#[test]
fn the_screen_that_a_cast_begins_with_leaves_keys_and_mouse_alone() {
    let tape = Tape::new(30, 3).output(ACTING).output("a\x1b[?2026hb\x1b[3").at(1_000_000).output("1mc");
    let (stage, _scene) = stage(&tape);
    let cast = stage.text(&["export", "--from", "#3", ID]);
    let first = cast.lines().nth(1).expect("the screen it begins with");
    for switch in ["?1000h", "?1006h", "?2004h", "?1004h", "?1h", "[>", "u001b=", "?2026h"] {
        assert!(!first.contains(switch), "{switch} in {first}");
    }
    assert!(first.contains("ab") && cast.lines().any(|line| line.contains("u001b[31mc")), "{cast}");
}

#[test]
fn text_has_what_was_cleared_away_and_what_the_alternate_screen_showed_last() {
    let tape = Tape::new(30, 4)
        .output("$ make\r\nwarning\r\n\x1b[H\x1b[2J\x1b[3J$ less\r\n")
        .output("\x1b[?1049h\x1b[Hfirst page\x1b[H\x1b[2Jlast page")
        .output("\x1b[?1049l$ exit\r\n");
    let (stage, _scene) = stage(&tape);
    let text = stage.text(&["export", "--format", "txt", ID]);
    assert_eq!(text, "$ make\nwarning\n$ less\nlast page\n$ exit\n");
}

/// A session whose last output came after 2 seconds, and that ended 5 seconds after it began.
fn paused() -> (Stage, Scene) {
    let stage = Stage::new();
    let boot = BOOT_US / 1000;
    let scene = stage.over(ID).at(Moment { wall: WALL_MS + 5_000, boot: boot + 5_000 });
    let scene = scene.ended(How::Exited { code: 7 });
    tape().put(scene.dir());
    (stage, scene)
}

#[test]
fn the_end_of_a_session_comes_when_it_came_and_the_last_pause_is_as_long_as_it_was() {
    let (stage, _scene) = paused();
    let last = |cast: &str| cast.lines().last().expect("a line").to_owned();
    assert_eq!(last(&stage.text(&["export", ID])), "[3.000000, \"x\", \"7\"]");
    assert_eq!(last(&stage.text(&["export", "--idle-limit", "1s", ID])), "[1.000000, \"x\", \"7\"]");
    assert!(stage.text(&["export", "--format", "html", ID]).contains("F.push([5000,30,4,[]])"));
    assert!(
        stage.text(&["export", "--format", "html", "--to", "+4s", ID]).contains("F.push([4000,30,4,[]])")
    );
    let film = stage.text(&["export", "--format", "svg", ID]);
    assert!(film.contains("dur=\"5.000s\""), "{}", film.split_once("dur=").expect("it moves").1);
}

#[test]
fn what_makes_no_sense_is_refused_and_the_way_out_named() {
    let (stage, _scene) = stage(&tape());
    let folder = folder(&stage);
    let webm = folder.join("x.webm").to_str().expect("it is text").to_owned();
    for (args, says) in [
        (&["-o", &webm][..], "video is made as mp4"),
        (&["--format", "webm"], "video is made as mp4"),
        (&["-o", "x.docx"], ".cast, .txt, .html, .gif, .svg, .mp4, .png"),
        (&["--from", "+2s", "--to", "+1s"], "the span ends before it begins"),
        (&["--from", "#3", "--to", "#1"], "the span ends before it begins"),
        (&["--from", "+2s", "--to", "#1"], "the span ends before it begins"),
        (&["--fps", "5"], "--fps means nothing for a cast"),
        (&["--format", "txt", "--window"], "--window means nothing for txt"),
        (&["--format", "png", "--idle-limit", "1s"], "--idle-limit means nothing for png"),
        (&["--format", "html", "--cast-version", "2"], "--cast-version means nothing for html"),
        (&["--format", "html", "--input"], "--input means nothing for html"),
        (&["--format", "html", "--font-size", "8"], "--font-size means nothing for html"),
    ] {
        let ran = stage.abide.run(&[&["export"], args, &[ID]].concat());
        assert_eq!(ran.code(), Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(says) && ran.stdout.is_empty(), "{args:?}: {ran:?}");
    }
    assert!(names(&folder).is_empty());
    let named = folder.join("any.thing").to_str().expect("it is text").to_owned();
    assert_eq!(stage.text(&["export", "--format", "txt", "-o", &named, ID]), "");
}

#[test]
fn the_way_out_of_a_picture_that_is_too_large_is_small_enough() {
    let (stage, _scene) = stage(&Tape::new(1_000, 1_000).output("x"));
    let ran = stage.abide.run(&["screenshot", "--font-size", "40", "-o", "-", ID]);
    assert_eq!(ran.code(), Some(2), "{ran:?}");
    let named = |ran: &Ran| -> Option<u16> {
        let (_, rest) = ran.stderr.split_once("--font-size ")?;
        rest.split(' ').next()?.parse().ok()
    };
    let fits = named(&ran).expect("it is named");
    assert!(fits < 40, "{ran:?}");
    let larger = stage.abide.run(&["screenshot", "--font-size", &(fits + 1).to_string(), "-o", "-", ID]);
    assert_eq!((larger.code(), named(&larger)), (Some(2), Some(fits)), "the largest that fits: {larger:?}");
}

#[test]
fn a_pause_in_which_something_was_typed_that_is_left_out_is_no_longer_than_any_other() {
    let mut tape = Tape::new(30, 4).at(1_000_000).output("one\r\n");
    for second in 2..20 {
        tape = tape.at(second * 1_000_000 + 500_000).typed("x");
    }
    let (stage, _scene) = stage(&tape.at(21_000_000).output("two\r\n").at(22_000_000).output("three\r\n"));
    let at = |args: &[&str], piece: &str| -> Option<String> {
        let text = stage.text(&[&["export", "--idle-limit", "2s"], args, &[ID]].concat());
        let line = text.lines().find(|line| line.contains(piece))?;
        Some(line.split_once(',')?.0.trim_start_matches(['[', ' ']).to_owned())
    };
    let two = ["--format", "cast", "--cast-version", "2"];
    assert_eq!(at(&two, "two").as_deref(), Some("3.000000"));
    assert_eq!(at(&[&two[..], &["--input"]].concat(), "two").as_deref(), Some("21.000000"), "that is shown");
    assert_eq!(at(&["--format", "html"], "two").as_deref(), Some("<script>F.push([3000"));
    // An animation says for how long it goes on.
    let svg = stage.text(&["export", "--idle-limit", "2s", "--format", "svg", ID]);
    assert!(svg.contains("dur=\"6.000s\""), "{svg}");
}
