//! Launches: nobody who looks or clears away disturbs one, and a program has what it was given and nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use abide_testkit::Ran;
use abide_testkit::scene::{Scene, dead};

use crate::common::{World, data};

#[test]
fn launches_succeed_whoever_looks_and_clears_away_meanwhile() {
    const EACH: usize = 6;
    let world = World::new();
    let done = AtomicBool::new(false);
    let ids: Vec<String> = std::thread::scope(|scope| {
        for others in [&["ls", "-a"][..], &["gc", "--older", "1h"], &["doctor", "--fix"]] {
            let (world, done) = (&world, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    // What a doctor thinks of a machine is not asked here.
                    let ran = world.abide.run(others);
                    assert!(others[0] == "doctor" || ran.code() == Some(0), "{ran:?}");
                }
            });
        }
        let launch = || (0..EACH).map(|_| world.launch(&[], &["sh", "-c", "exit 7"])).collect::<Vec<_>>();
        let launched = [scope.spawn(launch), scope.spawn(launch)];
        let ids = launched.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>();
        done.store(true, Ordering::Relaxed);
        ids.into_iter().flat_map(|ids| ids.expect("it was launched")).collect()
    });
    assert_eq!(ids.len(), 2 * EACH);
    ids.iter().for_each(|id| assert_eq!(world.wait(id).0, Some(7), "{id}"));
}

#[test]
fn a_program_sees_what_it_was_given_and_only_the_names_of_that_are_on_record() {
    let world = World::new();
    let script = "test ${#GIVEN} = 8 && test \"$CALLERS\" = theirs && \
                  test \"$ABIDE_SESSION_DIR\" -ef \"$1/$ABIDE_SESSION\" && echo $TERM $COLORTERM";
    let sessions = world.home.path().join("sessions");
    let mut command = world.abide.command(&["run", "--wait", "--env", "GIVEN=a secret", "--", "sh", "-c"]);
    let ran =
        Ran::of(command.args([script, "sh"]).arg(sessions).env("CALLERS", "theirs").env("TERM", "dumb"));
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    let id = world.inspect("@last")["id"].as_str().expect("an ID").to_owned();
    assert_eq!(world.shown(&id), "xterm-256color truecolor\r\n");
    let named = ["--env", "TERM=vt100", "--env", "COLORTERM=", "--", "sh", "-c", "echo $TERM,$COLORTERM"];
    let own = world.abide.run(&[&["run", "--wait"], &named[..]].concat());
    assert_eq!(
        (own.code(), world.shown("@last").as_str()),
        (Some(0), "vt100,\r\n"),
        "who names one means it"
    );
    let evidence = fs::read_to_string(world.dir(&id).join("evidence")).expect("there is evidence");
    assert!(evidence.contains("GIVEN") && !evidence.contains("a secret"), "{evidence}");
    for none in ["GIVEN", "=x", ""] {
        let ran = world.abide.run(&["run", "-d", "--json", "--env", none, "--", "true"]);
        assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(2), &"usage".into()), "{ran:?}");
    }
}

#[test]
fn a_program_is_given_no_descriptor_but_its_own_three() {
    let world = World::new();
    for flags in [&["--wait"][..], &["--wait", "--no-tty"]] {
        // `ls` itself opens the directory.
        let script = "exec 7< /dev/zero 9> \"$1\"; shift; \"$0\" run \"$@\" -- ls /proc/self/fd";
        let ran = Ran::of(&mut world.bash(script, &[&[world.beside("open").as_str()], flags].concat()));
        assert_eq!(ran.code(), Some(0), "{ran:?}");
        let shown = world.abide.run(&["logs", "@last"]).stdout;
        assert_eq!(shown.split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3"], "{flags:?}");
    }
}

/// Every file and directory from here on down, with its mode.
fn modes(path: &Path, found: &mut Vec<(String, u32)>) {
    let meta = fs::symlink_metadata(path).expect("it is there");
    found.push((path.display().to_string(), meta.permissions().mode() & 0o7777));
    if meta.is_dir() {
        fs::read_dir(path).expect("it is ours").flatten().for_each(|entry| modes(&entry.path(), found));
    }
}

#[test]
fn nobody_else_may_touch_what_a_session_keeps_whatever_the_umask() {
    let world = World::new();
    let ran = Ran::of(&mut world.bash("umask 0; \"$0\" run -d -- cat", &[]));
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    let life = world.observe(ran.stdout.trim_end().to_owned());
    life.helper("host", None);
    assert_eq!(data(&world.abide.run(&["type", "--json", &life.id, "x", "--enter"]))["bytes"], 2);
    let mut found = Vec::new();
    modes(&world.home.path(), &mut found);
    assert!(found.iter().any(|(path, _)| path.ends_with("/socket")), "{found:?}");
    let open: Vec<_> = found.iter().filter(|(_, mode)| mode & 0o077 != 0).collect();
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_name_does_wherever_an_id_does() {
    let world = World::new();
    let life = world.observe(world.launch(&["--name", "box"], &["bash", "--norc"]));
    for command in [
        &["exec", "box", "--", "true"][..],
        &["type", "box", ":"],
        &["keys", "box", "Enter"],
        &["paste", "box", ":"],
        &["resize", "box", "90x20"],
        &["mark", "box", "here"],
        &["signal", "WINCH", "box"],
        &["snapshot", "box"],
        &["logs", "box"],
        &["inspect", "box"],
        &["why", "box"],
        &["marks", "box"],
        &["export", "box"],
        &["wait", "--cap", "1ms", "box"],
        &["stop", "--grace", "0s", "box"],
        &["rm", "box"],
    ] {
        let ran = world.abide.run(command);
        assert_eq!(ran.code(), Some(0), "{command:?} {ran:?}");
    }
    assert!(!life.program.0.lives() && world.in_sessions().is_empty());
}

#[test]
fn all_sessions_are_listed_however_many_there_are() {
    const MANY: usize = 300;
    let world = World::new();
    let (home, gone) = (world.home.path(), dead());
    let ids: Vec<String> = (0..MANY).map(|number| format!("many{number:04}")).collect();
    let _scenes: Vec<Scene> =
        ids.iter().map(|id| Scene::new(&home, id).served(&gone, &gone, &gone)).collect();
    let listed = world.abide.run(&["ls", "-aq"]).stdout;
    let mut listed: Vec<&str> = listed.lines().collect();
    listed.sort_unstable();
    assert_eq!(listed, ids);
}
