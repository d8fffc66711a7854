//! Reading while others write: what is not read yet is not missing.

use abide_core::evidence::{Body, How};
use abide_core::identity::{Identity, SystemId};
use abide_testkit::ScratchHome;
use abide_testkit::scene::Scene;

use crate::store::Progress;

use super::*;

#[test]
fn what_the_guard_wrote_between_the_reading_of_log_and_slot_is_not_taken_for_missing() {
    let (home, truth) = (ScratchHome::new(), Truth::new());
    let us = truth.identify(std::process::id()).expect("we live");
    // Nobody is started for it, for others count who is below us; what has no number of its own denies no end.
    let program = Identity { pidfs: None, ..us };
    let scene = Scene::new(&home.path(), "ending00").served(&us, &us, &program);
    let dir = SessionDir::from_trusted(disk::PrivateDir::open(scene.dir()).expect("it is ours"));
    let mut reading = dir.read();
    let scene = scene.tell(Role::Guard, us.pid, Body::Noted("the terminal is drained".into()));
    let _scene = scene.ended_in_slot(How::Exited { code: 3 });
    let (evidence, _) = truth.settle(&mut reading);
    assert!(evidence.is_closed() && !evidence.is_damaged(), "{:?}", evidence.record.damage);
}

#[test]
fn a_record_on_another_device_of_the_same_boot_is_a_copy() {
    let (home, truth) = (ScratchHome::new(), Truth::new());
    let us = truth.identify(std::process::id()).expect("we live");
    let scene = Scene::new(&home.path(), "copied00").served(&us, &us, &us);
    let dir = SessionDir::from_trusted(disk::PrivateDir::open(scene.dir()).expect("it is ours"));
    let reading = dir.read();
    let is_copy = |dev: u64, here| {
        let mut evidence = reading.evidence();
        evidence.helpers.guarded.as_mut().expect("it has a guard").body.lock.dev += dev;
        note_copy(&mut evidence, reading.file().and_then(Record::of), here);
        evidence.is_damaged()
    };
    let other = SystemId::parse("0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d");
    assert!(!is_copy(0, Some(us.boot)));
    assert!(is_copy(1, Some(us.boot)));
    assert!(!is_copy(1, other), "devices get other numbers at a reboot");
}

#[test]
fn evidence_that_is_held_tells_an_end_alone_only_where_nothing_else_could_change_it() {
    let (home, truth) = (ScratchHome::new(), Truth::new());
    let us = truth.identify(std::process::id()).expect("we live");
    // What has no number of its own denies no end.
    let program = Identity { pidfs: None, ..us };
    let id = SessionId::parse("ending00").expect("it is an ID");
    let told = |name: &str, tell: &dyn Fn(Scene) -> Scene| {
        let scene = tell(Scene::new(&home.path(), name).served(&us, &us, &program));
        let file = File::open(scene.evidence()).expect("there is evidence");
        (scene, file)
    };
    let end_of = |file: &File| {
        let session = truth.end_of_held(&id, Progress::default().up_to_now(file).into_owned(), file);
        session.map(|session| session.verdict.codes.wait)
    };
    let ended = |scene: Scene| scene.ended(How::Exited { code: 3 });
    let (scene, file) = told("ending00", &ended);
    assert_eq!(end_of(&file), Some(Some(3)));
    std::fs::remove_dir_all(scene.dir()).expect("it is ours");
    assert_eq!(end_of(&file), None, "its name is gone: more is to be told than how it ended");
    for (name, tell) in [
        ("ending01", &ended as &dyn Fn(Scene) -> Scene),
        ("ending00", &|scene| scene),
        ("ending00", &|scene| ended(scene).bytes_added(b"garbage\n")),
        ("ending00", &|scene| ended(scene).removing()),
    ] {
        let (scene, file) = told(name, tell);
        assert_eq!(end_of(&file), None, "{:?}", String::from_utf8_lossy(&scene.bytes()));
        std::fs::remove_dir_all(scene.dir()).expect("it is ours");
    }
}

#[test]
fn a_log_that_is_read_as_it_grows_says_the_same_as_one_that_is_read_at_once() {
    let (home, truth) = (ScratchHome::new(), Truth::new());
    let us = truth.identify(std::process::id()).expect("we live");
    let scene = Scene::new(&home.path(), "ending00").served(&us, &us, &us).ended(How::Exited { code: 3 });
    let bytes = scene.bytes();
    let path = home.path().join("growing");
    let mut log = File::options().create_new(true).append(true).read(true).open(&path).expect("it is new");
    let mut progress = Progress::default();
    for (at, byte) in bytes.iter().enumerate() {
        std::io::Write::write_all(&mut log, std::slice::from_ref(byte)).expect("there is room");
        let so_far = progress.up_to_now(&log).into_owned();
        assert_eq!(so_far, crate::store::read_evidence(&log), "up to byte {at}");
    }
}
