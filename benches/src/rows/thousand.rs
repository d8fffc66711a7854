//! A thousand sessions at once: started, listed, driven, stopped, and nothing lost.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use abide_sys::clock;
use abide_testkit::bench::{Bench, same};
use abide_testkit::deadline::until;
use rustix::process::{Resource, getrlimit};

use crate::figure::{Bar, Figure, Line, Unit};
use crate::place::Place;
use crate::processes::{below, pss};
use crate::row::Row;
use crate::turns::{timed, told};

pub const ROW: Row = Row {
    name: "thousand",
    work: "1,000 sessions at once",
    method: "eight clients start them, type a line into each and wait until it is seen, and stop them. Lost is a session that is \
             not listed, a log that is not exactly what was shown, and a process that is left. Memory: PSS of all guards and \
             hosts, after the driving",
    take,
};

const SESSIONS: usize = 1_000;
const CLIENTS: usize = 8;
/// Guard, host, program.
const PROCESSES: u64 = 3;
/// Shows every line that is typed, once.
const ECHO: &str = "stty -echo; echo ready; exec cat";

fn take(place: &Place) -> io::Result<Vec<Line>> {
    let sessions = place.of(SESSIONS);
    check_room(sessions as u64)?;
    let bench = place.bench();
    let before = below(std::process::id()).len();
    let ids: Vec<OnceLock<String>> = (0..sessions).map(|_| OnceLock::new()).collect();
    let id = |number: usize| ids[number].get().map_or("", String::as_str);
    let started = each(sessions, |number| {
        let named: &[&str] = if number == 0 { &["--name", "first"] } else { &[] };
        let launched = bench.launch_with(named, &["sh", "-c", ECHO])?;
        let id = ids[number].get_or_init(|| launched);
        bench.done(&["wait", "--text", "ready", "--timeout", "60s", id]).map(drop)
    })?;
    let listing = timed(&mut bench.abide.command(&["ls"]))?;
    let found = timed(&mut bench.abide.command(&["inspect", "first"]))?;
    let listed = told(&mut bench.abide.command(&["ls", "-q"]))?.lines().count();
    let driven = each(sessions, |number| drive(&bench, id(number), number))?;
    let memory = memory(&bench, sessions)?;
    let lost = Mutex::new(Vec::new());
    let stopped = each(sessions, |number| bench.done(&["stop", id(number)]).map(drop))?;
    each(sessions, |number| {
        let log = bench.done(&["logs", id(number)])?.stdout;
        let whole = log.lines().eq(["ready", &line(number)]);
        lost.lock().map_err(|_| io::Error::other("a client broke off"))?.extend((!whole).then_some(number));
        Ok(())
    })?;
    let logs = lost.into_inner().map_or(sessions, |lost| lost.len());
    until("guards and hosts have ended", || processes_left(&bench) == 0);
    let left = processes_left(&bench);
    let lost = (sessions - listed.min(sessions)) + logs + left;
    let count = |count: usize| Figure::new(count as f64, Unit::Count);
    let second = |micros| Figure::micros(micros);
    Ok(vec![
        Line::new("1,000 sessions at once: lost", count(lost), Bar::Within(0.0))
            .beside("sessions", count(listed))
            .beside("other processes", count(before)),
        Line::new("the same: started, each until its first line is seen", second(started), Bar::Stated),
        Line::new("the same: listed", second(listing), Bar::Stated)
            .beside("`inspect` of one by its name", second(found)),
        Line::new("the same: driven, a line typed and seen in each", second(driven), Bar::Stated),
        Line::new("the same: stopped", second(stopped), Bar::Stated),
        Line::new(
            "the same: memory of guards and hosts",
            Figure::new(memory / 1024.0, Unit::Mib),
            Bar::Stated,
        )
        .beside("a session", Figure::new(memory / sessions as f64, Unit::Kib)),
    ])
}

fn line(number: usize) -> String {
    format!("line of session {number}")
}

fn drive(bench: &Bench, id: &str, number: usize) -> io::Result<()> {
    bench.done(&["type", "--enter", id, &line(number)])?;
    bench.done(&["wait", "--text", &line(number), "--timeout", "60s", id]).map(drop)
}

/// Does something so many times, by several clients at once, and gives the us that all took.
fn each(many: usize, act: impl Fn(usize) -> io::Result<()> + Sync) -> io::Result<u64> {
    let next = AtomicUsize::new(0);
    let client = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= many {
                return Ok(());
            }
            act(number)?;
        }
    };
    let began = clock::boot_micros();
    let done: Vec<io::Result<()>> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        let broken = |_| Err(io::Error::other("a client broke off"));
        clients.into_iter().map(|client| client.join().unwrap_or_else(broken)).collect()
    });
    done.into_iter().collect::<io::Result<()>>()?;
    Ok(clock::boot_micros() - began)
}

fn helpers(bench: &Bench) -> Vec<u32> {
    let listed = bench.abide.json(&["ls"])["data"]["sessions"].take();
    let both =
        |session: &serde_json::Value| ["guard", "host"].map(|who| session["processes"][who]["pid"].as_u64());
    let pids = listed.as_array().into_iter().flatten().flat_map(both).flatten();
    pids.filter_map(|pid| u32::try_from(pid).ok()).collect()
}

/// KiB of all guards and hosts.
fn memory(bench: &Bench, sessions: usize) -> io::Result<f64> {
    let pids = helpers(bench);
    same("guards and hosts", pids.len(), 2 * sessions)?;
    Ok(pids.into_iter().filter_map(pss).sum::<u64>() as f64)
}

/// How many processes were started for the home and live.
fn processes_left(bench: &Bench) -> usize {
    let home = bench.home.path().display().to_string();
    crate::processes::marked(&home, &["abide-guard", "abide-host", "abide", "cat", "sh"]).len()
}

/// Refuses to begin what the machine has no room for.
fn check_room(sessions: u64) -> io::Result<()> {
    let number = |path: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.trim().parse::<u64>().unwrap_or(u64::MAX)
    };
    let processes = sessions * PROCESSES + 200;
    let limits = [
        ("processes of a user", getrlimit(Resource::Nproc).current.unwrap_or(u64::MAX), processes),
        ("pids", number("/proc/sys/kernel/pid_max"), processes),
        ("threads", number("/proc/sys/kernel/threads-max"), processes),
        ("terminals", number("/proc/sys/kernel/pty/max"), sessions + 50),
        ("open files", number("/proc/sys/fs/file-max"), sessions * 60),
    ];
    let lacking = limits.iter().find(|(_, most, needed)| most < needed);
    let refused = |(what, most, needed): &(&str, u64, u64)| {
        Err(io::Error::other(format!("needs {needed} {what}, and the limit is {most}")))
    };
    lacking.map_or(Ok(()), refused)
}
