//! Hits every act of the released binary at each of its steps, in every way, and prints what held: `fail-points [ACT]`.
//! Fails if anything did not.

use std::io::{self, Write};
use std::process::ExitCode;

use abide_testkit::bench::built;
use abide_testkit::trace::points::{ACTS, Act, Point};

fn main() -> ExitCode {
    table(std::env::args().nth(1).as_deref()).unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "fail-points: {error}");
        ExitCode::FAILURE
    })
}

fn table(only: Option<&str>) -> io::Result<ExitCode> {
    let abide = built()?;
    let mut out = io::stdout().lock();
    let (mut count, mut broken) = (0, 0);
    for act in ACTS.iter().filter(|act| only.is_none_or(|only| act.name.contains(only))) {
        writeln!(out, "{}: {}", act.name, act.then)?;
        for &blow in act.blows {
            let points = act.points(&abide, blow);
            put(&mut out, act, &points)?;
            count += points.len();
            broken += points.iter().filter(|point| point.held.is_err()).count();
            for call in act.unmade(&points) {
                writeln!(out, "  {:<6} {call:<44} nobody makes it", blow.name())?;
                broken += 1;
            }
        }
    }
    writeln!(out, "{count} points hit, {broken} do not hold")?;
    Ok(if broken == 0 && count > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn put(out: &mut impl Write, act: &Act, points: &[Point]) -> io::Result<()> {
    for call in act.calls {
        let of_call: Vec<&Point> = points.iter().filter(|point| point.call == *call).collect();
        let Some(first) = of_call.first() else { continue };
        let marks: String = of_call.iter().map(|point| if point.held.is_ok() { '.' } else { 'X' }).collect();
        writeln!(out, "  {:<6} {call:<44} {marks}", first.blow.name())?;
        for point in of_call {
            if let Err(why) = &point.held {
                writeln!(out, "         at {} {}: {why}", point.call, point.when)?;
            }
        }
    }
    Ok(())
}
