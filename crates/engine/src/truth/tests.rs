//! Reading while others write: what is not read yet is not missing.

use abide_core::evidence::{Body, How};
use abide_core::identity::{Identity, SystemId};
use abide_testkit::ScratchHome;
use abide_testkit::scene::Scene;

use super::*;

#[test]
fn what_the_guard_wrote_between_the_reading_of_log_and_slot_is_not_taken_for_missing() {
    let (home, truth) = (ScratchHome::new(), Truth::new());
    let us = truth.identify(std::process::id()).expect("we live");
    // Nobody is started for it, for others count who is below us; what has no number of its own denies no end.
    let program = Identity { pidfs: None, ..us };
    let scene = Scene::new(&home.path(), "ending00").served(&us, &us, &program);
    let dir = SessionDir::from_trusted(abide_sys::disk::PrivateDir::open(scene.dir()).expect("it is ours"));
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
    let dir = SessionDir::from_trusted(abide_sys::disk::PrivateDir::open(scene.dir()).expect("it is ours"));
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
