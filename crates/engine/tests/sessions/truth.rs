//! Evidence read while it is written, and locks that speak.

use std::process::Command;

use abide_core::evidence::frame::encode;
use abide_core::evidence::{Body, Ended, Fact, How, Observer, Outcome, Role, Witness};
use abide_core::id::SessionId;
use abide_core::identity::Identity;
use abide_core::verdict::Rule;
use abide_engine::{Session, Sessions};
use abide_sys::lock::Holder;
use abide_testkit::deadline::Deadline;
use abide_testkit::scene::{Scene, dead, identity};
use abide_testkit::{Running, ScratchHome};

fn ask(sessions: &Sessions, id: &str) -> Session {
    sessions.find(id).expect("it is there")
}

/// What a guard writes last.
fn last_word(guard: u32, scene: &Scene) -> Vec<u8> {
    let text = String::from_utf8(scene.bytes()).expect("facts are text");
    let first = text.lines().find_map(|line| line.split('"').nth(5)).expect("a witness");
    let witness =
        Witness { role: Role::Guard, pid: guard, boot: Witness::parse(first).expect("a witness").boot };
    let outcome = Outcome { how: How::Exited { code: 7 }, observed_by: Some(Observer::Guard), cause: None };
    let body = Body::Ended(Box::new(Ended::of(outcome)));
    let at = scene.next_at();
    encode(&Fact { witness, seq: text.matches("guard:").count() as u64 + 1, at, body }).expect("a frame")
}

/// The stand-in is guard, host and program in one: it writes the end and dies at once. Whoever sees it dead must see
/// what it wrote.
#[test]
fn whoever_is_found_dead_had_written_all_it_would_ever_write() {
    const ROUNDS: usize = 100;
    let home = ScratchHome::new();
    for round in 0..ROUNDS {
        let id = format!("dying{round:03}");
        let script = "read go; cat \"$0\" >> \"$1\"";
        let (frame, log) = (home.around().join(&id), home.path().join("sessions").join(&id).join("evidence"));
        let mut guard = Running::start(Command::new("sh").args(["-c", script]).arg(&frame).arg(&log));
        let process = identity(&guard);
        // What has no number of its own denies no end: here the program writes its own.
        let program = Identity { pidfs: None, ..process };
        let scene = Scene::new(&home.path(), &id).served(&process, &process, &program);
        let text = String::from_utf8(last_word(guard.pid(), &scene)).unwrap();
        let _frame = home.around().file(&id, &text);
        let sessions = Sessions::open(&home.path()).unwrap();
        assert!(ask(&sessions, &id).verdict.status.is_commandable(), "round {round}");
        guard.tell("go");
        let deadline = Deadline::start();
        loop {
            let session = ask(&sessions, &id);
            let verdict = &session.verdict;
            if verdict.status.is_terminal() {
                assert_eq!(
                    verdict.codes.exit,
                    Some(7),
                    "round {round}: {:?} {:#?}",
                    verdict.rule,
                    session.because()
                );
                break;
            }
            assert_eq!(verdict.status.name(), "running", "round {round}: {:?}", verdict.rule);
            assert!(!deadline.is_over(), "it does not end");
        }
    }
}

#[test]
fn a_held_lock_is_life_but_only_on_the_very_file_that_was_recorded() {
    let (home, copy) = (ScratchHome::new(), ScratchHome::new());
    let gone = dead();
    let scene = Scene::new(&home.path(), "locked00").served(&gone, &gone, &gone).held(Holder::Guard);
    let copied = Scene::new(&copy.path(), "locked00").bytes_added(&scene.bytes()).held(Holder::Guard);
    let of = |home: &ScratchHome| ask(&Sessions::open(&home.path()).unwrap(), "locked00");
    let (here, there) = (of(&home), of(&copy));
    assert!(here.seen.guard.is_alive() && here.verdict.status.has_live_host(), "{:?}", here.verdict.rule);
    assert!(there.seen.guard.is_dead() && there.verdict.rule == Rule::Damaged, "{:?}", there.verdict.rule);
    drop(scene);
    assert!(of(&home).seen.guard.is_dead(), "a lock ends with its holder");
    drop(copied);
}

#[test]
fn reading_changes_neither_bytes_nor_times() {
    let home = ScratchHome::new();
    let gone = dead();
    let scene = Scene::new(&home.path(), "lost0000").served(&gone, &gone, &gone);
    let look = || {
        let meta = std::fs::metadata(scene.evidence()).unwrap();
        let files = std::fs::read_dir(scene.dir()).unwrap().count();
        (scene.bytes(), meta.modified().unwrap(), files, std::fs::read_dir(home.path()).unwrap().count())
    };
    let before = look();
    let sessions = Sessions::open(&home.path()).unwrap();
    let id = SessionId::parse("lost0000").unwrap();
    assert_eq!(sessions.list().unwrap().len(), 1);
    assert_eq!(ask(&sessions, id.as_str()).verdict.status.name(), "lost");
    assert_eq!(sessions.recording(&id), None);
    assert_eq!(look(), before);
}

#[test]
fn many_sessions_are_each_told_once_and_in_order() {
    let home = ScratchHome::new();
    let gone = dead();
    for n in 0..300 {
        drop(Scene::new(&home.path(), &format!("many{n:04}")).served(&gone, &gone, &gone));
    }
    let listed = Sessions::open(&home.path()).unwrap().list().unwrap();
    let mut ids: Vec<String> = listed.iter().map(|session| session.id.to_string()).collect();
    let launched = |session: &Session| session.evidence.beginning.launched.as_ref().map(|told| told.at.boot);
    assert!(listed.is_sorted_by_key(|session| std::cmp::Reverse(launched(session))));
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 300);
}
