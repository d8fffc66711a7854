//! Text that a terminal would obey, from wherever it comes, through every command that prints it: it reaches nobody's terminal.
//! `logs --raw` and `attach`, which are asked for it, are the exceptions.

use abide_core::evidence::How;
use abide_testkit::scene::{Scene, dead, launch};
use abide_testkit::{Ran, Tape};
use rustix::process::Signal;

use super::put;
use crate::common::World;

/// Clears the screen, sets the title, asks for an answer that would be typed, turns text around; what has no width does nothing.
const EVIL: &str =
    "a\u{1b}[2J\u{1b}]2;owned\u{7}\u{1b}[6n\u{9b}31m\u{9d}0;x\u{9c}\u{202e}b\u{2066}\u{200b}\u{7f}\u{8}\rc";

fn is_dangerous(c: char) -> bool {
    (c.is_control() && !"\n\t".contains(c)) || "\u{202e}\u{2066}\u{61c}".contains(c)
}

fn check(ran: &Ran, what: &[&str]) {
    // An export holds the text as it was, in whatever direction; no terminal obeys that.
    let exports = what.first() == Some(&"export");
    let is_obeyed = |c: char| is_dangerous(c) && (c.is_control() || !exports);
    for (text, where_to) in [(&ran.stdout, "stdout"), (&ran.stderr, "stderr")] {
        assert!(!text.contains(is_obeyed), "{what:?} says on {where_to}: {text:?}");
    }
    assert!(!ran.stderr.contains("panicked"), "{what:?}: {ran:?}");
}

const PRINTING: &[&[&str]] = &[
    &["ls", "-a"],
    &["ls", "-a", "--json"],
    &["ls", "-aq"],
    &["inspect", "evil0000"],
    &["why", "evil0000"],
    &["logs", "evil0000"],
    &["logs", "--tail", "5", "evil0000"],
    &["logs", "--json", "evil0000"],
    &["search", "needle"],
    &["search", "--json", "needle"],
    &["search", "--typed", "needle"],
    &["events", "evil0000"],
    &["events", "--json", "evil0000"],
    &["snapshot", "evil0000"],
    &["snapshot", "--json", "evil0000"],
    &["snapshot", "--format", "html", "evil0000"],
    &["snapshot", "--at", "mark:nowhere", "evil0000"],
    &["export", "--format", "txt", "evil0000"],
    &["export", "--format", "cast", "evil0000"],
    &["export", "--format", "html", "evil0000"],
    &["export", "--format", "svg", "evil0000"],
    &["wait", "evil0000"],
    &["wait", "--json", "evil0000"],
    &["agents"],
    &["doctor"],
    &["gc", "--dry-run", "--keep", "0"],
    &["type", "evil0000", "x"],
    &["stop", "evil0000"],
    &["resume", "evil0000"],
    &["upgrade", "evil0000"],
];

#[test]
fn nothing_that_a_session_holds_reaches_the_terminal_of_who_asks_about_it() {
    let world = World::new();
    let gone = dead();
    let mut launched = launch("evil0000", &gone);
    launched.name = Some(EVIL.into());
    launched.argv = vec![EVIL.into(), EVIL.into()];
    launched.cwd = EVIL.into();
    launched.labels = [(EVIL.to_owned(), EVIL.to_owned())].into();
    launched.agent = Some(EVIL.into());
    let scene = Scene::new(&world.home.path(), "evil0000");
    let scene = scene.guarded(&gone).launched_as(launched).hosted(&gone).started(&gone);
    let scene = scene.declared(EVIL, 0).stop_asked(EVIL).ended(How::Exited { code: 0 });
    let tape = Tape::new(60, 8).output(format!("needle {EVIL}\r\nneedle two\r\n")).at(900_000);
    let tape = tape.mark(EVIL).typed(format!("needle {EVIL}\r")).at(1_900_000);
    tape.output("needle \u{1b}]2;evil\u{1b}[2Jtitle\u{7}\u{1b}]8;;javascript:x\u{7}link\u{1b}]8;;\u{7}")
        .put(scene.dir());
    for args in PRINTING {
        check(&world.abide.run(args), args);
    }
    check(&world.abide.run(&["rm", "evil0000"]), &["rm"]);
}

#[test]
fn nothing_that_is_asked_for_comes_back_as_it_was_in_an_error() {
    let world = World::new();
    for args in [
        &["inspect", EVIL][..],
        &[EVIL],
        &["ls", EVIL],
        &["ls", &format!("--{EVIL}")],
        &["ls", "--label", EVIL],
        &["ls", "--format", EVIL],
        &["run", "-d", "--name", EVIL, "--", "true"],
        &["run", "-d", "--cwd", EVIL, "--", "true"],
        &["run", "-d", "--size", EVIL, "--", "true"],
        &["run", "-d", "--", EVIL],
        &["wait", EVIL],
        &["search", "--regex", &format!("({EVIL}")],
        &["why", "--at", EVIL, "x"],
        &["export", "--format", EVIL, "x"],
        &["completions", EVIL],
        &["hooks", "install", EVIL],
        &["prompt", EVIL, EVIL],
        &["--home", EVIL, "ls"],
        &["config", EVIL],
        &["signal", "x", EVIL],
    ] {
        check(&world.abide.run(args), args);
    }
    let mut command = world.abide.command(&["config"]);
    check(&Ran::of(command.env("ABIDE_CONFIG", EVIL)), &["ABIDE_CONFIG"]);
    let config = world.beside("config");
    put(&config, format!("\"{}\" = 1\nsize = 'x{EVIL}'\n", EVIL.replace('\u{7}', "")));
    let mut command = world.abide.command(&["config"]);
    check(&Ran::of(command.env("ABIDE_CONFIG", &config)), &["config"]);
}

/// A living session, with a title, a mark, labels and a name for what is completed.
#[test]
fn nothing_that_a_living_program_says_of_itself_reaches_the_terminal_of_who_asks_about_it() {
    let world = World::new();
    let script = "printf '\\033]2;tit\\033\\\\le\\302\\233\\342\\200\\256x\\007'; printf 'needle \\033[2J\\033[6n\\r\\n'; read line";
    let label = format!("k={EVIL}");
    let id = world.launch(&["--label", &label], &["sh", "-c", script, EVIL]);
    let life = world.observe(id.clone());
    life.until_shown("needle");
    life.helper("host", None);
    check(&world.abide.run(&["mark", &id, EVIL]), &["mark"]);
    check(&world.abide.run(&["mark", "--json", &id, EVIL]), &["mark", "--json"]);
    for args in [
        &["ls"][..],
        &["inspect", &id],
        &["why", &id],
        &["logs", &id],
        &["snapshot", &id],
        &["search", "needle"],
        &["events", &id],
        &["wait", "--cap", "10ms", &id],
        &["wait", "--text", EVIL, "--timeout", "100ms", &id],
        &["exec", "--timeout", "100ms", &id, "--", EVIL],
        &["snapshot", "--at", &format!("mark:{EVIL}"), &id],
        &["keys", &id, EVIL],
        &["agents"],
    ] {
        check(&world.abide.run(args), args);
    }
    // What a shell is told to complete with.
    for words in [
        &["__complete", "inspect", ""][..],
        &["completions", "bash"],
        &["completions", "zsh"],
        &["completions", "fish"],
    ] {
        let ran = world.abide.run(words);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{words:?}: {ran:?}");
    }
    life.program.0.signal(Signal::KILL);
}
