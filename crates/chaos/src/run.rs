//! One run of a schedule: lives of sessions, each in a thread of its own, and readers beside them. What all of them share.

mod faults;
mod lives;
mod readers;
mod sweep;
mod worlds;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use abide_sys::clock;
use serde::{Deserialize, Serialize};

use crate::judge::{Kind, Lie};
use crate::ledger::{ExitOf, Ledger, Reports};
use crate::report::Report;
use crate::schedule::Schedule;
use crate::site::Site;

/// What is to be run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    pub exe: PathBuf,
    /// For the readers' questions; the schedule is made already.
    pub seed: u64,
    pub readers: u64,
    /// Whether we are root in namespaces of our own.
    pub walled: bool,
    pub schedule: String,
}

/// What the threads of a run share.
pub(crate) struct Run {
    pub(crate) site: Site,
    pub(crate) ledger: Ledger,
    pub(crate) walled: bool,
    /// The home has no room, on purpose.
    pub(crate) full: AtomicBool,
    pub(crate) waiters: Mutex<BTreeMap<u32, Arc<OwnedFd>>>,
    copies: AtomicU64,
    report: Mutex<Report>,
    begin: u64,
    over: Mutex<bool>,
    ended: Condvar,
}

impl Run {
    pub(crate) fn report(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lie(&self, lie: Lie) {
        self.report().lie(lie);
    }

    pub(crate) fn lies(&self, lies: Vec<Lie>) {
        lies.into_iter().for_each(|lie| self.lie(lie));
    }

    /// What we could not do ourselves is no lie of abide's, and must not pass for a check either.
    pub(crate) fn skip(&self, label: &str, why: &str) {
        self.report().skipped.insert(label.to_owned(), why.to_owned());
    }

    pub(crate) fn is_over(&self) -> bool {
        *self.over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until an instant of the run, in ms since its begin.
    pub(crate) fn pause_until(&self, at_ms: u64) {
        self.pause_to(self.begin + at_ms * 1000);
    }

    pub(crate) fn pause(&self, ms: u64) {
        self.pause_to(clock::boot_micros() + ms * 1000);
    }

    /// What is waited for is the time that the schedule names, or the end of the run.
    fn pause_to(&self, instant: u64) {
        let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        while !*over {
            let left = instant.saturating_sub(clock::boot_micros());
            if left == 0 {
                return;
            }
            let waited = self.ended.wait_timeout(over, Duration::from_micros(left));
            over = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A name for another copy of the executable.
    pub(crate) fn copy_name(&self) -> PathBuf {
        self.site.root().join(format!("abide-{}", self.copies.fetch_add(1, Ordering::Relaxed)))
    }
}

/// Runs a schedule in a directory that is prepared for it, and gives what was found.
///
/// # Errors
/// If the run itself cannot be done.
pub fn run(root: &std::path::Path, plan: &Plan, exit_of: Option<ExitOf>) -> io::Result<Report> {
    let schedule = Schedule::parse(&plan.schedule)
        .map_err(|line| io::Error::other(format!("line {line} of the schedule makes no sense")))?;
    let site = Site::prepare(root, &plan.exe)?;
    let mut reports = Reports::open(&site.reports())?;
    let run = Arc::new(Run {
        site,
        ledger: Ledger::new(exit_of)?,
        walled: plan.walled,
        full: AtomicBool::new(false),
        waiters: Mutex::default(),
        copies: AtomicU64::new(0),
        report: Mutex::default(),
        begin: clock::boot_micros(),
        over: Mutex::new(false),
        ended: Condvar::new(),
    });
    let bystanders = Bystanders::start()?;
    let watching = {
        let run = Arc::clone(&run);
        thread::spawn(move || run.ledger.watch(&mut reports, || run.is_over()))
    };
    let seeds = (0..plan.readers).map(|number| plan.seed ^ (number + 1) << 32);
    let readers: Vec<_> = seeds
        .map(|seed| {
            let run = Arc::clone(&run);
            thread::spawn(move || readers::read(&run, seed))
        })
        .collect();
    lives::live_all(&run, &schedule);
    *run.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
    run.ended.notify_all();
    run.ledger.ring();
    for reader in readers {
        let _ = reader.join();
    }
    let _ = watching.join();
    sweep::sweep(&run);
    bystanders.look(&run);
    let report = run.report().clone();
    Ok(report)
}

/// Processes that have nothing to do with any session: whoever signals one of them has hit a stranger.
struct Bystanders(Vec<Child>);

impl Bystanders {
    fn start() -> io::Result<Self> {
        let start = |_| faults::stranger();
        (0..3).map(start).collect::<io::Result<_>>().map(Self)
    }

    fn look(mut self, run: &Run) {
        for bystander in &mut self.0 {
            if let Ok(Some(status)) = bystander.try_wait() {
                run.lie(Kind::SignalledStranger.about(0, format!("a bystander ended: {status}")));
            }
        }
    }
}

impl Drop for Bystanders {
    fn drop(&mut self) {
        for bystander in &mut self.0 {
            let _ = bystander.kill().and_then(|()| bystander.wait());
        }
    }
}
