//! What leaves the program: one envelope of JSON, or text for people. Everything goes through one buffered
//! writer; a reader that has gone away ends nothing and is no failure.

use std::io::{self, BufWriter, StdoutLock, Write};

use abide_core::failure::Failure;
use schemars::JsonSchema;
use serde::Serialize;

use crate::config::form::Colours;
use crate::show::page::Page;
use crate::show::safe;
use crate::show::word::{CodeName, StatusName};

/// The version of everything that is printed as JSON.
pub(crate) const SCHEMA: &str = "abide/1";

/// Standard output, and how to speak there.
#[derive(Debug)]
pub(crate) struct Output {
    command: &'static str,
    json: bool,
    colours: Colours,
    out: BufWriter<StdoutLock<'static>>,
    reader_left: bool,
    warnings: Vec<String>,
}

impl Output {
    pub(crate) fn new(command: &'static str, json: bool, colours: Colours) -> Self {
        let out = BufWriter::new(io::stdout().lock());
        Self { command, json, colours, out, reader_left: false, warnings: Vec::new() }
    }

    /// Whether programs listen, not people.
    pub(crate) const fn is_json(&self) -> bool {
        self.json
    }

    /// Shows an answer: the data as JSON, or the text that `write` makes of it.
    ///
    /// # Errors
    /// If it cannot be written, for another reason than that nobody reads it.
    pub(crate) fn show<D: Serialize>(
        &mut self,
        data: &D,
        write: impl FnOnce(&mut Page),
    ) -> Result<(), Failure> {
        if self.json {
            let warnings = self.warnings.as_slice();
            let answer = Answer { schema: SCHEMA, ok: true, command: self.command, data, warnings };
            return self.put(safe::json(&answer).as_bytes());
        }
        let mut page = Page::for_standard_output(self.colours);
        write(&mut page);
        self.put(page.text().as_bytes())
    }

    /// Passes on the very bytes.
    ///
    /// # Errors
    /// As `show`.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.put(bytes)
    }

    /// Passes on the very bytes of somebody's errors, if anyone reads them.
    pub(crate) fn raw_errors(&self, bytes: &[u8]) {
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
    }

    /// Whether anybody still reads.
    pub(crate) const fn has_reader(&self) -> bool {
        !self.reader_left
    }

    /// A remark for people beside the answer. Programs do not get it.
    pub(crate) fn remark(&self, text: &str) {
        if !self.json {
            complain(text);
        }
    }

    /// Warns of what the answer does not show: on standard error, and for programs with the answer too.
    pub(crate) fn warn(&mut self, text: &str, hint: Option<&str>) {
        complain(&format!("abide: warning: {}", safe::line(text)));
        if let Some(hint) = hint {
            complain(&format!("hint: {}", safe::line(hint)));
        }
        if self.json {
            self.warnings.push(text.to_owned());
        }
    }

    /// Tells a failure, on standard output if programs listen.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        if self.json {
            let error = FailureView::new(failure);
            let refusal = Refusal { schema: SCHEMA, ok: false, command: self.command, error };
            // Nobody is left to tell that this could not be told; the exit code still says it.
            let _ = self.put(safe::json(&refusal).as_bytes());
            return;
        }
        complain(&format!("abide: {}", safe::line(&failure.message)));
        if let Some(hint) = &failure.hint {
            complain(&format!("hint: {}", safe::line(hint)));
        }
    }

    /// Tells in clap's words what is wrong with the arguments.
    pub(crate) fn complain(&self, text: &str) {
        complain(&safe::lines(text));
    }

    /// Prints help, in colour where that is welcome.
    pub(crate) fn help(&mut self, help: &clap::builder::StyledStr) {
        let text = if Page::for_standard_output(self.colours).colours() {
            help.ansi().to_string()
        } else {
            help.to_string()
        };
        // As above: help that cannot be printed cannot be complained about either.
        let _ = self.put(format!("{}\n", text.trim_end()).as_bytes());
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.reader_left {
            return Ok(());
        }
        match self.out.write_all(bytes).and_then(|()| self.out.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.reader_left = true;
                Ok(())
            }
            Err(error) => Err(Failure::io("write to", &"standard output", &error)),
        }
    }
}

fn complain(text: &str) {
    let mut stderr = io::stderr().lock();
    // There is nowhere left to complain to.
    let _ = writeln!(stderr, "{}", text.trim_end_matches('\n'));
}

/// The envelope of an answer.
#[derive(Debug, Serialize)]
struct Answer<'a, D> {
    schema: &'static str,
    ok: bool,
    command: &'static str,
    data: &'a D,
    /// There only if there is something to warn of.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

/// The envelope of a failure.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Failure")]
pub(crate) struct Refusal<'a> {
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    #[schemars(extend("const" = false))]
    ok: bool,
    /// The command that failed; `abide` if none was recognised.
    command: &'static str,
    error: FailureView<'a>,
}

/// A refusal or an error.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
struct FailureView<'a> {
    code: CodeName,
    message: &'a str,
    /// The way out.
    hint: Option<&'a str>,
    /// The session it is about.
    session: Option<&'a str>,
    /// That session's status.
    status: Option<StatusName>,
}

impl<'a> FailureView<'a> {
    fn new(failure: &'a Failure) -> Self {
        Self {
            code: CodeName(failure.code),
            message: &failure.message,
            hint: failure.hint.as_deref(),
            session: failure.session.as_deref(),
            status: failure.status.map(StatusName),
        }
    }
}
