//! The end of a run: nothing may be left. No session, no file, no process.

use std::fs;

use abide_sys::{clock, signal};
use serde_json::Value;

use super::{Run, faults, readers};
use crate::judge::Kind;

/// How long what is on its way out may take.
const LEAVING_MS: u64 = 10_000;

/// Ends what launches without a launcher have left, then looks for what nobody should have left.
pub(super) fn sweep(run: &Run) {
    for id in listed(run) {
        let _ = readers::answer(run, 0, &["stop", "--json", "--grace", "100ms", &id]);
        let _ = readers::answer(run, 0, &["wait", "--json", "--cap", "10s", &id]);
        let _ = readers::answer(run, 0, &["rm", "--json", &id]);
    }
    let _ = readers::answer(run, 0, &["doctor", "--fix", "--json"]);
    for id in listed(run) {
        let says = readers::answer(run, 0, &["inspect", "--json", &id])
            .map_or_else(String::new, |(said, _)| said.out);
        run.lie(Kind::LeftOver.about(0, format!("a session cannot be removed: {says}")));
    }
    files(run);
    processes(run);
}

fn listed(run: &Run) -> Vec<String> {
    let Some((_, Ok(data))) = readers::answer(run, 0, &["ls", "-a", "--json"]) else { return Vec::new() };
    let sessions = data.get("sessions").and_then(Value::as_array).into_iter().flatten();
    sessions.filter_map(|session| session.get("id").and_then(Value::as_str).map(str::to_owned)).collect()
}

fn files(run: &Run) {
    for folder in ["sessions", "names"] {
        let entries = fs::read_dir(run.site.home().join(folder)).into_iter().flatten().flatten();
        // The lock of the names belongs to the home.
        for entry in entries.filter(|entry| entry.file_name() != ".lock") {
            run.lie(Kind::LeftOver.about(0, format!("{} is left", entry.path().display())));
        }
    }
}

/// Helpers must be gone by themselves. What programs left behind, their sessions being over, is for us to end.
fn processes(run: &Run) {
    let home = format!("ABIDE_HOME={}", run.site.home().display());
    let deadline = clock::boot_micros() + LEAVING_MS * 1000;
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Some(pidfd) = faults::hold_process(pid) else { continue };
        let helper = faults::is_ours(pid, &run.site.home());
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let ours = environment.split(|byte| *byte == 0).any(|entry| entry == home.as_bytes());
        let left = deadline.saturating_sub(clock::boot_micros()) / 1000;
        if helper && !faults::is_gone(&pidfd, left) {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let says = format!("{pid} is left: {}", String::from_utf8_lossy(&command).replace('\0', " "));
            run.lie(Kind::LeftOver.about(0, says));
        }
        if helper || ours {
            let _ = signal::send(&pidfd, faults::KILL);
        }
    }
}

/// What lives of a session's program and of what it started, by what they inherited. A corpse has no environment.
pub(super) fn of_session(id: &str) -> Vec<String> {
    let mark = format!("ABIDE_SESSION={id}");
    let mut left = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()) {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            left.push(format!("{}: {command}", entry.file_name().to_string_lossy()));
        }
    }
    left
}
