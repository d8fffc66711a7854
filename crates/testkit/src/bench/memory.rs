//! What idle sessions take: the proportional set size of guard and host.

use std::io::{self, Write};

use super::Bench;
use crate::deadline::until;

/// # Errors
/// If something cannot be started.
pub fn run(out: &mut impl Write) -> io::Result<()> {
    let bench = Bench::new()?;
    let mut ids = Vec::new();
    for count in [1, 100] {
        while ids.len() < count {
            ids.push(bench.launch(&["cat"])?);
        }
        for id in &ids {
            until("it is served", || ["guard", "host"].iter().all(|who| bench.process(id, who).is_some()));
        }
        bench.rest(&ids[0]);
        let sum =
            |who: &str| ids.iter().filter_map(|id| bench.process(id, who)).map(|one| pss(one.pid())).sum();
        let (guards, hosts): (u64, u64) = (sum("guard"), sum("host"));
        let each = |kib: u64| kib as f64 / ids.len() as f64;
        writeln!(
            out,
            "{count:>3} idle: {:.0} KiB PSS a session (guard {:.0}, host {:.0})",
            each(guards + hosts),
            each(guards),
            each(hosts)
        )?;
    }
    Ok(())
}

/// The proportional set size of a process, in KiB.
pub(super) fn pss(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}
