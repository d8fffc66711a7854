//! Programs for people, driven by `abide batch` alone: what they then wrote, chose and exited with is checked.

use std::io::{self, Write};

use serde_json::Value;

use super::{Bench, Tally, same};
use crate::tools::needed;

pub const TIMES: usize = 50;

/// Waits for the program's end, and passes on its code.
const END: &[&str] = &["wait", "--cap", "30s", "--strict"];

type Drive = fn(&Bench, usize) -> io::Result<()>;

const PROGRAMS: [(&str, Drive); 5] =
    [("vim", vim), ("python3", python), ("less", less), ("top", top), ("dialog", dialog)];

/// Drives each of the programs so many times.
///
/// # Errors
/// If one of them is not installed, or one round went wrong.
pub fn run(times: usize, out: &mut impl Write) -> io::Result<()> {
    needed(&PROGRAMS.map(|(program, _)| program))?;
    let bench = Bench::new()?;
    let mut tallies = PROGRAMS.map(|_| Tally::default());
    for round in 0..times {
        for ((_, drive), tally) in PROGRAMS.iter().zip(&mut tallies) {
            tally.round(|| drive(&bench, round));
        }
    }
    let told = PROGRAMS.iter().zip(&tallies).map(|((program, _), tally)| tally.tell(program, out));
    told.collect::<Vec<_>>().into_iter().collect()
}

/// Writes a file of two lines, saves it and quits.
fn vim(bench: &Bench, round: usize) -> io::Result<()> {
    let (file, text) = (format!("notes-{round}"), format!("round {round}: é 漢\n\"quoted\" 'twice'"));
    let steps: [&[&str]; 9] = [
        &["wait", "--text", &file],
        &["keys", "i"],
        &["wait", "--text", "INSERT"],
        &["type", &text],
        &["keys", "Escape"],
        &["wait", "--gone", "INSERT"],
        &["type", ":w\n"],
        &["wait", "--text", "written"],
        &["keys", ":", "q", "Enter"],
    ];
    drive(bench, &["vim", &file], &steps, 0)?;
    same("the file", std::fs::read_to_string(bench.beside(&file))?, format!("{text}\n"))
}

/// Has it calculate, and leave with a code.
fn python(bench: &Bench, round: usize) -> io::Result<()> {
    let (sum, answer) = (format!("6 * 7 + {round} * 1000"), format!("^{}$", 42 + round * 1000));
    let steps: [&[&str]; 6] = [
        &["wait", "--text", ">>> "],
        &["type", "--enter", &sum],
        &["wait", "--regex", &answer],
        &["type", "--enter", "for word in ['a', 'b']:\n    print(word * 3)\n"],
        &["wait", "--text", "aaa", "--text", "bbb"],
        &["type", "--enter", "import sys; sys.exit(7)"],
    ];
    drive(bench, &["python3", "-q"], &steps, 7).map(drop)
}

/// Pages, searches, and looks where that led.
fn less(bench: &Bench, round: usize) -> io::Result<()> {
    let text: String = (1..=1_000).map(|line| format!("{line:04} of round {round}\n")).collect();
    let file = bench.home.around().file("long", &text);
    let wanted = format!("{:04}", 100 + round * 13 % 800);
    let search = format!("^{wanted}");
    let found = format!("^{wanted} of round {round}$");
    let steps: [&[&str]; 9] = [
        &["wait", "--text", "0001 of", "--text", "0023 of"],
        &["keys", "Space"],
        &["wait", "--text", "0046 of"],
        &["keys", "/"],
        &["type", &search],
        &["keys", "Enter"],
        &["wait", "--regex", &found],
        &["snapshot"],
        &["keys", "q"],
    ];
    let done = drive(bench, &["less", &file.display().to_string()], &steps, 0)?;
    let first = done[7]["data"]["lines"][0].as_str().unwrap_or_default().trim_end().to_owned();
    same("the first line", &first[..], &found[1..found.len() - 1])
}

/// Asks it for help, and quits.
fn top(bench: &Bench, _: usize) -> io::Result<()> {
    let steps: [&[&str]; 6] = [
        &["wait", "--text", "load average", "--text", "PID"],
        &["keys", "h"],
        &["wait", "--text", "Help for Interactive Commands"],
        &["keys", "q"],
        &["wait", "--text", "load average"],
        &["keys", "q"],
    ];
    drive(bench, &["top"], &steps, 0).map(drop)
}

/// Chooses an entry of its menu, or none.
fn dialog(bench: &Bench, round: usize) -> io::Result<()> {
    let script = "exec dialog --menu Fruit 15 40 5 a apple b banana c cherry d date e elder 2>chosen";
    let mut keys = vec!["keys"];
    keys.extend(vec!["Down"; round % 5]);
    // The second button says that nothing is chosen.
    let cancels = round % 6 == 5;
    keys.extend(cancels.then_some("Tab"));
    keys.push("Enter");
    let steps: [&[&str]; 2] = [&["wait", "--text", "elder", "--text", "Cancel"], &keys];
    drive(bench, &["sh", "-c", script], &steps, if cancels { 1 } else { 0 })?;
    let chosen = if cancels { "" } else { ["a", "b", "c", "d", "e"][round % 5] };
    same("the choice", &*std::fs::read_to_string(bench.beside("chosen"))?, chosen)
}

/// Runs a program, has one batch drive it to its end, and gives what became of each step.
fn drive(bench: &Bench, command: &[&str], steps: &[&[&str]], code: i32) -> io::Result<Value> {
    let around = bench.home.around().path().display().to_string();
    let id = bench.launch_with(&["--cwd", &around], command)?;
    let steps: Vec<&[&str]> = steps.iter().copied().chain([END]).collect();
    let steps = serde_json::to_string(&steps)?;
    let ran = bench.abide.run(&["batch", "--json", &id, &steps]);
    if ran.code() == Some(code) {
        return Ok(ran.json()["data"]["steps"].take());
    }
    let shown = bench.abide.run(&["snapshot", &id]).stdout;
    let told = format!("{command:?}: {:?} and not {code}: {}{}\n{shown}", ran.ending, ran.stdout, ran.stderr);
    Err(io::Error::other(told))
}
