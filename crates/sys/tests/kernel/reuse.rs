//! Forced pid reuse, mostly within one clock tick: the stranger is never taken for the process that is over.

use std::process::Command;

use abide_testkit::bin;
use abide_testkit::namespace::lines;

/// Runs `pid-reuse` and gives its figures: reuses, same pid and ticks; then wrong and unknown answers with all means,
/// without pidfs, without pidfds.
fn figures(args: &[&str]) -> (u32, u32, Vec<u32>) {
    let text = lines(Command::new(bin("pid-reuse")).args(args)).join("\n");
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
    let (reuses, same_ticks) = numbers.next().zip(numbers.next()).expect("two figures and more");
    (reuses, same_ticks, numbers.collect())
}

#[test]
fn a_process_with_the_pid_of_another_is_never_taken_for_it() {
    let (reuses, same_ticks, answers) = figures(&["100"]);
    assert_eq!(reuses, 100);
    assert!(same_ticks > 0, "pid and ticks never met, so nothing was shown");
    // The inode always tells; ticks tell where they differ, and where they do not it is said.
    assert_eq!(answers, [0, 0, 0, same_ticks, 0, same_ticks]);
}

#[test]
fn a_thread_with_the_pid_of_a_process_is_never_taken_for_it() {
    let (reuses, same_ticks, answers) = figures(&["100", "--thread"]);
    assert_eq!(reuses, 100);
    assert!(same_ticks > 0, "pid and ticks never met, so nothing was shown");
    // No pidfd can be had of a thread, which tells in every case.
    assert_eq!(answers, [0, 0, 0, 0, 0, same_ticks]);
}
