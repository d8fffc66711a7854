//! What recordings are made into: one file a format. Each takes the steps of a replay in order and writes as it goes, so
//! that a recording of any length needs little memory. A further format is a file here and its line in `cmd/export.rs`.

pub(crate) mod cast;
pub(crate) mod film;
pub(crate) mod html;
pub(crate) mod redacted;
pub(crate) mod text;

use std::borrow::Cow;
use std::io::{self, Write};

use abide_core::recording::redact;
use abide_core::screen::Screen;
use abide_engine::Step;

/// Kinds of video that nothing is made as; video is made as mp4.
pub(crate) const VIDEO: [&str; 4] = ["webm", "mkv", "mov", "avi"];

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

impl Wanted {
    /// What of a screen may be seen. `Redacted` has masked what came as lines; here goes what was drawn together.
    pub(crate) fn seen<'a>(&self, screen: &'a Screen) -> Cow<'a, Screen> {
        let masked = self.redact.then(|| redact::screen(screen)).flatten();
        masked.map_or(Cow::Borrowed(screen), Cow::Owned)
    }
}

/// Bytes that become whole characters.
#[derive(Debug, Default)]
pub(crate) struct Characters(Vec<u8>);

impl Characters {
    /// The text that is whole now that these bytes came; each byte that is no part of a character becomes what a terminal
    /// shows for it.
    pub(crate) fn whole(&mut self, bytes: &[u8]) -> String {
        self.0.extend_from_slice(bytes);
        let whole = self.0.utf8_chunks().last().map_or(0, |last| {
            let open = last.invalid();
            // A character that may still become whole waits for its rest.
            let waits = std::str::from_utf8(open).is_err_and(|error| error.error_len().is_none());
            self.0.len() - if waits { open.len() } else { 0 }
        });
        let rest = self.0.split_off(whole);
        String::from_utf8_lossy(&std::mem::replace(&mut self.0, rest)).into_owned()
    }
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

/// How a span ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    /// When, in microseconds since the recording began; none if with its last entry.
    pub(crate) micros: Option<u64>,
    /// What the session exited with, if it did and the span goes to its end.
    pub(crate) exit_code: Option<u8>,
}

/// Makes a recording into something.
pub(crate) trait Export {
    /// Takes the next step.
    ///
    /// # Errors
    /// If it cannot be written.
    fn take(&mut self, step: &Step<'_>, out: &mut dyn Write) -> io::Result<()>;

    /// Takes a step behind the end of the span, where what began in it may go on. True if it needs more of them.
    ///
    /// # Errors
    /// If what is known now cannot be written.
    fn take_behind(&mut self, _step: &Step<'_>, _out: &mut dyn Write) -> io::Result<bool> {
        Ok(false)
    }

    /// Here the span ends, and so stands its screen.
    ///
    /// # Errors
    /// If it cannot be written.
    fn end(&mut self, _screen: &Screen, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Nothing follows.
    ///
    /// # Errors
    /// If it cannot be written.
    fn finish(&mut self, ending: Ending, out: &mut dyn Write) -> io::Result<()>;

    /// Whether it needs the screen at every step, or at the beginning only.
    fn needs_screen(&self) -> bool;
}
