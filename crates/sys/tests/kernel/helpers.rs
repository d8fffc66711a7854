//! How helpers come up, and what whoever starts them is told.

use std::ffi::CString;
use std::io::ErrorKind;

use abide_sys::spawn::{HELPER, Image, detached};
use abide_testkit::Observer;
use abide_testkit::deadline::until;
use rustix::process::Signal;

/// An image that is looked for in many places, and is in none of them.
fn nowhere() -> Image {
    Image {
        paths: vec![c"/no/such/image".to_owned(); 200_000],
        argv: vec![c"abide".to_owned()],
        env: Vec::new(),
        cwd: CString::from(c"/"),
    }
}

/// The processes on their way to be helpers that a process has started and not reaped.
fn on_their_way(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let below = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let all: Vec<u32> = below
        .flat_map(|pids| pids.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect();
    let name = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    all.into_iter().filter(|pid| name(pid).trim_end().as_bytes() == HELPER.to_bytes()).collect()
}

/// How many descriptors it holds; none when it is gone.
fn holds(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// It looks for its image in our memory, and has let go of all that it does not need: the one in between is killed then.
#[test]
fn whoever_starts_a_helper_hears_of_its_exec_also_when_the_one_in_between_is_killed() {
    let mut killed = false;
    while !killed {
        std::thread::scope(|scope| {
            let starts = scope.spawn(|| detached(&nowhere(), &[]).map_err(|error| error.kind()));
            while !starts.is_finished() && !killed {
                let between = on_their_way(std::process::id()).first().and_then(|pid| Observer::find(*pid));
                let Some(between) = between else { continue };
                let Some(helper) = on_their_way(between.pid()).first().copied() else { continue };
                until("it holds what it needs", || holds(helper) <= 4);
                between.signal(Signal::KILL);
                killed = holds(helper) > 0;
            }
            assert_eq!(starts.join().expect("it returns"), Err(ErrorKind::NotFound));
        });
    }
}
