//! Cgroups of the real kernel, and systemd's files about logins in a scratch tree. Where the kernel gives us no
//! cgroup, the answer must be that there is none.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

use abide_sys::cgroup::{self, Cgroup};
use abide_sys::login;
use abide_sys::probe::Probe;
use abide_sys::spawn::{self, Gated, Image, Stdio};
use abide_testkit::deadline::until;
use abide_testkit::{Observer, ScratchCgroup, ScratchDir, bin};

/// A fake agent at its gate, born in a cgroup.
fn born_in(cgroup: &Cgroup, steps: &[&str]) -> Gated {
    let text = |text: &str| std::ffi::CString::new(text).expect("no null in it");
    let agent = bin("fake-agent");
    let agent = agent.to_str().expect("it is text");
    let image = Image {
        paths: vec![text(agent)],
        argv: [&[agent][..], steps].concat().into_iter().map(text).collect(),
        env: Vec::new(),
        cwd: text("/"),
    };
    let null = fs::File::options().read(true).write(true).open("/dev/null").expect("it is always there");
    let dir = cgroup.open().expect("it is there");
    spawn::gated(&image, Stdio::Pipes([null.as_fd(); 3]), Some(dir.as_fd())).expect("it may be born there")
}

fn pids(cgroup: &Cgroup, nested: bool) -> Vec<u32> {
    cgroup.members().into_iter().filter(|member| member.nested == nested).map(|member| member.pid).collect()
}

/// What is said of where nothing is delegated: each question has an answer, and none is a panic.
fn check_refused() {
    let own = cgroup::paths().unified.as_deref().and_then(Cgroup::at);
    let Some(own) = own else { return };
    assert!(!own.is_delegated(), "a cgroup could not be made where it is said to be delegated");
    assert!(own.of_session("nothing").make().is_err() && !own.of_session("nothing").exists());
}

#[test]
fn a_process_is_born_in_a_cgroup_and_its_whole_kin_is_found_and_killed_there() {
    let Some(scratch) = ScratchCgroup::new() else { return check_refused() };
    let session = scratch.cgroup().of_session("one");
    session.make().expect("it is delegated");
    assert!(session.is_of_session("one") && !session.is_of_session("on"));
    assert_eq!(scratch.cgroup().sessions(), std::slice::from_ref(&session));
    assert_eq!((session.is_populated(), session.members()), (Some(false), Vec::new()));
    let gated = born_in(&session, &["daemon hang", "hang"]);
    let program = Observer::of(gated.pid);
    assert_eq!(pids(&session, false), [gated.pid], "it is there before its exec");
    gated.open().expect("it execs");
    // The one between them has ended, so nothing but the cgroup connects the two.
    let mut daemon = None;
    until("only the two are there", || {
        let others: Vec<u32> =
            pids(&session, false).into_iter().filter(|pid| *pid != program.pid()).collect();
        let parent = others.first().and_then(|pid| Probe::new().parent(*pid));
        let apart = others.len() == 1 && parent.is_some_and(|parent| parent != program.pid());
        daemon = others.first().filter(|_| apart).copied().and_then(Observer::find);
        daemon.is_some()
    });
    let daemon = daemon.expect("it was found");
    assert_eq!(session.remove().map_err(|error| error.kind()), Err(std::io::ErrorKind::ResourceBusy));
    let mut changes = session.changes().expect("it is there");
    assert!(!changes.await_empty(0) && session.is_populated() == Some(true));
    session.kill().expect("this kernel can");
    assert!(changes.await_empty(10_000), "the kill is waited for");
    assert!(!program.lives() && !daemon.lives());
    assert_eq!((session.members(), session.oom_kills().unwrap_or(0)), (Vec::new(), 0));
    session.remove().expect("it is empty");
    assert!(!session.exists() && changes.await_empty(0), "one that is gone is empty");
}

#[test]
fn the_processes_of_a_session_further_below_are_told_apart() {
    let Some(scratch) = ScratchCgroup::new() else { return check_refused() };
    let outer = scratch.cgroup().of_session("outer");
    outer.make().expect("it is delegated");
    let part = scratch.below("abide-outer/part");
    let inner = outer.of_session("inner");
    inner.make().expect("it is delegated");
    let gates = [&outer, &part, &inner].map(|place| born_in(place, &["hang"]));
    let mut ours = pids(&outer, false);
    ours.sort_unstable();
    let mut expected = [gates[0].pid, gates[1].pid];
    expected.sort_unstable();
    assert_eq!((ours.as_slice(), pids(&outer, true)), (&expected[..], vec![gates[2].pid]));
    assert!(outer.remove().is_err(), "somebody is in it");
    assert!(inner.exists() && part.exists(), "what is in use below it stays");
    let mut changes = outer.changes().expect("it is there");
    // Whoever waits at a gate exits when the gate is gone.
    drop(gates);
    assert!(changes.await_empty(10_000));
    outer.remove().expect("all of it is empty");
}

#[test]
fn a_cgroup_that_is_not_there_is_none() {
    assert_eq!(Cgroup::at("/no/such/cgroup/anywhere"), None);
    if let Some(scratch) = ScratchCgroup::new() {
        let gone = scratch.cgroup().of_session("gone");
        assert_eq!((gone.is_populated(), gone.members()), (None, Vec::new()));
        assert!(gone.changes().is_err() && gone.open().is_err() && gone.remove().is_err());
    }
}

/// A tree of files as systemd reads them.
fn tree(files: &[(&str, &str)]) -> ScratchDir {
    let root = ScratchDir::new();
    for (path, text) in files {
        fs::create_dir_all(root.join(path).parent().expect("it has one")).expect("there is room");
        let _ = root.file(path, text);
    }
    root
}

#[test]
fn who_lingers_is_a_file_and_whose_it_is_stands_in_passwd() {
    let root = tree(&[
        ("etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n"),
        ("var/lib/systemd/linger/ann", ""),
    ]);
    assert_eq!(login::user_name(root.path(), 1000).as_deref(), Some("ann"));
    assert_eq!(login::user_name(root.path(), 1001), None);
    assert_eq!(login::lingers(root.path(), "ann"), Some(true));
    assert_eq!(login::lingers(root.path(), "bob"), Some(false));
    let nothing = ScratchDir::new();
    assert_eq!(login::user_name(nothing.path(), 0), None);
}

#[test]
fn what_logind_does_at_a_logout_is_read_in_the_order_of_systemd() {
    let kills = |files: &[(&str, &str)]| login::kills_left(tree(files).path(), "ann");
    let (yes, no) = ("[Login]\nKillUserProcesses=yes\n", "[Login]\nKillUserProcesses=no\n");
    assert_eq!(kills(&[]), None);
    assert_eq!(kills(&[("usr/lib/systemd/logind.conf", yes)]), Some(true));
    // Of the main files only the first counts.
    assert_eq!(kills(&[("usr/lib/systemd/logind.conf", yes), ("etc/systemd/logind.conf", no)]), Some(false));
    // Whatever directory they are in, added files count after it, in the order of their names.
    let added = "usr/lib/systemd/logind.conf.d/50-x.conf";
    assert_eq!(kills(&[("etc/systemd/logind.conf", no), (added, yes)]), Some(true));
    assert_eq!(kills(&[(added, yes), ("run/systemd/logind.conf.d/60-y.conf", no)]), Some(false));
    assert_eq!(kills(&[(added, yes), ("run/systemd/logind.conf.d/40-y.conf", no)]), Some(true));
    // Of one name the one in /etc counts, and an empty one hides the other.
    assert_eq!(kills(&[(added, yes), ("etc/systemd/logind.conf.d/50-x.conf", "")]), None);
    assert_eq!(kills(&[("etc/systemd/logind.conf.d/50-x.conf.off", yes)]), None);
    // This machine's own files can be read too, whatever they say.
    let _ = login::kills_left(Path::new("/"), "ann");
}
