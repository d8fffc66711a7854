//! Sealing, by the real binary: once, whoever tries at the same time or dies in the middle of it.

use std::path::Path;

use abide_core::evidence::How;
use abide_core::moment::Moment;
use abide_sys::clock;
use abide_sys::lock::Holder;
use abide_testkit::deadline::until;
use abide_testkit::scene::{Scene, before_reboot, dead, identity, idle};
use abide_testkit::trace::calls;
use abide_testkit::{Ran, Running};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Stage, proof, served};

/// Four processes each; the thousand times of the truth table are in the engine's tests, where they take a second.
const SESSIONS: usize = 100;
const ROUNDS: usize = 2;
const SEALERS: usize = 4;

fn lost(stage: &Stage, round: usize) -> Vec<Scene> {
    let gone = dead();
    (0..SESSIONS).map(|n| served(stage.scene(&format!("r{round:02}n{n:04}")), &gone)).collect()
}

fn seals(scene: &Scene) -> usize {
    String::from_utf8(scene.bytes()).expect("facts are text").matches("\"fact\":\"sealed\"").count()
}

fn mended(ran: &Ran) -> usize {
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    let answer = ran.json();
    let checks = answer["data"]["checks"].as_array().expect("checks");
    checks.iter().filter(|check| check["health"] == "mended").count()
}

#[test]
fn of_many_sealers_at_once_exactly_one_closes_a_session() {
    for round in 0..ROUNDS {
        let stage = Stage::in_memory();
        let scenes = lost(&stage, round);
        let fix = || stage.abide.run(&["doctor", "--fix", "--json"]);
        let look = || stage.abide.run(&["ls", "-a", "--json"]);
        let ran: Vec<Ran> = std::thread::scope(|scope| {
            let sealers: Vec<_> = (0..SEALERS).map(|_| scope.spawn(fix)).collect();
            let looker = scope.spawn(look);
            let listed = looker.join().unwrap().json();
            let sessions = listed["data"]["sessions"].as_array().unwrap();
            assert!(sessions.iter().all(|session| session["status"] == "lost"), "{listed}");
            sealers.into_iter().map(|sealer| sealer.join().unwrap()).collect()
        });
        assert_eq!(ran.iter().map(mended).sum::<usize>(), SESSIONS);
        let sealed: Vec<Vec<u8>> = scenes.iter().map(Scene::bytes).collect();
        assert!(scenes.iter().all(|scene| seals(scene) == 1));
        assert_eq!(mended(&fix()), 0);
        assert!(scenes.iter().zip(&sealed).all(|(scene, bytes)| scene.bytes() == *bytes), "bytes changed");
    }
}

#[test]
fn a_killed_sealer_leaves_nothing_that_counts_twice() {
    let stage = Stage::in_memory();
    let scenes = lost(&stage, 0);
    let mut sealer = Running::start(&mut stage.abide.command(&["doctor", "--fix"]));
    until("a session is sealed", || scenes.iter().any(|scene| seals(scene) == 1));
    sealer.signal(Signal::KILL);
    sealer.reap();
    let left = scenes.iter().filter(|scene| seals(scene) == 0).count();
    assert_eq!(mended(&stage.abide.run(&["doctor", "--fix", "--json"])), left);
    assert!(scenes.iter().all(|scene| seals(scene) == 1));
}

// TRUTH 24
#[test]
fn a_sealer_that_is_killed_between_any_two_steps_leaves_a_session_that_is_sealed_once() {
    let killed: Vec<usize> = std::thread::scope(|scope| {
        let steps = ["write", "fdatasync"].map(|call| scope.spawn(|| killed_sealers(call)));
        steps.into_iter().map(|step| step.join().expect("it ran")).collect()
    });
    assert!(killed.iter().all(|killed| *killed > 0), "nobody was killed at one of them: {killed:?}");
}

/// Kills a sealer at its first such call, another one at its second, and so on; how many there were.
fn killed_sealers(call: &str) -> usize {
    let is_killed = |when: &usize| {
        let stage = Stage::in_memory();
        let scene = stage.over("lost0000");
        let kill = format!("inject={call}:signal=KILL:when={when}");
        let command = stage.abide.command(&["doctor", "--fix"]);
        let log = stage.home.around().join("calls");
        let (ran, _) = calls(&command, &["-e", &format!("trace={call}"), "-e", &kill], &log);
        let session = stage.inspect("lost0000");
        assert_eq!((&session["status"], &session["wait_code"]), (&"lost".into(), &125.into()), "{session}");
        let (before, sealed) = (scene.bytes(), seals(&scene));
        let fix = stage.abide.run(&["doctor", "--fix", "--json"]);
        assert_eq!((mended(&fix), seals(&scene)), (1 - sealed, 1), "{call} {when}: {ran:?}");
        assert!(sealed == 0 || scene.bytes() == before, "{call} {when}: the bytes changed");
        ran.code().is_none()
    };
    (1..).take_while(is_killed).count()
}

#[test]
fn sealing_keeps_the_verdict_and_tells_who_closed_it() {
    let stage = Stage::new();
    let scene = stage.over("lost0000");
    let _ended = stage.over("exited00").ended(How::Exited { code: 0 });
    assert_eq!(stage.rule("lost0000"), "all_dead");
    let advice = stage.text(&["doctor"]);
    assert!(
        advice.contains("! seal: session lost0000 is over and not sealed")
            && advice.contains("fix: abide doctor --fix")
    );
    assert_eq!(seals(&scene), 0, "looking seals nothing");
    assert!(stage.text(&["doctor", "--fix"]).contains("+ seal: session lost0000 sealed"));
    let session = stage.inspect("lost0000");
    assert_eq!((&session["status"], stage.rule("lost0000").as_str()), (&"lost".into(), "sealed_lost"));
    assert_eq!((&session["outcome"]["observed_by"], &session["exit_code"]), (&"sealed".into(), &Value::Null));
}

/// Row 54.
#[test]
fn an_old_turn_is_working_while_its_owner_lives_stuck_where_that_cannot_be_told_and_never_sealed() {
    let stage = Stage::new();
    let living = idle();
    let process = identity(&living);
    let mut unseen = process;
    unseen.pid_ns.ino += 1;
    let at = clock::now().wall - 3 * 3_600_000;
    let scenes = [("working0", process), ("stuck000", unseen)].map(|(id, owner)| {
        // Told on another boot, so that the hours are those of the wall.
        let scene = stage.scene(id).at(Moment { wall: at, boot: 0 }).on_boot_of(&before_reboot(&process));
        served(scene, &process).turn_opened(Some(owner))
    });
    let before = scenes.each_ref().map(Scene::bytes);
    let [working, stuck] = ["working0", "stuck000"].map(|id| stage.inspect(id));
    assert_eq!((&working["turn"], &working["stuck_since"]), (&"working".into(), &Value::Null));
    assert_eq!((&stuck["turn"], &stuck["status"]), (&"unknown".into(), &"running".into()));
    assert!(stuck["stuck_since"].is_string(), "{stuck}");
    let listed = stage.text(&["ls"]);
    let line = |id: &str| listed.lines().find(|line| line.starts_with(id)).expect("it is listed");
    assert!(line("stuck000").contains("running, stuck") && !line("working0").contains("stuck"), "{listed}");
    let fixed = stage.abide.run(&["doctor", "--fix", "--json"]);
    assert!(!fixed.stdout.contains("\"seal\"") && !fixed.stdout.contains("mended"), "{fixed:?}");
    assert_eq!(scenes.each_ref().map(Scene::bytes), before);
}

#[test]
fn a_removal_that_did_not_end_is_told_and_ended() {
    let stage = Stage::new();
    let half = stage.over("half0000").ended(How::Exited { code: 0 }).removing();
    let busy = stage.over("busy0000").ended(How::Exited { code: 0 }).removing().held(Holder::Sealer);
    assert!(stage.text(&["doctor"]).contains("! removal: session half0000 is to go: its removal began"));
    let again = stage.over("again000").ended(How::Exited { code: 0 }).removing();
    assert_eq!(stage.text(&["rm", "again000"]), "again000\n");
    let refused = stage.abide.run(&["rm", "busy0000"]);
    assert!(refused.stderr.contains("another removes it; if it stays, `abide rm busy0000`"), "{refused:?}");
    let mended = stage.text(&["doctor", "--fix"]);
    assert!(
        mended.contains("+ removal: session half0000 removed: its removal began and did not end"),
        "{mended}"
    );
    assert!(mended.contains("session busy0000 is being removed by another"), "{mended}");
    assert!(!half.dir().exists() && !again.dir().exists() && busy.dir().exists());
}

#[test]
fn a_copy_of_what_was_sealed_is_as_good_as_the_original() {
    let stage = Stage::new();
    let scene = stage.over("lost0000");
    assert_eq!(mended(&stage.abide.run(&["doctor", "--fix", "--json"])), 1);
    let copy = |from: &Path, to: &Path| {
        let copied = std::process::Command::new("cp").arg("-a").args([from, to]).status();
        assert!(copied.is_ok_and(|status| status.success()));
    };
    let other = stage.path().with_extension("copy");
    copy(&stage.path(), &other);
    let told = stage.abide.json(&["why", scene.id(), "--home", other.to_str().expect("it is text")]);
    assert_eq!(
        (&told["data"]["status"], &told["data"]["rule"]),
        (&"lost".into(), &"sealed_lost".into()),
        "{told}"
    );
    // Under the ID of another session it is nobody's record.
    copy(scene.dir(), &stage.path().join("sessions/copied00"));
    assert_eq!(stage.inspect("copied00")["status"], "unknown");
    assert!(proof(&stage.inspect("copied00")).contains("another session's record"));
}

#[test]
fn in_a_read_only_home_the_verdict_is_true_and_sealing_is_refused() {
    let stage = Stage::new();
    let scene = stage.over("lost0000");
    let listed = stage.read_only(&["ls", "-a", "--json"]);
    assert_eq!(listed.json()["data"]["sessions"][0]["status"], "lost", "{listed:?}");
    let refused = stage.read_only(&["doctor", "--fix", "--json"]);
    assert_eq!(refused.code(), Some(1), "{refused:?}");
    let answer = refused.json();
    let check =
        answer["data"]["checks"].as_array().unwrap().iter().find(|check| check["name"] == "seal").unwrap();
    assert_eq!((&check["health"], &check["session"]), (&"bad".into(), &"lost0000".into()), "{check}");
    assert_eq!(check["code"], "io", "{check}");
    assert!(check["fix"].as_str().unwrap().contains("writable"), "{check}");
    assert_eq!(seals(&scene), 0);
}
