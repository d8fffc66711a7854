//! Waiting: what happened since a session was found is not missed, and what rings without end is heard once.

use std::io::Write;
use std::process::{Child, Command};

use abide_core::evidence::How;
use abide_core::identity::Identity;
use abide_core::status::Status;
use abide_engine::{Sessions, Until};
use abide_sys::disk::PrivateDir;
use abide_sys::lock::Holder;
use abide_sys::probe::Probe;
use abide_testkit::ScratchHome;
use abide_testkit::deadline::until;
use abide_testkit::scene::Scene;

#[test]
fn an_end_between_finding_and_waiting_is_told_without_anyone_who_rings() {
    let home = ScratchHome::new();
    let us = Probe::new().identify(std::process::id()).expect("we live");
    // What has no number of its own denies no end.
    let program = Identity { pidfs: None, ..us };
    let scene = Scene::new(&home.path(), "ending00").served(&us, &us, &program).held(Holder::Guard);
    PrivateDir::open(scene.dir()).expect("it is ours").create_fifo("alive").expect("it is new");
    let sessions = Sessions::open(&home.path()).expect("the home is ours");
    let found = sessions.find("ending00").expect("it is there");
    assert_eq!(found.verdict.status, Status::Running);
    let _scene = scene.ended(How::Exited { code: 3 });
    let waited = sessions.wait(&[found], Until::All, Some(0));
    assert_eq!(waited[0].verdict.codes.wait, Some(3));
}

#[test]
fn an_end_that_is_rung_and_not_believed_is_not_heard_again_and_again() {
    let home = ScratchHome::new();
    let us = Probe::new().identify(std::process::id()).expect("we live");
    let scene = Scene::new(&home.path(), "ending00").served(&us, &us, &us).held(Holder::Guard);
    let dir = PrivateDir::open(scene.dir()).expect("it is ours");
    dir.create_fifo("alive").expect("it is new");
    let mut bell = dir.hold_fifo("alive").expect("it is there");
    let sessions = Sessions::open(&home.path()).expect("the home is ours");
    let mut waiting = sessions.watch(&[sessions.find("ending00").expect("it is there")]);
    let _scene = scene.ended(How::Exited { code: 3 });
    bell.write_all(b"!").expect("it is held");
    let before = used();
    let waited = waiting.wait(Until::All, Some(1_000));
    assert_eq!(waited[0].verdict.codes.wait, None, "we are alive");
    let took = used() - before;
    assert!(took < 30, "a second of waiting took {took} hundredths of a processor");
}

#[test]
fn where_guard_and_host_go_one_after_the_other_the_program_itself_is_watched() {
    let home = ScratchHome::new();
    let [mut guard, mut program] = [sleeper(), sleeper()];
    let [guarding, running] =
        [&guard, &program].map(|one| Probe::new().identify(one.id()).expect("it lives"));
    let scene = Scene::new(&home.path(), "ending00").served(&guarding, &guarding, &running);
    let scene = scene.held(Holder::Guard);
    let dir = PrivateDir::open(scene.dir()).expect("it is ours");
    dir.create_fifo("alive").expect("it is new");
    let bell = dir.hold_fifo("alive").expect("it is there");
    let sessions = Sessions::open(&home.path()).expect("the home is ours");
    let found = sessions.find("ending00").expect("it is there");
    let waited = std::thread::scope(|scope| {
        let mut waiting = sessions.watch(&[found]);
        let waiter = scope.spawn(move || waiting.wait(Until::All, Some(100_000)));
        // Its bell is gone first, as in the middle of its end.
        drop(bell);
        // Longer than a look at it takes.
        until("the program is watched", || (0..100).all(|_| is_held(program.id())));
        drop(scene);
        end(&mut guard);
        end(&mut program);
        waiter.join().expect("it waits")
    });
    assert_eq!(waited[0].verdict.status, Status::Lost);
}

fn sleeper() -> Child {
    Command::new("sleep").arg("1000").spawn().expect("it can be started")
}

fn end(process: &mut Child) {
    process.kill().expect("it is ours");
    process.wait().expect("it is ours");
}

/// Whether this process has a pidfd of another.
fn is_held(pid: u32) -> bool {
    let infos = std::fs::read_dir("/proc/self/fdinfo").expect("procfs").flatten();
    let pidfd = format!("Pid:\t{pid}\n");
    infos.filter_map(|info| std::fs::read_to_string(info.path()).ok()).any(|info| info.contains(&pidfd))
}

/// The hundredths of a second of a processor that this thread has used.
fn used() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("it is ours");
    let (_, fields) = stat.rsplit_once(')').expect("a name stands in brackets");
    let fields = fields.split_ascii_whitespace().skip(11).take(2);
    fields.map(|field| field.parse::<u64>().expect("it is a number")).sum()
}
