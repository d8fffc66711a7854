//! tmux, fed the same bytes: a pane of the same size whose program writes them, then `capture-pane`.
//! A question behind the bytes, which tmux answers when it has read them, says when it is done.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use abide_core::screen::{Color, Size, Underline};
use abide_testkit::ScratchDir;
use unicode_width::UnicodeWidthChar;

use crate::seen::{Cell, Look, Seen, push};

const CONFIG: &str = "set -g status off\nset -s escape-time 0\nset -s focus-events off\n\
                      set -g remain-on-exit on\nset -g default-terminal tmux-256color\nset -g allow-rename off\n";
/// Breaks off what may be unfinished, then asks whether all is well; few programs ask that.
const QUESTION: &[u8] = b"\x18\x1b[5n";
/// No cell has more bytes.
const LONGEST: usize = 21;
const ASKED: &[u8] = b"\x1b[5n";
const ANSWER: &[u8] = b"\x1b[0n";

/// A server of our own, gone with this value.
pub struct Tmux {
    dir: ScratchDir,
    streams: usize,
}

impl Tmux {
    pub fn new() -> Self {
        let dir = ScratchDir::new();
        let _ = dir.file("config", CONFIG);
        let tmux = Self { dir, streams: 0 };
        // The server ends with its last session; this one stays.
        let _ = tmux.run(&["new-session", "-d", "-s", "base", "exec cat"]);
        tmux
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.dir.join("socket")).arg("-f").arg(self.dir.join("config"));
        command.args(args).env("LC_ALL", "C.UTF-8").env_remove("TMUX").stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> io::Result<String> {
        let output = self.command(args).output()?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(io::Error::other(format!("tmux {args:?}: {}", String::from_utf8_lossy(&output.stderr))))
        }
    }

    /// What it shows after these bytes.
    pub fn show(&mut self, size: Size, bytes: &[u8]) -> io::Result<Seen> {
        self.streams += 1;
        let name = format!("stream{}", self.streams);
        let path = self.dir.join(&name);
        std::fs::File::create(&path)?.write_all(bytes)?;
        let (cols, rows) = (size.cols.to_string(), size.rows.to_string());
        let own = std::env::current_exe()?;
        let feeder = format!("exec '{}' --feed '{}' {name}", own.display(), path.display());
        self.run(&["new-session", "-d", "-s", &name, "-x", &cols, "-y", &rows, &feeder])?;
        self.run(&["wait-for", &name])?;
        let target = format!("{name}:");
        let told = "#{cursor_y} #{cursor_x} #{cursor_flag} #{alternate_on}";
        let told = self.run(&["display-message", "-p", "-t", &target, told])?;
        let captured = self.run(&["capture-pane", "-p", "-e", "-N", "-t", &target])?;
        self.run(&["kill-session", "-t", &name])?;
        let numbers: Vec<usize> = told.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        let [row, col, visible, alternate] = numbers[..] else {
            return Err(io::Error::other(format!("tmux says {told:?}")));
        };
        let mut reader = Reader::default();
        let mut rows: Vec<Vec<Cell>> = captured.lines().map(|line| reader.cells(line, size)).collect();
        rows.resize_with(usize::from(size.rows), || vec![Cell::blank(); usize::from(size.cols)]);
        Ok(Seen {
            rows,
            // Behind the last column is where the next character wraps.
            cursor: (row, col.min(usize::from(size.cols) - 1)),
            cursor_visible: visible == 1,
            alternate: alternate == 1,
        })
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // Without a session there is no server.
        let _ = self.run(&["kill-server"]);
    }
}

/// What runs in a pane: writes the bytes as they are, waits for the answer, says so, and stays.
pub fn feed(path: &PathBuf, channel: &str) -> io::Result<()> {
    let bytes = std::fs::read(path)?;
    Command::new("stty").args(["raw", "-echo"]).status()?;
    let mut out = io::stdout();
    out.write_all(&bytes)?;
    out.write_all(QUESTION)?;
    out.flush()?;
    let count = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).filter(|part| *part == what).count();
    let expected = count(&bytes, ASKED) + 1;
    let (mut heard, mut piece) = (Vec::new(), [0; 4096]);
    while count(&heard, ANSWER) < expected {
        let length = io::stdin().read(&mut piece)?;
        heard.extend_from_slice(&piece[..length]);
    }
    Command::new("tmux").args(["wait-for", "-S", channel]).status()?;
    while io::stdin().read(&mut piece)? > 0 {}
    Ok(())
}

/// Reads `capture-pane -e`: text, SGR, and the shifts around line drawing, which all last beyond the end of a line.
#[derive(Default)]
struct Reader {
    look: Look,
    drawing: bool,
}

impl Reader {
    fn cells(&mut self, line: &str, size: Size) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        let mut chars = line.chars();
        let mut joining = false;
        while let Some(ch) = chars.next() {
            match ch {
                '\x1b' => {
                    let sequence: String = chars.by_ref().skip(1).take_while(|ch| *ch != 'm').collect();
                    select(&mut self.look, &sequence);
                }
                '\x0e' => self.drawing = true,
                '\x0f' => self.drawing = false,
                _ => {
                    let ch = if self.drawing { drawn(ch) } else { ch };
                    self.put(&mut cells, ch, joining);
                    joining = ch == '\u{200d}';
                }
            }
        }
        cells.resize_with(usize::from(size.cols).max(cells.len()), Cell::blank);
        cells
    }

    fn put(&self, cells: &mut Vec<Cell>, ch: char, joining: bool) {
        // libc shows a soft hyphen.
        let width = if ch == '\u{ad}' { 1 } else { ch.width().unwrap_or(1) };
        let head = cells.iter().rposition(|cell| cell.width > 0);
        match head {
            // What follows a joiner is joined, if there is room.
            Some(head) if width == 0 || (joining && cells[head].text.len() + ch.len_utf8() <= LONGEST) => {
                cells[head].text.push(ch);
            }
            Some(_) | None => {
                push(cells, Cell { text: ch.to_string(), width: width as u8, look: self.look.clone() });
            }
        }
    }
}

/// DEC special graphics.
fn drawn(ch: char) -> char {
    let map = "`◆a▒b␉c␌d␍e␊f°g±h␤i␋j┘k┐l┌m└n┼o⎺p⎻q─r⎼s⎽t├u┤v┴w┬x│y≤z≥{π|≠}£~·";
    let pairs: Vec<char> = map.chars().collect();
    pairs.chunks(2).find(|pair| pair[0] == ch).map_or(ch, |pair| pair[1])
}

/// The SGR that `capture-pane` writes.
fn select(look: &mut Look, sequence: &str) {
    let mut numbers = sequence.split(';');
    while let Some(number) = numbers.next() {
        // It writes the line above text (53) as if it were a kind of the fifth attribute.
        let number = if number == "5:3" { "53" } else { number };
        let parts: Vec<&str> = number.split(':').collect();
        let number = parts[0].parse().unwrap_or(0_u16);
        match number {
            0 => *look = Look::default(),
            4 => {
                look.underline = match parts.get(1) {
                    None | Some(&"1") => Underline::Single,
                    Some(&"2") => Underline::Double,
                    Some(&"3") => Underline::Curly,
                    Some(&"4") => Underline::Dotted,
                    Some(&"5") => Underline::Dashed,
                    Some(_) => Underline::None,
                }
            }
            1..=9 | 53 => look.put(number as u8, true),
            22 => [1, 2].into_iter().for_each(|number| look.put(number, false)),
            24 => look.underline = Underline::None,
            23 | 25..=29 => look.put(number as u8 - 20, false),
            55 => look.put(53, false),
            30..=37 => look.fg = Color::Indexed(number as u8 - 30),
            90..=97 => look.fg = Color::Indexed(number as u8 - 82),
            39 => look.fg = Color::Default,
            40..=47 => look.bg = Color::Indexed(number as u8 - 40),
            100..=107 => look.bg = Color::Indexed(number as u8 - 92),
            49 => look.bg = Color::Default,
            59 => look.underline_color = Color::Default,
            38 | 48 | 58 => {
                let mut rest: Vec<&str> = parts[1..].to_vec();
                if rest.is_empty() {
                    let kind = numbers.next().unwrap_or("");
                    rest.push(kind);
                    rest.extend(numbers.by_ref().take(if kind == "5" { 1 } else { 3 }));
                }
                let bytes: Vec<u8> = rest[1..].iter().filter_map(|part| part.parse().ok()).collect();
                let color = match bytes[..] {
                    [index] => Color::Indexed(index),
                    [r, g, b] => Color::Rgb(r, g, b),
                    _ => Color::Default,
                };
                match number {
                    38 => look.fg = color,
                    48 => look.bg = color,
                    _ => look.underline_color = color,
                }
            }
            _ => {}
        }
    }
}
