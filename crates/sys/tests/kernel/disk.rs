//! Files that can be trusted: who may own a directory, what a full disk takes, and who wins a name.

use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use abide_sys::disk::{self, PrivateDir, Slot};
use abide_testkit::namespace::{inside, start_drill};
use abide_testkit::{Ending, Running, ScratchDir};
use rustix::fs::{CWD, Mode, mkfifoat};

fn open(scratch: &ScratchDir) -> PrivateDir {
    PrivateDir::open(scratch.path()).expect("a scratch directory is private")
}

/// Why a directory is not trusted.
fn refusal(path: &Path) -> String {
    PrivateDir::open(path).expect_err("it must not be trusted").says()
}

/// A directory with a mode.
fn dir(scratch: &ScratchDir, name: &str, mode: u32) -> PathBuf {
    let path = scratch.join(name);
    let made = fs::create_dir(&path).and_then(|()| fs::set_permissions(&path, Permissions::from_mode(mode)));
    made.expect("a directory can be made");
    path
}

#[test]
fn a_directory_that_others_may_write_to_is_not_trusted() {
    let scratch = ScratchDir::new();
    for (mode, trusted) in [(0o700, true), (0o755, true), (0o770, false), (0o707, false), (0o1777, false)] {
        let path = dir(&scratch, &format!("{mode:o}"), mode);
        assert_eq!(PrivateDir::open(&path).is_ok(), trusted, "{mode:o}");
    }
    assert_eq!(refusal(&scratch.join("770")), "others may write to it (mode 770)");
}

#[test]
fn a_directory_of_another_user_is_not_trusted() {
    let scratch = ScratchDir::new();
    let (foreign, owner) = if rustix::process::geteuid().is_root() {
        let path = dir(&scratch, "foreign", 0o700);
        chown(&path, Some(65534), None).unwrap();
        (path, 65534)
    } else {
        (PathBuf::from("/"), 0)
    };
    assert_eq!(refusal(&foreign), format!("it belongs to uid {owner}"));
}

#[test]
fn a_link_is_not_followed_however_it_is_written() {
    let scratch = ScratchDir::new();
    let target = dir(&scratch, "target", 0o700);
    symlink(&target, scratch.join("link")).unwrap();
    for name in ["link", "link/", "link//", "link/."] {
        assert_eq!(refusal(&scratch.join(name)), "it is a link or not a directory", "{name}");
        assert!(PrivateDir::ensure(&scratch.join(name)).is_err(), "{name}");
        assert!(open(&scratch).open_below(name).is_err(), "{name}");
        assert!(open(&scratch).ensure_below(name).is_err(), "{name}");
    }
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    assert!(PrivateDir::open(&scratch.join("target/")).is_ok());
}

#[test]
fn what_is_no_directory_or_not_there_is_said_to_be_so() {
    let scratch = ScratchDir::new();
    assert_eq!(refusal(&scratch.file("file", "")), "it is a link or not a directory");
    assert_eq!(refusal(&scratch.join("none")), "it does not exist");
    assert_eq!(refusal(&scratch.join("none/below")), "it does not exist");
}

#[test]
fn a_directory_that_is_made_is_closed_to_everyone_else() {
    let scratch = ScratchDir::new();
    let path = scratch.join("a/b/home");
    PrivateDir::ensure(&path).unwrap().ensure_below("sessions").unwrap();
    PrivateDir::ensure(&path).unwrap();
    for made in [path.clone(), path.join("sessions")] {
        assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o700, "{}", made.display());
    }
}

#[test]
fn a_planted_fifo_link_or_directory_is_refused_at_once() {
    let scratch = ScratchDir::new();
    let private = open(&scratch);
    mkfifoat(CWD, scratch.join("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    assert!(fs::metadata(scratch.join("fifo")).unwrap().file_type().is_fifo());
    let target = scratch.file("target", "untouched");
    symlink(&target, scratch.join("link")).unwrap();
    dir(&scratch, "directory", 0o700);
    for name in ["fifo", "link", "directory"] {
        assert!(private.read(name).is_err(), "read {name}");
        assert!(private.append(name).is_err(), "append {name}");
        assert!(private.open_slot(name).is_err(), "open_slot {name}");
        let made = private.create_log(name, 0);
        assert_eq!(made.err().map(|error| error.kind()), Some(ErrorKind::AlreadyExists), "create {name}");
    }
    assert_eq!(fs::read_to_string(&target).unwrap(), "untouched");
}

#[test]
fn a_full_disk_takes_the_reserve_and_the_slot_and_refuses_all_else() {
    let scratch = ScratchDir::new();
    let home = scratch.path().display();
    let steps = [format!("tmpfs {home} size=64k,mode=0700"), format!("full-disk {home}")];
    let said = inside(&["--mount"], &steps.each_ref().map(String::as_str));
    let expected = [
        "append within the reserve: done",
        "append across its end: StorageFull",
        "append behind it: StorageFull",
        "fill the slot: done",
        "create a log: StorageFull",
        "create a slot: StorageFull",
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_slot_is_blank_when_made_and_takes_what_fits() {
    let scratch = ScratchDir::new();
    let private = open(&scratch);
    let slot = private.create_slot("outcome").unwrap();
    assert_eq!(fs::read(scratch.join("outcome")).unwrap(), [b'\n'; Slot::SIZE]);
    assert!(private.create_slot("outcome").is_err());
    assert_eq!(slot.fill(&[b'x'; Slot::SIZE + 1]).unwrap_err().kind(), ErrorKind::FileTooLarge);
    private.open_slot("outcome").unwrap().fill(b"ended").unwrap();
    let filled = fs::read(scratch.join("outcome")).unwrap();
    assert_eq!((filled.len(), &filled[..6]), (Slot::SIZE, &b"ended\n"[..]));
}

#[test]
fn what_many_append_at_once_does_not_mix() {
    let scratch = ScratchDir::new();
    drop(open(&scratch).create_log("evidence", 0).unwrap());
    std::thread::scope(|scope| {
        for writer in b'a'..=b'h' {
            let file = open(&scratch).append("evidence").unwrap();
            scope.spawn(move || {
                for _ in 0..100 {
                    disk::append(&file, &[&[writer; 499][..], b"\n"].concat()).unwrap();
                }
            });
        }
    });
    let text = fs::read_to_string(scratch.join("evidence")).unwrap();
    assert_eq!(text.lines().count(), 800);
    assert!(
        text.lines().all(|line| line.len() == 499 && line.bytes().all(|byte| byte == line.as_bytes()[0]))
    );
}

#[test]
fn a_name_that_many_threads_want_goes_to_exactly_one_and_is_never_replaced() {
    let scratch = ScratchDir::new();
    for round in 0..50 {
        let name = format!("name-{round}");
        let won: Vec<String> = std::thread::scope(|scope| {
            let (scratch, name) = (&scratch, &name);
            let contender = move |number: u32| {
                let own = format!("{name}-by-{number}");
                let _ = scratch.file(&own, &own);
                open(scratch).publish(&own, name).unwrap().then_some(own)
            };
            let all: Vec<_> = (0..8).map(|number| scope.spawn(move || contender(number))).collect();
            all.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(won.len(), 1, "{won:?}");
        assert_eq!(fs::read_to_string(scratch.join(&name)).unwrap(), won[0]);
    }
}

#[test]
fn a_name_that_many_processes_want_goes_to_exactly_one() {
    let scratch = ScratchDir::new();
    let step = format!("publish {} name 100", scratch.path().display());
    let mut contenders: Vec<Running> = (0..4).map(|_| start_drill(&[&step])).collect();
    let won = contenders.iter_mut().map(|contender| {
        let said = contender.until("won");
        assert_eq!(contender.reap(), Ending::Exited(0));
        said.rsplit_once(' ').unwrap().1.parse::<u32>().unwrap()
    });
    assert_eq!(won.sum::<u32>(), 100);
}

#[test]
fn a_directory_is_published_once_and_whole() {
    let scratch = ScratchDir::new();
    let private = open(&scratch);
    let _ = fs::create_dir(scratch.join("first"))
        .and_then(|()| File::create(scratch.join("first/fact")))
        .unwrap();
    dir(&scratch, "second", 0o700);
    assert!(private.publish("first", "k3v9q2zr").unwrap());
    assert!(!private.publish("second", "k3v9q2zr").unwrap());
    assert!(scratch.join("k3v9q2zr/fact").exists() && scratch.join("second").exists());
    assert!(private.publish("none", "other").is_err());
}

#[test]
fn a_directory_is_removed_although_another_still_adds_to_it() {
    let scratch = ScratchDir::new();
    let parent = PrivateDir::open(scratch.path()).unwrap();
    for _ in 0..20 {
        let below = parent.ensure_below("gone").unwrap();
        std::thread::scope(|scope| {
            // As long as there is a directory to add to.
            scope.spawn(|| while below.replace("view", b"{}").is_ok() {});
            parent.remove_tree("gone").unwrap();
        });
        assert!(!scratch.join("gone").exists());
    }
}

#[test]
fn a_file_that_could_not_be_replaced_is_as_it_was_and_leaves_nothing_beside_it() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(ErrorKind::StorageFull.into())
        }
    }
    let scratch = ScratchDir::new();
    let dir = open(&scratch);
    dir.replace("notify", b"before").expect("there is room");
    assert_eq!(dir.replace_with("notify", &mut Broken).map_err(|e| e.kind()), Err(ErrorKind::StorageFull));
    assert_eq!(dir.names().expect("it is ours"), ["notify"]);
    assert_eq!(fs::read(scratch.join("notify")).expect("it is there"), b"before");
}
