//! Ends: nothing that is not ours is harmed, nothing that is ours is left, and what is gone is said to be gone.

use std::process::Stdio;

use abide_testkit::observer::Doomed;
use abide_testkit::scene::{Scene, earlier, identity, idle};
use abide_testkit::{Ending, Observer, Ran};
use serde_json::Value;

use crate::common::{World, data};

#[test]
fn no_command_harms_strangers_with_the_pids_of_a_session_that_is_gone() {
    let world = World::new();
    let strangers = [idle(), idle(), idle()];
    let [guard, host, program] = strangers.each_ref().map(earlier);
    let scene = Scene::new(&world.home.path(), "reused00").served(&guard, &host, &program);
    let id = scene.id();
    for (command, code) in [
        (&["ls", "-a"][..], 0),
        (&["inspect", id], 0),
        (&["why", id], 0),
        (&["wait", id], 125),
        (&["stop", "--grace", "0s", id], 5),
        (&["signal", "KILL", id], 5),
        (&["type", id, "x"], 5),
        (&["keys", id, "Ctrl-C"], 5),
        (&["attach", id], 5),
        (&["upgrade", id], 5),
        (&["gc", "--older", "900000h"], 0),
        (&["rm", "--force", id], 0),
    ] {
        let ran = world.abide.run(command);
        assert_eq!(ran.code(), Some(code), "{command:?} {ran:?}");
        assert!(strangers.iter().all(|stranger| stranger.observer().lives()), "{command:?}");
    }
    let again = Scene::new(&world.home.path(), "reused01").served(&guard, &host, &program);
    for command in [&["doctor", "--fix"][..], &["gc", "--keep", "0"]] {
        let ran = world.abide.run(command);
        assert!(strangers.iter().all(|stranger| stranger.observer().lives()), "{ran:?}");
    }
    assert!(!again.dir().exists(), "it was collected");
}

#[test]
fn the_stop_of_a_program_whose_helpers_are_gone_harms_no_strangers_with_their_pids() {
    let world = World::new();
    let (strangers, living) = ([idle(), idle()], idle());
    let [guard, host] = strangers.each_ref().map(earlier);
    let scene = Scene::new(&world.home.path(), "reused02").served(&guard, &host, &identity(&living));
    assert_eq!(data(&world.abide.run(&["inspect", "--json", scene.id()]))["status"], "unattended");
    let stopped = world.abide.run(&["stop", "--grace", "1s", scene.id()]);
    assert_eq!(stopped.code(), Some(0), "{stopped:?}");
    assert!(!living.observer().lives(), "the program was not stopped");
    assert!(strangers.iter().all(|stranger| stranger.observer().lives()), "{stopped:?}");
}

#[test]
fn a_forced_removal_leaves_nothing_whatever_the_program_and_its_kin_ignore() {
    let world = World::new();
    let _path = world.home.config("grace = '100ms'\n");
    let life = world.live(&["ignore TERM HUP INT", "fork ignore TERM HUP INT ; print here ; hang", "hang"]);
    life.until_shown("here");
    let shown = world.shown(&life.id);
    let forked = shown.split_whitespace().skip_while(|word| *word != "forked").nth(1).expect("a pid");
    let forked = Doomed(Observer::of(forked.parse().expect("a number")));
    let helpers = ["guard", "host"].map(|who| life.helper(who, None));
    let removed = data(&world.abide.run(&["rm", "--json", "--force", &life.id]));
    assert_eq!(removed["removed"], serde_json::json!([life.id]), "{removed}");
    assert_eq!(life.program.0.ending(), Some(Ending::Signaled { signal: 9, core: false }));
    assert!(!forked.0.lives() && world.in_sessions().is_empty());
    helpers.iter().for_each(Observer::await_end);
    for again in [&["rm", "--force", &life.id][..], &["type", &life.id, "x"], &["inspect", &life.id]] {
        let ran = world.abide.run(&[&["--json"], again].concat());
        assert_eq!(
            (ran.code(), &ran.json()["error"]["code"]),
            (Some(3), &"no_such_session".into()),
            "{ran:?}"
        );
    }
}

#[test]
fn a_program_on_pipes_is_over_although_what_it_left_behind_keeps_them_open() {
    let world = World::new();
    let script = "sleep 1000 & echo $!; exit 3";
    let id = world.launch(&["--no-tty"], &["sh", "-c", script]);
    let (code, told) = world.wait(&id);
    let left: u32 = world.shown(&id).trim().parse().expect("a pid");
    let _left = Doomed(Observer::of(left));
    assert_eq!((code, &told["outcome"]["observed_by"]), (Some(3), &"guard".into()), "{told}");
    assert_eq!(world.inspect(&id)["survivors"][0]["pid"], left);
    let mut passed_on = world.abide.command(&["run", "--no-tty", "--", "sh", "-c", script]);
    let ran = Ran::of(passed_on.stdin(Stdio::null()));
    let _left = Doomed(Observer::of(ran.stdout.trim().parse().expect("a pid")));
    assert_eq!(ran.code(), Some(3), "{ran:?}");
}

#[test]
fn every_command_says_that_there_is_no_such_session_before_it_minds_the_rest() {
    let world = World::new();
    let life = world.live(&["hang"]);
    for command in [
        &["inspect", "nobody"][..],
        &["why", "nobody"],
        &["wait", "nobody"],
        &["stop", "nobody"],
        &["signal", "NONE", "nobody"],
        &["attach", "nobody"],
        &["type", "nobody", "x"],
        &["paste", "nobody", "x"],
        &["keys", "nobody", "NoKey"],
        &["resize", "nobody", "0x0"],
        &["exec", "nobody", "--", "true"],
        &["batch", "nobody", "snapshot"],
        &["logs", "nobody"],
        &["events", "nobody"],
        &["snapshot", "nobody", "--at", "+1s"],
        &["screenshot", "nobody", "-o", "none.png"],
        &["diff", "nobody", "--from", "+1s"],
        &["mark", "nobody", "x"],
        &["marks", "nobody"],
        &["export", "nobody", "-o", "none.cast"],
        &["play", "nobody"],
        &["upgrade", "nobody"],
        &["rm", "nobody"],
        &["rm", "nobody", &life.id],
        &["result", "set", "success", "--session", "nobody"],
    ] {
        let ran = world.abide.run(&[&["--json"], command].concat());
        let (code, answer) = (ran.code(), ran.json());
        // Those that pass on a program's code leave the others to it.
        let passes_on = ["wait", "exec"].contains(&command[0]);
        assert_eq!(code, Some(if passes_on { 125 } else { 3 }), "{command:?} {ran:?}");
        let error = &answer["error"];
        assert_eq!(
            (&error["code"], &answer["ok"]),
            (&"no_such_session".into(), &Value::Bool(false)),
            "{ran:?}"
        );
        assert!(error["hint"].is_string() && ran.stderr.is_empty(), "{ran:?}");
    }
    assert!(life.program.0.lives());
}

#[test]
fn a_signal_reaches_the_program_as_any_would_and_is_no_stop() {
    let world = World::new();
    let life = world.live(&["trap-exit TERM 9", "print ready", "hang"]);
    life.until_shown("ready");
    let sent = data(&world.abide.run(&["signal", "--json", "TERM", &life.id]));
    let (code, told) = world.wait(&life.id);
    assert_eq!(life.program.0.ending(), Some(Ending::Exited(9)), "{sent}");
    assert_eq!((code, &told["outcome"]["kind"]), (Some(9), &"exited".into()), "{told}");
    assert_eq!((world.told(&life.id, "signalled").len(), world.told(&life.id, "stop_asked").len()), (1, 0));
    let signals = ["WINCH", "CONT"].map(|name| world.abide.run(&["signal", name, &life.id]).code());
    assert_eq!(signals, [Some(5), Some(5)], "there is nobody to send it to");
}
