//! Launches that run out of descriptors, processes or memory at whatever step: refused with a reason, or done right;
//! never half.

use std::path::Path;
use std::process::Command;

use abide_testkit::deadline::until;
use abide_testkit::{Abide, Ending, Ran, ScratchHome};

/// A home and abide in it, for a user whose processes are ours to count.
struct Limited {
    home: ScratchHome,
    abide: Abide,
    user: Option<u32>,
}

const NO_PROCESS: &str = "Resource temporarily unavailable";
/// Nobody else has it.
const USER: u32 = 54_321;

impl Limited {
    fn new(as_another: bool) -> Self {
        let home = ScratchHome::new();
        let abide = Abide::new(env!("CARGO_BIN_EXE_abide"), &home).copied_to(&home.around().join("abide"));
        let user = (as_another && rustix::process::geteuid().is_root()).then_some(USER);
        std::os::unix::fs::chown(home.around().path(), user, user).expect("it is ours");
        Self { abide, home, user }
    }

    /// Runs abide with a limit on what it and everything it starts may have.
    fn run(&self, limit: &str, args: &[&str]) -> Ran {
        let command = self.abide.command(args);
        let mut limited = Command::new("setpriv");
        if let Some(user) = self.user {
            limited.args([format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".to_owned()]);
        }
        limited.args(["prlimit", limit, "--"]).arg(command.get_program()).args(args);
        limited.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        limited.current_dir("/");
        Ran::of(&mut limited)
    }

    /// Every process that has a file of this home open.
    fn holders(&self) -> Vec<String> {
        let processes = std::fs::read_dir("/proc").expect("procfs").flatten();
        let holds = |process: &Path| {
            let fds = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
            fds.map(|fd| std::fs::read_link(fd.path()))
                .any(|file| file.is_ok_and(|file| file.starts_with(self.home.path())))
        };
        let found = processes.map(|entry| entry.path()).filter(|process| holds(process));
        found.map(|process| process.display().to_string()).collect()
    }

    /// Launches with a limit: refused for this reason and nothing left, or done right. Says which, if abide came so far.
    fn check(&self, limit: &str, reason: &str) -> Option<bool> {
        let mark = self.home.around().join("ran");
        let _ = std::fs::remove_file(&mark);
        let ran = self
            .run(limit, &["run", "-d", "--json", "--no-tty", "--", "touch", mark.to_str().expect("text")]);
        let sessions = std::fs::read_dir(self.home.path().join("sessions")).into_iter().flatten().flatten();
        let sessions: Vec<String> =
            sessions.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        let launched = !sessions.is_empty() && !sessions[0].starts_with('.');
        if launched {
            let waited = self.run("--core=0", &["wait", "--json", &sessions[0]]);
            let failed = ran.code() != Some(0);
            // It ran to its end; or it could not be executed with so little, which is an end like any other.
            assert_eq!((waited.code() == Some(0)), mark.exists() && !failed, "{limit}: {ran:?} {waited:?}");
            assert_eq!(waited.json()["data"]["ended"], true, "{limit}: {waited:?}");
        }
        until("nothing is left running", || self.holders().is_empty());
        if launched {
            assert_eq!(self.run("--core=0", &["rm", &sessions[0]]).code(), Some(0), "{limit}");
            return Some(true);
        }
        assert!(!mark.exists(), "{limit}: it ran: {ran:?}");
        assert!(sessions.is_empty(), "{limit}: {sessions:?} is left: {ran:?}");
        // Where not even the loader or the first allocation got what it needed, nobody was there to give a reason.
        let began = !ran.stdout.is_empty();
        assert!(began || ran.ending != Ending::Exited(0), "{limit}: {ran:?}");
        began.then(|| {
            let told = ran.json();
            assert_eq!(told["ok"], false, "{limit}: {told}");
            let message = told["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(reason), "{limit}: {told}");
            false
        })
    }

    /// Goes through limits from far too little to enough.
    fn check_all(&self, limits: impl Iterator<Item = String>, reason: &str) {
        let outcomes: Vec<Option<bool>> = limits.map(|limit| self.check(&limit, reason)).collect();
        assert!(outcomes.contains(&Some(false)), "no limit was met by abide itself: {outcomes:?}");
        assert_eq!(outcomes.last(), Some(&Some(true)), "the last limit is enough: {outcomes:?}");
    }
}

// TRUTH 36
#[test]
fn without_descriptors_a_launch_is_refused_or_done_right() {
    Limited::new(false)
        .check_all((3..40).chain([63, 64]).map(|count| format!("--nofile={count}")), "Too many open files");
}

// TRUTH 36
#[test]
fn without_long_files_a_launch_is_refused_or_done_right() {
    let limits = [1000, 3000, 5000, 100_000, 1_000_000].map(|bytes| format!("--fsize={bytes}"));
    Limited::new(false).check_all(limits.into_iter(), "File too large");
}

// TRUTH 19
#[test]
fn a_recording_that_may_not_grow_any_more_costs_output_and_never_the_outcome() {
    let limited = Limited::new(false);
    let script = "seq 1 400000; sh -c 'exit 7'";
    let ran = limited.run("--fsize=1000000", &["run", "-d", "--", "sh", "-c", script]);
    let id = ran.stdout.trim_end();
    assert_eq!(limited.run("--core=0", &["wait", id]).code(), Some(7), "{ran:?}");
    let shown = limited.run("--core=0", &["logs", id]).stdout;
    assert!(
        shown.starts_with("1\n2\n") && shown.contains("File too large"),
        "it says where and why it was cut"
    );
}

// TRUTH 36
#[test]
fn without_processes_a_launch_is_refused_or_done_right() {
    let limited = Limited::new(true);
    if limited.user.is_none() {
        // How many processes an ordinary user has is not ours to say; with none to spare there is one answer.
        assert_eq!(limited.check("--nproc=0", NO_PROCESS), Some(false));
        return;
    }
    // Those that ended count until their init has reaped them.
    limited.check_all((1..8).chain([200]).map(|count| format!("--nproc={count}")), NO_PROCESS);
}

// TRUTH 36
#[test]
fn without_memory_a_launch_is_not_begun_or_done_right() {
    const COARSE: u64 = 512 * 1024;
    let limited = Limited::new(false);
    let check = |bytes: u64| limited.check(&format!("--as={bytes}"), "") == Some(true);
    let first = |from: u64, step: usize| {
        (from..from + 256)
            .step_by(step)
            .map(|steps| steps * COARSE)
            .find(|&bytes| check(bytes))
            .expect("enough")
    };
    let rough = first(0, 16) / COARSE;
    let enough = first(rough.saturating_sub(15), 1);
    // Where it is nearly enough, every step of the launch is the one that fails. Where that is, the loader's dice decide.
    let nearly: Vec<bool> = (0..48).map(|steps| check(enough - COARSE * 3 + steps * COARSE / 16)).collect();
    assert!(nearly.contains(&false), "the limit was never met: {nearly:?}");
}
