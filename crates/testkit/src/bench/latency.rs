//! How long a driver waits: from typing to knowing that it is shown, and from a key to what it shows on an attached
//! terminal. Beside tmux and a bare terminal, in turn, so that all of them meet the same machine.

use std::io::{self, Write};
use std::process::Command;

use super::{Bench, Figures};
use crate::deadline::until;
use crate::tools::needed;
use crate::{Abide, Ran, Terminal};

const ROUNDS: usize = 300;
/// Answers every key at once, and with more than the key: what any terminal on the way echoes is no answer.
const ECHO: &str = "stty raw -echo; printf 'ready>'; exec perl -e 'while (sysread STDIN, $key, 99) { syswrite STDOUT, qq($key>) }'";
/// The first of many letters that are in no sequence by which a terminal is told something: each is typed once.
const LETTER: u32 = 'Ā' as u32;

/// # Errors
/// If something cannot be started.
pub fn run(out: &mut impl Write) -> io::Result<()> {
    needed(&["tmux", "perl"])?;
    let bench = Bench::new()?;
    let tmux = Tmux { socket: bench.beside("tmux"), config: bench.home.around().file("tmux.conf", "") };
    let _ = tmux.run(&["new-session", "-d", "-x", "80", "-y", "24", "sh", "-c", ECHO]);
    let _ = tmux.run(&["set-option", "-g", "status", "off"]);
    until("tmux shows it", || tmux.shows("ready"));
    let id = bench.ready(ECHO)?;
    typed(&bench, &id, &tmux, out)?;
    pressed(&bench, &id, &tmux, out)
}

/// From the start of the command that types to the end of the one that knows it shown.
fn typed(bench: &Bench, id: &str, tmux: &Tmux, out: &mut impl Write) -> io::Result<()> {
    let [mut two, mut one, mut theirs] = [const { Figures::new() }; 3];
    for round in 0..ROUNDS {
        // Enter first: each stands at the beginning of the line.
        let texts = ["a", "b", "c"].map(|kind| format!("\n{kind}{round:05}"));
        two.time(|| {
            bench.done(&["type", id, &texts[0]])?;
            bench.done(&["wait", "--timeout", "60s", "--text", texts[0].trim(), id]).map(drop)
        })?;
        one.time(|| {
            let steps = [["type", &texts[1]].to_vec(), ["wait", "--text", texts[1].trim()].to_vec()];
            bench.done(&["batch", id, &serde_json::to_string(&steps)?]).map(drop)
        })?;
        theirs.time(|| {
            let _ = tmux.run(&["send-keys", "-l", &texts[2].replace('\n', "\r")]);
            until("tmux shows it", || tmux.shows(texts[2].trim()));
            Ok(())
        })?;
    }
    writeln!(out, "{ROUNDS} times typed until known to be shown")?;
    writeln!(out, "  abide type, abide wait --text: {}", two.says())?;
    writeln!(out, "  abide batch of the two:        {}", one.says())?;
    writeln!(out, "  tmux send-keys, capture-pane:  {}", theirs.says())
}

/// From a key pressed at a terminal to what the program showed for it there.
fn pressed(bench: &Bench, id: &str, tmux: &Tmux, out: &mut impl Write) -> io::Result<()> {
    let mut bare = Command::new("sh");
    bare.args(["-c", ECHO]).env("PATH", Abide::PATH);
    let ways = [
        ("a bare terminal:", bare),
        ("abide attach:", bench.abide.command(&["attach", id])),
        ("tmux attach:", tmux.command(&["attach"])),
    ];
    let mut ways = ways.map(|(name, command)| (name, Terminal::start(&command), Figures::new()));
    for (_, attached, _) in &mut ways {
        // What was shown before is drawn only by who is attached.
        attached.until(">");
        attached.type_in("\rñ".as_bytes());
        attached.until("ñ>");
    }
    for (round, letter) in (LETTER..).filter_map(char::from_u32).enumerate().take(ROUNDS) {
        let (letter, answer) = (String::from(letter), format!("{letter}>"));
        for (_, attached, figures) in &mut ways {
            figures.time(|| {
                attached.type_in(letter.as_bytes());
                attached.until(&answer);
                Ok(())
            })?;
            if round % 20 == 19 {
                attached.type_in(b"\r");
            }
        }
    }
    writeln!(out, "{ROUNDS} keys until shown on a terminal")?;
    for (name, _, figures) in &ways {
        writeln!(out, "  {name:<30} {}", figures.says())?;
    }
    Ok(())
}

/// A tmux of its own: no one's settings, no one's sessions. It ends with this value.
#[derive(Debug)]
struct Tmux {
    socket: String,
    config: std::path::PathBuf,
}

impl Tmux {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-f").arg(&self.config).args(["-u", "-S", &self.socket]).args(args).env_clear();
        command.env("PATH", Abide::PATH).env("LC_ALL", "C.UTF-8").env("TERM", "xterm-256color");
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    fn shows(&self, text: &str) -> bool {
        self.run(&["capture-pane", "-p"]).stdout.contains(text)
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.run(&["kill-server"]);
    }
}
