//! A session that prints without pause: what its helpers take must not grow.

use std::io;

use abide_sys::clock;
use abide_testkit::ScratchDir;
use abide_testkit::deadline::until;

use crate::figure::{Bar, Figure, Line, Unit};
use crate::place::Place;
use crate::processes::pss;
use crate::row::Row;
use crate::text;
use crate::turns::timed_within;

pub const ROW: Row = Row {
    name: "soak",
    work: "a session that prints without pause",
    method: "colourful text, 16 MiB of it again and again, as fast as it is taken, into a recording that keeps its last 256 MiB; \
             PSS of guard and host every two seconds. Flat: the median of the last quarter of the time beside that of the second. Then a \
             snapshot, which may be behind, and says so; it is given up after 60 s",
    take,
};

const BYTES: u64 = 16 << 20;
/// How long an answer is waited for.
const PATIENCE_MS: u64 = 60_000;
const KEPT: &str = "268435456";

fn take(place: &Place) -> io::Result<Vec<Line>> {
    let (bench, dir) = (place.bench(), ScratchDir::new());
    let file = dir.join("text");
    text::write(&file, BYTES, text::colourful)?;
    let count = dir.join("count");
    let script =
        format!("n=0; while :; do cat {}; n=$((n + 1)); echo $n >{}; done", file.display(), count.display());
    let keep = ["--max-recording", KEPT, "--keep", "last"];
    let id = bench.launch_with(&keep, &["sh", "-c", &script])?;
    let kib =
        || ["guard", "host"].iter().filter_map(|who| pss(bench.process(&id, who)?.pid())).collect::<Vec<_>>();
    until("the session is served", || kib().len() == 2);
    let seconds = place.of(usize::try_from(place.options.soak_s).unwrap_or(usize::MAX));
    let end = clock::now().boot + seconds as u64 * 1000;
    let mut seen: Vec<u64> = Vec::new();
    while clock::now().boot < end {
        bench.rest(&id);
        let both = kib();
        if both.len() != 2 {
            return Err(io::Error::other("guard or host is gone"));
        }
        seen.push(both.iter().sum());
    }
    let snapshot = timed_within(&mut bench.abide.command(&["snapshot", &id]), PATIENCE_MS)?;
    let times = std::fs::read_to_string(&count)?.trim().parse::<u64>().map_err(io::Error::other)?;
    bench.done(&["stop", "--grace", "0s", &id])?;
    let quarter = |number: usize| {
        let mut some = seen[seen.len() * number / 4..seen.len() * (number + 1) / 4].to_vec();
        some.sort_unstable();
        let median = some.get(some.len() / 2).or(seen.last()).copied().unwrap_or(0);
        Figure::new(median as f64, Unit::Kib)
    };
    let most = seen.iter().max().copied().unwrap_or(0);
    let line = Line::new(&format!("{} for {seconds} s: memory", ROW.work), quarter(3), Bar::AtMost(1.05));
    let line = line.against("its second quarter", Some(quarter(1)));
    Ok(vec![
        line.beside("most", Figure::new(most as f64, Unit::Kib))
            .beside("shown", Figure::new((times * BYTES) as f64 / f64::from(1 << 20), Unit::Mib)),
        Line::new(
            "a snapshot of it in the end",
            Figure::micros(snapshot.unwrap_or(PATIENCE_MS * 1000)),
            Bar::Stated,
        ),
    ])
}
