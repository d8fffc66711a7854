//! What recordings are made into: one file a format. Each takes the steps of a replay in order and writes as it goes, so
//! that a recording of any length needs little memory. A further format is a file here and its line in `cmd/export.rs`.

pub(crate) mod cast;
pub(crate) mod film;
pub(crate) mod html;
pub(crate) mod text;

use std::io::{self, Write};

use abide_core::screen::Screen;
use abide_engine::Step;

/// What is the same for every format.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// No pause is longer, in microseconds.
    pub(crate) idle_limit: Option<u64>,
    /// With what was typed.
    pub(crate) input: bool,
    /// Without what looks like a secret.
    pub(crate) redact: bool,
    /// The span begins where the recording does.
    pub(crate) from_start: bool,
    pub(crate) about: About,
}

/// What is known of the session.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// Its name, or its ID.
    pub(crate) title: String,
    /// With what looks like a secret masked.
    pub(crate) command: Option<String>,
    /// It writes to a terminal; else nobody puts a carriage return before a line feed.
    pub(crate) has_terminal: bool,
}

/// Makes a recording into something.
pub(crate) trait Export {
    /// Takes the next step.
    ///
    /// # Errors
    /// If it cannot be written.
    fn take(&mut self, step: &Step<'_>, out: &mut dyn Write) -> io::Result<()>;

    /// Here the span ends, and so stands its screen.
    ///
    /// # Errors
    /// If it cannot be written.
    fn end(&mut self, _screen: &Screen, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Nothing follows; the session ended with this code, if it did and the span goes to its end.
    ///
    /// # Errors
    /// If it cannot be written.
    fn finish(&mut self, exit_code: Option<u8>, out: &mut dyn Write) -> io::Result<()>;

    /// Whether it needs the screen at every step, or at the beginning only.
    fn needs_screen(&self) -> bool;
}
