//! asciicast, versions 2 and 3: what others play. Each piece holds whole characters and whole sequences, however the recording
//! cut them. What asks the terminal something, or sets its clipboard, is left out: an export shows, and does nothing else.

use std::io::{self, Write};

use abide_core::passage::Passage;
use abide_core::recording::pace::Pace;
use abide_core::recording::veil::Tag;
use abide_core::recording::{Kind, parse_resize, typed};
use abide_core::screen::{Screen, Size};
use abide_engine::{Step, What};
use serde::Serialize;

use super::{Characters, Ending, Export, Wanted};
use crate::show::safe;

/// Makes a terminal as it was at first.
const RESET: &str = "\x1bc";

/// A version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Version {
    #[value(name = "2")]
    Two,
    #[value(name = "3")]
    Three,
}

#[derive(Debug, Serialize)]
struct HeaderV2<'a> {
    version: u8,
    width: u16,
    height: u16,
    #[serde(rename = "timestamp")]
    began: i64,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct HeaderV3<'a> {
    version: u8,
    term: Term,
    #[serde(rename = "timestamp")]
    began: i64,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Term {
    cols: u16,
    rows: u16,
    #[serde(rename = "type")]
    kind: &'static str,
}

/// What happened at some time.
#[derive(Debug)]
struct Piece {
    micros: u64,
    code: &'static str,
    data: String,
}

/// Writes a cast.
#[derive(Debug)]
pub(crate) struct Cast {
    version: Version,
    wanted: Wanted,
    pace: Pace,
    passage: Passage,
    typed: Characters,
    /// When the last piece came.
    last: u64,
}

impl Cast {
    pub(crate) fn new(version: Version, wanted: Wanted) -> Self {
        Self {
            version,
            pace: Pace::new(0, wanted.idle_limit),
            passage: Passage::default(),
            typed: Characters::default(),
            wanted,
            last: 0,
        }
    }

    fn begin(&mut self, step: &Step<'_>, out: &mut dyn Write) -> io::Result<()> {
        let begins = if self.wanted.from_start { 0 } else { step.at.micros };
        self.pace = Pace::new(begins, self.wanted.idle_limit);
        let size = step.screen.size();
        let about = &self.wanted.about;
        let since = i64::try_from(step.at.micros / 1000).unwrap_or(0);
        let begun_ms = if self.wanted.from_start { step.at.wall.saturating_sub(since) } else { step.at.wall };
        let began = begun_ms.div_euclid(1000);
        let (title, command) = (&about.title, about.command.as_deref());
        let (cols, rows) = (size.cols, size.rows);
        let header = match self.version {
            Version::Two => {
                safe::json(&HeaderV2 { version: 2, width: cols, height: rows, began, title, command })
            }
            Version::Three => safe::json(&HeaderV3 {
                version: 3,
                term: Term { cols, rows, kind: "xterm-256color" },
                began,
                title,
                command,
            }),
        };
        out.write_all(header.as_bytes())?;
        if self.wanted.from_start {
            return Ok(());
        }
        self.picture(step.screen, "", 0, out)
    }

    /// A screen that is there at once; what is not whole on it comes with its rest.
    fn picture(&mut self, screen: &Screen, before: &str, micros: u64, out: &mut dyn Write) -> io::Result<()> {
        let picture = screen.dump_for_viewers(usize::MAX);
        self.passage = Passage::default();
        let _ = self.passage.pass(&screen.unfinished());
        let data = format!("{before}{}", String::from_utf8_lossy(&picture));
        self.write(&Piece { micros, code: "o", data }, out)
    }

    /// Behind what was let go: whatever a player has there is gone with it.
    fn go_on(&mut self, step: &Step<'_>, out: &mut dyn Write) -> io::Result<()> {
        let (micros, size) = (self.pace.at(step.at.micros), step.screen.size());
        self.write(&Piece { micros, code: "r", data: sized(size) }, out)?;
        self.picture(step.screen, RESET, micros, out)
    }

    fn write(&mut self, piece: &Piece, out: &mut dyn Write) -> io::Result<()> {
        if piece.data.is_empty() {
            return Ok(());
        }
        let micros = match self.version {
            Version::Two => piece.micros,
            Version::Three => piece.micros - std::mem::replace(&mut self.last, piece.micros),
        };
        write!(out, "[{}.{:06}, \"{}\", ", micros / 1_000_000, micros % 1_000_000, piece.code)?;
        writeln!(out, "{}]", safe::json(&piece.data).trim_end())
    }

    /// Output as text: each byte that is no part of a character becomes what a terminal shows for it.
    fn shown(&mut self, bytes: &[u8]) -> String {
        let passed = self.passage.pass(bytes);
        let text = String::from_utf8_lossy(&passed.without_clipboard()).into_owned();
        if self.wanted.about.has_terminal { text } else { text.replace('\n', "\r\n") }
    }
}

fn sized(size: Size) -> String {
    format!("{}x{}", size.cols, size.rows)
}

impl Export for Cast {
    fn take(&mut self, step: &Step<'_>, out: &mut dyn Write) -> io::Result<()> {
        let entry = match &step.what {
            What::Begin(_) => return self.begin(step, out),
            What::Screen => return self.go_on(step, out),
            What::CaughtUp => return out.flush(),
            What::Gap(_) | What::LetGo => return Ok(()),
            What::Entry(entry, _) => entry,
        };
        let (code, data) = match entry.kind {
            Kind::Output | Kind::Errors => ("o", self.shown(entry.payload)),
            Kind::Input if self.wanted.input => ("i", self.typed.whole(typed(entry.payload))),
            Kind::Exec if self.wanted.input => {
                let keys = Tag::of(entry.payload).map(|tag| tag.keys()).unwrap_or_default();
                ("i", self.typed.whole(&keys))
            }
            Kind::Resize => match parse_resize(entry.payload) {
                Some(size) => ("r", sized(size)),
                None => return Ok(()),
            },
            Kind::Mark => ("m", String::from_utf8_lossy(entry.payload).into_owned()),
            Kind::Start
            | Kind::Input
            | Kind::Hidden
            | Kind::Answer
            | Kind::Lines
            | Kind::Exec
            | Kind::Cut
            | Kind::Shed
            | Kind::Screen => return Ok(()),
        };
        // What is left out, or held back until it is whole, ends no pause.
        if !data.is_empty() {
            let micros = self.pace.at(step.at.micros);
            self.write(&Piece { micros, code, data }, out)?;
        }
        // Where nothing follows yet, somebody may wait for what there is.
        if step.until.is_none() { out.flush() } else { Ok(()) }
    }

    fn finish(&mut self, ending: Ending, out: &mut dyn Write) -> io::Result<()> {
        let rest = String::from_utf8_lossy(self.passage.held()).into_owned();
        self.passage = Passage::default();
        let micros = self.pace.shown();
        self.write(&Piece { micros, code: "o", data: rest }, out)?;
        let micros = ending.micros.map_or(micros, |ended| self.pace.at(ended));
        if let (Version::Three, Some(code)) = (self.version, ending.exit_code) {
            self.write(&Piece { micros, code: "x", data: code.to_string() }, out)?;
        }
        out.flush()
    }

    fn needs_screen(&self) -> bool {
        false
    }
}
