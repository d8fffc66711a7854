//! The verbs by which another program uses a terminal as a person would.

pub(super) mod batch;
pub(super) mod exec;
pub(super) mod keys;
pub(super) mod paste;
pub(super) mod prompt;
pub(super) mod resize;
pub(super) mod signal;
pub(super) mod type_text;

use std::io::Read;
use std::path::Path;

use abide_core::failure::{Code, Failure};
use abide_engine::{Driver, Session, Typed};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Front, ended_by, run};

/// How long a program may take nothing of what is typed before that is told.
const PATIENCE: &str = "10s";

/// Where text comes from: the command line, a file or standard input.
#[derive(Debug, clap::Args)]
pub(super) struct Text {
    /// The text
    #[arg(value_name = "TEXT", required_unless_present = "file", allow_hyphen_values = true)]
    text: Option<String>,
    /// Take the text from this file; `-` for standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "text")]
    file: Option<String>,
}

impl Text {
    fn bytes(self) -> Result<Vec<u8>, Failure> {
        let bytes = match (self.text, self.file.as_deref()) {
            (Some(text), _) => Ok(text.into_bytes()),
            (None, file) => read_text(file.unwrap_or("-")),
        }?;
        if bytes.is_empty() {
            return Err(
                Failure::new(Code::Usage, "there is no text").hint("give a TEXT, or a FILE that has some")
            );
        }
        Ok(bytes)
    }
}

/// The bytes of a file, or of standard input if it is `-`.
fn read_text(file: &str) -> Result<Vec<u8>, Failure> {
    if file != "-" {
        return std::fs::read(file).map_err(|e| {
            let path = Path::new(file).display();
            Failure::io("read", &path, &e)
                .hint(format!("`{path}` must be a file that can be read; `-` is standard input"))
        });
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    read.map(|_| bytes).map_err(|e| Failure::io("read", &"standard input", &e))
}

/// How long to wait for a program that does not read.
#[derive(Debug, clap::Args)]
pub(super) struct Patience {
    /// Give up when the program takes nothing for so long
    #[arg(long, value_name = "DURATION", default_value = PATIENCE)]
    timeout: String,
}

impl Patience {
    fn ms(&self) -> Result<u64, Failure> {
        run::parse_duration(&self.timeout)
    }
}

/// What was typed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Typed")]
pub(crate) struct TypedView {
    id: String,
    /// How much the program had shown before: a baseline for `wait --since`.
    seq: u64,
    /// How many bytes were written to its terminal.
    bytes: u64,
}

/// Types into a session and tells how much was typed, also where a signal ends that. Within another command that one
/// heeds the signals.
fn drive(
    front: &mut Front,
    session: &Session,
    act: impl FnOnce(&mut Driver<'_>) -> Result<Typed, Failure>,
) -> Result<u8, Failure> {
    let sessions = front.sessions()?;
    let driver = sessions.driver(session)?;
    let mut driver = if front.output.is_kept() { driver } else { driver.heeding() };
    match (act(&mut driver), driver.ended_by()) {
        (Err(failure), Some(signal)) => {
            front.output.fail(&failure);
            Ok(ended_by(signal))
        }
        (typed, _) => TypedView::show(session, typed?, front),
    }
}

impl TypedView {
    fn show(session: &Session, typed: Typed, front: &mut Front) -> Result<u8, Failure> {
        let data = Self { id: session.id.to_string(), seq: typed.position, bytes: typed.bytes };
        front.output.show(&data, |page| {
            let unit = if data.bytes == 1 { "byte" } else { "bytes" };
            page.plain(&format!("{} {unit} typed into {}, since seq {}", data.bytes, data.id, data.seq))
                .end();
        })?;
        Ok(0)
    }
}
