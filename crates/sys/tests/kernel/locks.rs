//! Lifetime locks, held by real processes: seen from everywhere, disturbed by nobody, gone with their holder.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use abide_core::evidence::notification::Receiver;
use abide_core::identity::Lock;
use abide_sys::disk::file_id;
use abide_sys::lock::{self, Holder};
use abide_testkit::deadline::until;
use abide_testkit::namespace::{drill, inside, start_drill};
use abide_testkit::observer::Doomed;
use abide_testkit::{Ending, Observer, Running, ScratchDir, bin};
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::process::Signal;

/// A file, and a process that holds the guard's lock on it and then does some steps.
struct Held {
    scratch: ScratchDir,
    path: PathBuf,
    holder: Running,
}

fn held(steps: &[&str]) -> Held {
    let scratch = ScratchDir::new();
    let path = scratch.file("evidence", "facts");
    let hold = format!("hold {} guard", path.display());
    let mut holder = start_drill(&[&[hold.as_str()], steps].concat());
    assert_eq!(holder.line(), "held true");
    Held { scratch, path, holder }
}

fn ask(path: &PathBuf, holder: Holder) -> Lock {
    lock::ask(&File::open(path).expect("the file can be read"), holder)
}

#[test]
fn a_held_lock_is_seen_by_other_processes_and_is_one_holders_only() {
    let held = held(&["wait-line"]);
    let asked = [Holder::Guard, Holder::Host, Holder::Sealer].map(|holder| ask(&held.path, holder));
    assert_eq!(asked, [Lock::Held, Lock::Silent, Lock::Silent]);
    let path = held.path.display();
    assert_eq!(
        drill(&[&format!("hold {path} guard"), &format!("hold {path} host")]),
        ["held false", "held true"]
    );
}

#[test]
fn locks_that_one_file_holds_side_by_side_are_seen_and_given_back_one_by_one() {
    let scratch = ScratchDir::new();
    let path = scratch.file("evidence", "facts");
    let file = File::options().read(true).write(true).open(&path).expect("it can be written");
    let [courier, delivery] = [Holder::Courier(Receiver::Webhook), Holder::Delivery(Receiver::Webhook)];
    let neighbours = [Holder::Declarer, courier, delivery];
    for holder in neighbours {
        assert!(lock::take(&file, holder).expect("it can be locked"));
    }
    let asked = || neighbours.map(|holder| ask(&path, holder));
    assert_eq!(asked(), [Lock::Held; 3]);
    assert_eq!(
        [Holder::Delivery(Receiver::Command), Holder::Resumer].map(|holder| ask(&path, holder)),
        [Lock::Silent; 2]
    );
    lock::give_back(&file, courier);
    assert_eq!(asked(), [Lock::Held, Lock::Silent, Lock::Held]);
}

#[test]
fn a_held_lock_is_seen_from_another_pid_and_mount_namespace() {
    let held = held(&["wait-line"]);
    let elsewhere = held.scratch.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let steps = [
        format!("lock {} guard", held.path.display()),
        format!("bind {} {}", held.scratch.path().display(), elsewhere.display()),
        format!("lock {}/evidence guard", elsewhere.display()),
    ];
    let steps = steps.each_ref().map(String::as_str);
    assert_eq!(inside(&["--pid", "--mount-proc", "--mount"], &steps), ["Held", "Held"]);
}

#[test]
fn a_lock_is_free_as_soon_as_its_holder_is_killed() {
    let mut held = held(&["wait-line"]);
    held.holder.signal(Signal::KILL);
    held.holder.observer().await_end();
    assert_eq!(ask(&held.path, Holder::Guard), Lock::Silent);
    assert_eq!(drill(&[&format!("hold {} guard", held.path.display())]), ["held true"]);
    assert_eq!(held.holder.reap(), Ending::Signaled { signal: 9, core: false });
}

#[test]
fn a_stopped_holder_keeps_its_lock() {
    let held = held(&["wait-line"]);
    held.holder.signal(Signal::STOP);
    held.holder.observer().await_stop();
    assert_eq!(ask(&held.path, Holder::Guard), Lock::Held);
}

#[test]
fn a_program_that_the_holder_starts_does_not_inherit_the_lock() {
    let mut held = held(&[&format!("start {} hang", bin("fake-agent").display()), "wait-line"]);
    let started = held.holder.until("started");
    let program = Doomed(Observer::of(started.rsplit_once(' ').unwrap().1.parse().unwrap()));
    held.holder.kill();
    // A starter goes on a moment before the exec has closed what is to be closed.
    until("the lock is free", || ask(&held.path, Holder::Guard) == Lock::Silent);
    assert!(program.0.lives());
}

#[test]
fn a_copied_file_proves_nothing_and_another_name_of_the_file_proves_the_same() {
    let held = held(&["wait-line"]);
    let (copy, link) = (held.scratch.join("copy"), held.scratch.join("link"));
    fs::copy(&held.path, &copy).unwrap();
    fs::hard_link(&held.path, &link).unwrap();
    let id = |path: &PathBuf| file_id(File::open(path).unwrap()).unwrap();
    assert_ne!(id(&copy), id(&held.path));
    assert_eq!(ask(&copy, Holder::Guard), Lock::Silent);
    assert_eq!(id(&link), id(&held.path));
    assert_eq!(ask(&link, Holder::Guard), Lock::Held);
}

#[test]
fn asking_never_disturbs_one_who_takes_the_lock() {
    let scratch = ScratchDir::new();
    let path = scratch.file("evidence", "");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = File::open(&path).unwrap();
            while !over.load(Ordering::Relaxed) {
                assert!(matches!(lock::ask(&file, Holder::Guard), Lock::Held | Lock::Silent));
            }
        });
        let taken = drill(&[&format!("take {} guard 1000", path.display())]);
        over.store(true, Ordering::Relaxed);
        assert_eq!(taken, ["taken 1000"]);
    });
}

#[test]
fn a_lock_that_is_given_back_is_free_although_a_fork_still_has_its_file_open() {
    let scratch = ScratchDir::new();
    let path = scratch.file("evidence", "");
    let file = File::options().append(true).open(&path).unwrap();
    let inherited = file.try_clone().unwrap();
    assert!(lock::take(&file, Holder::Sealer).unwrap());
    lock::give_back(&file, Holder::Sealer);
    drop(file);
    assert_eq!(ask(&path, Holder::Sealer), Lock::Silent);
    drop(inherited);
}

#[test]
fn a_lock_of_another_kind_is_nobody_s_life() {
    let scratch = ScratchDir::new();
    let path = scratch.file("evidence", "");
    let file = File::options().read(true).write(true).open(&path).unwrap();
    for operation in [FlockOperation::NonBlockingLockShared, FlockOperation::NonBlockingLockExclusive] {
        fcntl_lock(&file, operation).unwrap();
        for holder in [Holder::Guard, Holder::Host] {
            assert_eq!(ask(&path, holder), Lock::Silent, "someone locked all of the file");
        }
    }
}

#[test]
fn sealers_take_turns() {
    let scratch = ScratchDir::new();
    let (path, counter) = (scratch.file("evidence", ""), scratch.file("counter", "0"));
    let count = format!("count-in-turn {} {} 100", path.display(), counter.display());
    let mut sealers: Vec<Running> = (0..4).map(|_| start_drill(&[&count])).collect();
    let endings: Vec<Ending> = sealers.iter_mut().map(Running::reap).collect();
    assert_eq!(endings, [Ending::Exited(0); 4]);
    assert_eq!(fs::read_to_string(&counter).unwrap(), "400");
}
