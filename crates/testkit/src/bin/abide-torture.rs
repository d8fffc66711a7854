//! `abide-torture`: attacks abide until so many answers were checked, and fails on the first lie.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use abide_chaos::schedule::{Likes, Schedule, generate};
use abide_chaos::torture::{Settings, any_seed, inside, torture};
use abide_sys::drill;

const USAGE: &str =
    "abide-torture [--abide EXE] [--seed N] [--seconds N] [--answers N] [--readers N] [--pace MS]
              [--bare] [--shrink SECONDS] [--schedule FILE] [--show]";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    if let (Some("--inside"), Some(root)) = (std::env::args().nth(1).as_deref(), std::env::args().nth(2)) {
        return told(inside(root.as_ref(), Some(drill::kept_status)).map(|report| (report, true)));
    }
    let mut settings = Settings {
        exe: beside("abide"),
        inside: (own(), vec!["--inside".to_owned()]),
        seed: any_seed().unwrap_or_default(),
        round_ms: 30_000,
        answers: 1,
        readers: 3,
        pace_ms: 250,
        bare: false,
        shrink_ms: 120_000,
        schedule: None,
    };
    let mut show = false;
    while let Some(flag) = args.next() {
        match flag.as_str() {
            "--bare" => settings.bare = true,
            "--show" => show = true,
            _ => {}
        }
        if matches!(flag.as_str(), "--bare" | "--show") {
            continue;
        }
        let Some(value) = args.next() else { return usage() };
        let number = value.parse::<u64>();
        match (flag.as_str(), number) {
            ("--abide", _) => settings.exe = PathBuf::from(value),
            ("--seed", Ok(seed)) => settings.seed = seed,
            ("--seconds", Ok(seconds)) => settings.round_ms = seconds * 1000,
            ("--answers", Ok(answers)) => settings.answers = answers,
            ("--readers", Ok(readers)) => settings.readers = readers,
            ("--pace", Ok(pace)) => settings.pace_ms = pace.max(1),
            ("--shrink", Ok(seconds)) => settings.shrink_ms = seconds * 1000,
            ("--schedule", _) => match std::fs::read_to_string(&value).map(|text| Schedule::parse(&text)) {
                Ok(Ok(schedule)) => settings.schedule = Some(schedule),
                Ok(Err(_)) | Err(_) => return usage(),
            },
            _ => return usage(),
        }
    }
    if show {
        let likes = Likes { walled: !settings.bare, pace_ms: settings.pace_ms };
        return told(Ok((generate(settings.seed, settings.round_ms, &likes).to_string(), true)));
    }
    told(attack(&settings))
}

/// Tortures; gives the report, and whether it is one of no lies.
fn attack(settings: &Settings) -> io::Result<(String, bool)> {
    let outcome = torture(settings, |report, seed| {
        let (answers, lies) = (report.checked(), report.lies_in_all);
        say(&mut io::stderr(), &format!("seed {seed}: {answers} answers, {lies} lies so far"));
    })?;
    let mut text = outcome.report.says();
    let command = format!(
        "abide-torture --seed {} --seconds {} --readers {} --pace {}",
        outcome.seed,
        settings.round_ms / 1000,
        settings.readers,
        settings.pace_ms
    );
    text.push_str(&format!("{} rounds, the last one again: {command}\n", outcome.rounds));
    if let Some(shortest) = &outcome.shortest {
        text.push_str(&format!("the shortest schedule that still fails:\n{shortest}"));
    }
    Ok((text, outcome.report.lies_in_all == 0))
}

fn told(done: io::Result<(String, bool)>) -> ExitCode {
    match done {
        Ok((text, good)) => {
            say(&mut io::stdout(), &text);
            ExitCode::from(u8::from(!good))
        }
        Err(error) => {
            say(&mut io::stderr(), &format!("abide-torture: {error}"));
            ExitCode::from(2)
        }
    }
}

/// Whoever does not listen any more misses it.
fn say(to: &mut dyn Write, text: &str) {
    let _ = writeln!(to, "{}", text.trim_end());
}

fn usage() -> ExitCode {
    say(&mut io::stderr(), USAGE);
    ExitCode::from(2)
}

fn own() -> PathBuf {
    std::env::current_exe().unwrap_or_default()
}

fn beside(name: &str) -> PathBuf {
    own().with_file_name(name)
}
