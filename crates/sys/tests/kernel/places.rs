//! Where a question is asked from: other namespaces, a `/proc` that hides or belongs to others, another boot, another
//! machine. Never a death that is none; what cannot be told is said to be so.

use std::path::Path;

use abide_core::identity::{Doubt, Identity, Liveness, Lock};
use abide_sys::probe::Probe;
use abide_testkit::drill::{MEANS, ask, identify, said};
use abide_testkit::namespace::{drill, inside, lines, start_drill, start_inside, unshare_as_root};
use abide_testkit::{Running, ScratchDir, bin};

const NEW_PIDS: [&str; 2] = ["--pid", "--mount-proc"];
const OTHER_ID: &str = "00000000-0000-4000-8000-00000000abcd\n";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const MACHINE_ID: &str = "/etc/machine-id";

/// Asks about one process with each of the means, after some steps.
fn with_each_means(flags: &[&str], before: &[&str], ask: &str) -> Vec<String> {
    let means = MEANS.map(|(name, _)| format!("means {name}"));
    let asked = means.iter().flat_map(|means| [means.as_str(), ask]);
    inside(flags, &before.iter().copied().chain(asked).collect::<Vec<_>>())
}

#[test]
fn a_process_of_the_outer_pid_namespace_cannot_be_judged_from_an_inner_one() {
    let mut agent = Running::agent(&["say-ready", "hang"]).ready();
    let ask = ask(&identify(agent.pid()));
    assert_eq!(with_each_means(&NEW_PIDS, &[], &ask), ["Unknown(OtherPidNamespace)"; 3]);
    assert_eq!(with_each_means(&["--pid"], &[], &ask), ["Unknown(OtherPidNamespace)"; 3]);
    agent.kill();
    assert_eq!(with_each_means(&NEW_PIDS, &[], &ask), ["Unknown(OtherPidNamespace)"; 3]);
}

#[test]
fn a_process_of_an_inner_pid_namespace_cannot_be_judged_from_the_outer_one() {
    let mut inner = start_inside(&NEW_PIDS, &["identify", "wait-line"]);
    let identity = said(&inner.until("{"));
    assert_eq!(identity.pid, 1);
    for (name, means) in MEANS {
        let liveness = Probe::with(means).liveness(&identity, Lock::Silent);
        assert_eq!(liveness, Liveness::Unknown(Doubt::OtherPidNamespace), "with {name}");
    }
}

#[test]
fn a_held_lock_proves_life_across_pid_and_mount_namespaces() {
    let scratch = ScratchDir::new();
    let file = scratch.file("evidence", "");
    let file = file.to_str().unwrap();
    let mut holder = start_drill(&[&format!("hold {file} guard"), "wait-line"]);
    assert_eq!(holder.line(), "held true");
    let ask = format!("{} {file} guard", ask(&identify(holder.pid())));
    assert_eq!(with_each_means(&NEW_PIDS, &[], &ask), ["Alive(None)"; 3]);
    holder.kill();
    assert_eq!(with_each_means(&NEW_PIDS, &[], &ask), ["Unknown(OtherPidNamespace)"; 3]);
}

#[test]
fn a_process_of_another_time_namespace_is_judged_by_its_inode_or_not_at_all() {
    let time = ["--time", "--boottime", "100000"];
    let mut agent = Running::agent(&["say-ready", "hang"]).ready();
    let ask = ask(&identify(agent.pid()));
    let unknown = "Unknown(OtherTimeNamespace)";
    assert_eq!(with_each_means(&time, &[], &ask), ["Alive(None)", unknown, unknown]);
    agent.kill();
    assert_eq!(with_each_means(&time, &[], &ask), ["Dead(Gone)"; 3]);
}

#[test]
fn a_process_that_proc_hides_is_not_dead() {
    let start = format!("start {} hang", bin("fake-agent").display());
    let ask = ["ask last", "means no-pidfs", "ask last", "means no-pidfd", "ask last"];
    let answers = ["Alive(None)", "Unknown(Hidden)", "Unknown(Hidden)"];
    // One that has capabilities is hidden from one without, even of the same user: that needs no second user.
    let steps = [&[&start, "identify started", "proc hidepid=4", "no-caps"], &ask[..]].concat();
    assert_eq!(inside(&NEW_PIDS, &steps)[2..], answers);
    if rustix::process::geteuid().is_root() {
        let steps = [&[&start, "identify started", "proc hidepid=2", "user 65534"], &ask[..]].concat();
        let said = lines(unshare_as_root(&NEW_PIDS, &bin("sys-drill")).args(steps));
        assert_eq!(said[2..], answers);
    }
}

#[test]
fn a_proc_of_another_pid_namespace_is_not_believed() {
    let said = inside(&["--pid"], &["identify", "means no-pidfs", "identify", "means no-pidfd", "identify"]);
    let identity = abide_testkit::drill::said(&said[0]);
    assert_eq!((identity.start_ticks, identity.exe), (None, None));
    assert_eq!(said[1..], ["NoMark", "NoMark"]);
}

#[test]
fn a_proc_of_another_pid_namespace_is_not_believed_even_if_our_number_is_the_same_there() {
    let steps = "coincide identify 1 ; means no-pidfs ; identify 1 ; means no-pidfd ; identify 1";
    let said = inside(&["--pid"], &[steps]);
    assert_eq!(abide_testkit::drill::said(&said[0]).start_ticks, None);
    assert_eq!(said[1..], ["NoMark", "NoMark"]);
}

#[test]
fn after_a_reboot_of_the_same_machine_every_process_of_before_is_dead() {
    let scratch = ScratchDir::new();
    let boot = format!("bind {} {BOOT_ID}", scratch.file("boot", OTHER_ID).display());
    let other = said(&inside(&["--mount"], &[&boot, "identify"]).concat()).boot;
    let agent = Running::agent(&["say-ready", "hang"]).ready();
    let before = Identity { boot: other, ..identify(agent.pid()) };
    assert!(before.machine.is_some(), "this test needs a machine id in {MACHINE_ID}");
    assert_eq!(with_each_means(&["--mount"], &[], &ask(&before)), ["Dead(Reboot)"; 3]);
}

#[test]
fn another_boot_is_no_death_without_a_machine_id_to_compare() {
    let scratch = ScratchDir::new();
    let boot = format!("bind {} {BOOT_ID}", scratch.file("boot", OTHER_ID).display());
    let agent = Running::agent(&["say-ready", "hang"]).ready();
    let mut identity = identify(agent.pid());
    identity.machine = None;
    assert_eq!(with_each_means(&["--mount"], &[&boot], &ask(&identity)), ["Unknown(NoMachineId)"; 3]);
}

#[test]
fn a_process_of_another_machine_cannot_be_judged() {
    assert!(Path::new(MACHINE_ID).exists(), "this test needs {MACHINE_ID}");
    let scratch = ScratchDir::new();
    let machine = format!("bind {} {MACHINE_ID}", scratch.file("machine", OTHER_ID).display());
    let boot = format!("bind {} {BOOT_ID}", scratch.file("boot", OTHER_ID).display());
    let agent = Running::agent(&["say-ready", "hang"]).ready();
    let ask = ask(&identify(agent.pid()));
    assert_eq!(with_each_means(&["--mount"], &[&machine], &ask), ["Unknown(OtherMachine)"; 3]);
    assert_eq!(with_each_means(&["--mount"], &[&machine, &boot], &ask), ["Unknown(OtherMachine)"; 3]);
}

#[test]
fn a_boot_id_that_was_put_over_the_kernel_s_own_is_known_and_proves_no_reboot_across_namespaces() {
    let scratch = ScratchDir::new();
    let boot = format!("bind {} {BOOT_ID}", scratch.file("boot", OTHER_ID).display());
    let given = said(&inside(&["--mount"], &[&boot, "identify"]).concat());
    let own = said(&drill(&["identify"]).concat());
    assert_eq!((given.kernel_boot, own.kernel_boot), (false, true));
    assert!(said(&inside(&NEW_PIDS, &["identify"]).concat()).kernel_boot, "a new /proc is the kernel's too");
    let before = Identity { boot: given.boot, ..own };
    assert_eq!(with_each_means(&NEW_PIDS, &[], &ask(&before)), ["Dead(Reboot)"; 3]);
    let in_container = Identity { boot: given.boot, kernel_boot: false, ..own };
    assert_eq!(with_each_means(&NEW_PIDS, &[], &ask(&in_container)), ["Unknown(OtherPidNamespace)"; 3]);
    assert_eq!(with_each_means(&NEW_PIDS, &[&boot], &ask(&own)), ["Unknown(OtherPidNamespace)"; 3]);
}

#[test]
fn a_boot_id_that_was_put_over_the_kernel_s_own_ends_nobody_who_is_still_there() {
    let scratch = ScratchDir::new();
    let boot = format!("bind {} {BOOT_ID}", scratch.file("boot", OTHER_ID).display());
    let mut agent = Running::agent(&["say-ready", "hang"]).ready();
    let ask = ask(&identify(agent.pid()));
    assert_eq!(with_each_means(&["--mount"], &[&boot], &ask), ["Unknown(GivenBootId)"; 3]);
    agent.kill();
    assert_eq!(with_each_means(&["--mount"], &[&boot], &ask), ["Dead(Gone)"; 3], "and that is no reboot");
}

#[test]
fn without_a_boot_id_nothing_is_judged_and_no_identity_is_taken() {
    let scratch = ScratchDir::new();
    let agent = Running::agent(&["say-ready", "hang"]).ready();
    let ask = ask(&identify(agent.pid()));
    for unreadable in ["", "garbage\n", "00000000-0000-0000-0000-000000000000\n"] {
        let boot = format!("bind {} {BOOT_ID}", scratch.file("boot", unreadable).display());
        let said = inside(&["--mount"], &[&boot, &ask, "identify"]);
        assert_eq!(said, ["Unknown(NoBootId)", "NoBootId"], "{unreadable:?}");
    }
}

#[test]
fn the_same_place_gives_the_same_answer_from_another_process() {
    let mut agent = Running::agent(&["say-ready", "hang"]).ready();
    let ask = ask(&identify(agent.pid()));
    assert_eq!(drill(&[&ask]), ["Alive(None)"]);
    agent.kill();
    assert_eq!(drill(&[&ask]), ["Dead(Gone)"]);
}
