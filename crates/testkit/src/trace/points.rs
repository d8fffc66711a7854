//! Fail points: every call by which an act of abide puts something on record, hands it over, names or removes it. Whoever
//! does it is hit at the first such call, then at the second, and so on; what must be true afterwards is the act's own.

mod acts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::abide::Abide;
use crate::running::Ran;
use crate::scratch::ScratchHome;
use crate::trace::traced;

pub use acts::ACTS;

/// What happens to whoever makes the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// As by `kill -9`, or for want of memory.
    Kill,
    /// As by a panic.
    Abort,
    /// The call fails, as on a bad disk.
    Error,
}

impl Blow {
    pub const ALL: [Self; 3] = [Self::Kill, Self::Abort, Self::Error];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Abort => "abort",
            Self::Error => "EIO",
        }
    }

    /// What the tracer writes down when it has struck.
    const fn mark(self) -> &'static str {
        match self {
            Self::Kill => "+++ killed by SIGKILL",
            Self::Abort => "--- SIGABRT",
            Self::Error => "(INJECTED)",
        }
    }

    const fn injected(self) -> &'static str {
        match self {
            Self::Kill => "signal=KILL",
            Self::Abort => "signal=ABRT",
            Self::Error => "error=EIO",
        }
    }
}

/// Something that abide does in several steps.
#[derive(Debug)]
pub struct Act {
    pub name: &'static str,
    /// What must be true afterwards, for the table.
    pub then: &'static str,
    /// The calls that are its steps; several that do the same stand together.
    pub calls: &'static [&'static str],
    /// An error is no death, and those whose helpers are hit too may have no second one.
    pub blows: &'static [Blow],
    /// Makes what the act needs, and gives its command.
    prepare: fn(&Site) -> Command,
    /// Says what is not as it must be, whatever was hit.
    judge: fn(&Site, &Ran) -> Result<(), String>,
}

/// One way to hit an act, and what came of it.
#[derive(Debug)]
pub struct Point {
    pub act: &'static str,
    pub call: &'static str,
    pub when: usize,
    pub blow: Blow,
    pub held: Result<(), String>,
}

/// Where an act is done: a home of its own.
#[derive(Debug)]
pub struct Site {
    home: ScratchHome,
    abide: Abide,
}

impl Act {
    /// Hits it in this way at each of its points.
    #[must_use]
    pub fn points(&'static self, abide: &Path, blow: Blow) -> Vec<Point> {
        let mut points = Vec::new();
        for &call in self.calls {
            points.extend((1..).map_while(|when| self.hit(abide, blow, (call, when))));
        }
        points
    }

    /// The calls that nobody made, so that nothing was hit at them: the act has changed, and its list has not.
    #[must_use]
    pub fn unmade(&self, points: &[Point]) -> Vec<&'static str> {
        let made = |call: &&str| points.iter().any(|point| point.call == *call);
        self.calls.iter().copied().filter(|call| !made(call)).collect()
    }

    /// None if nobody makes such a call so often.
    fn hit(&'static self, abide: &Path, blow: Blow, (call, when): (&'static str, usize)) -> Option<Point> {
        let home = ScratchHome::new();
        let site = Site { abide: Abide::new(abide, &home), home };
        let command = (self.prepare)(&site);
        let log = site.beside("calls");
        let (trace, inject) =
            (format!("trace={call}"), format!("inject={call}:{}:when={when}", blow.injected()));
        let ran = Ran::of(&mut traced(&command, &["-e", &trace, "-e", &inject], &log));
        let held = (self.judge)(&site, &ran);
        let seen = std::fs::read_to_string(&log).unwrap_or_default();
        let landed = if seen.contains(blow.mark()) { Ok(()) } else { Err("it was not hit".to_owned()) };
        let point = Point { act: self.name, call, when, blow, held: landed.and(held) };
        (calls_of_one(&seen, call) >= when).then_some(point)
    }
}

/// How many such calls the process has made that made most: the tracer counts each of several by itself.
fn calls_of_one(seen: &str, call: &str) -> usize {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in seen.lines() {
        let mut words = line.split_whitespace();
        let (Some(pid), Some(_), Some(what)) = (words.next(), words.next(), words.next()) else { continue };
        if let Some(name) = call.split(',').find(|name| what.starts_with(&format!("{name}("))) {
            *counts.entry((pid, name)).or_default() += 1;
        }
    }
    counts.into_values().max().unwrap_or(0)
}

impl Site {
    fn beside(&self, name: &str) -> PathBuf {
        self.home.around().join(name)
    }

    /// Runs a command that must exit with this code.
    fn must(&self, args: &[&str], code: i32) -> Result<Ran, String> {
        let ran = self.abide.run(args);
        if ran.code() == Some(code) { Ok(ran) } else { Err(format!("{args:?}: {ran:?}")) }
    }

    /// Launches a program, detached, and gives the session's ID.
    fn launch(&self, command: &[&str]) -> String {
        let ran = self.abide.run(&[&["run", "-d", "--"], command].concat());
        ran.stdout.trim_end().to_owned()
    }

    /// All sessions, as `ls -a` has them.
    fn sessions(&self) -> Vec<Value> {
        self.abide.json(&["ls", "-a"])["data"]["sessions"].as_array().cloned().unwrap_or_default()
    }

    /// The names in the directory of sessions, also of what is none.
    fn names(&self) -> Vec<String> {
        names(&self.home.path().join("sessions"))
    }
}

fn names(folder: &Path) -> Vec<String> {
    let there = std::fs::read_dir(folder).into_iter().flatten().flatten();
    there.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
