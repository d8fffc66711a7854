//! What leaves the program: one envelope of JSON, or text for people. Everything goes through one buffered
//! writer; a reader that has gone away ends nothing and is no failure. An answer that may be longer than memory is
//! given item by item, and is one envelope all the same.

use std::io::{self, BufWriter, Stdout, Write};
use std::path::Path;

use abide_core::failure::Failure;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::BatchView;
use crate::config::form::Colours;
use crate::show::page::Page;
use crate::show::word::{CodeName, StatusName};
use crate::show::{safe, shell};

/// The version of everything that is printed as JSON.
pub(crate) const SCHEMA: &str = "abide/1";

/// A blank at which no line is broken.
pub(crate) const NO_BREAK: &str = "\u{a0}";

/// Standard output, and how to speak there.
#[derive(Debug)]
pub(crate) struct Output {
    command: &'static str,
    json: bool,
    colours: Colours,
    out: Sink,
    reader: Reader,
    warnings: Vec<String>,
    /// What every command that is hinted at must be given to mean the same home.
    options: Option<String>,
    list: List,
}

/// Where it goes.
#[derive(Debug)]
enum Sink {
    Standard(BufWriter<Stdout>),
    /// To whoever asked for it within this program.
    Kept(Vec<u8>),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Standard(out) => out.write(bytes),
            Self::Kept(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Standard(out) => out.flush(),
            Self::Kept(_) => Ok(()),
        }
    }
}

/// An answer on its way out, of which nothing is kept.
struct Passing<'a> {
    output: &'a mut Output,
    failure: Option<Failure>,
}

impl Write for Passing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.output.write(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(failure) => {
                self.failure = Some(failure);
                Err(io::ErrorKind::Other.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Who takes what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Listens,
    Left,
    /// A write failed: what stands there is cut off, and nothing more may be put behind it.
    Cut,
}

/// How far an answer is that is given item by item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    NotBegun,
    /// So its items are named in JSON.
    Open(&'static str),
}

impl Output {
    pub(crate) fn new(command: &'static str, json: bool, colours: Colours) -> Self {
        let out = Sink::Standard(BufWriter::new(io::stdout()));
        let (reader, list) = (Reader::Listens, List::NotBegun);
        Self { command, json, colours, out, reader, warnings: Vec::new(), options: None, list }
    }

    /// For a command within this one: its answer is kept, as JSON, and nothing of it is shown.
    pub(crate) fn within(&self, command: &'static str) -> Self {
        let (out, options) = (Sink::Kept(Vec::new()), self.options.clone());
        let (reader, list) = (Reader::Listens, List::NotBegun);
        Self { command, json: true, colours: self.colours, out, reader, warnings: Vec::new(), options, list }
    }

    /// Whether it is that of a command within another one.
    pub(crate) const fn is_kept(&self) -> bool {
        matches!(self.out, Sink::Kept(_))
    }

    /// What was kept.
    pub(crate) fn kept(self) -> Vec<u8> {
        match self.out {
            Sink::Standard(_) => Vec::new(),
            Sink::Kept(bytes) => bytes,
        }
    }

    /// Names the home in every command that is hinted at, as it was named by a flag.
    pub(crate) fn name_home(self, home: Option<&Path>) -> Self {
        let options = home.map(|home| format!("--home {}", shell::word(&home.to_string_lossy())));
        Self { options, ..self }
    }

    /// A hint, with all that its commands need to be complete.
    pub(crate) fn hinted(&self, text: &str) -> String {
        self.options.as_ref().map_or_else(|| text.to_owned(), |options| shell::with_options(text, options))
    }

    /// From now on programs listen, as with `--json`.
    pub(crate) const fn speak_json(&mut self) {
        self.json = true;
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
            let warnings = &self.warnings.clone();
            let answer = Answer { schema: SCHEMA, ok: true, command: self.command, data, warnings };
            let mut passing = Passing { output: self, failure: None };
            safe::write_json(&answer, &mut passing);
            passing.failure.map_or(Ok(()), Err)?;
            return self.flush();
        }
        let mut page = Page::for_standard_output(self.colours);
        write(&mut page);
        self.put(page.text().as_bytes())
    }

    /// Shows one item of an answer whose items have this name, the first with what comes before all of them.
    ///
    /// # Errors
    /// As `show`.
    pub(crate) fn item<D: Serialize>(
        &mut self,
        name: &'static str,
        item: &D,
        write: impl FnOnce(&mut Page),
    ) -> Result<(), Failure> {
        if !self.json {
            let mut page = Page::for_standard_output(self.colours);
            write(&mut page);
            return self.write(page.text().as_bytes());
        }
        let before = if self.list == List::NotBegun { self.head(name) } else { ",".to_owned() };
        self.list = List::Open(name);
        self.write(before.as_bytes())?;
        self.write(safe::json(item).trim_end().as_bytes())
    }

    /// Shows what comes after all items of that name, also if there was none.
    ///
    /// # Errors
    /// As `show`.
    pub(crate) fn end_items(&mut self, name: &'static str) -> Result<(), Failure> {
        if self.json {
            if self.list == List::NotBegun {
                let head = self.head(name);
                self.write(head.as_bytes())?;
            }
            let warnings = if self.warnings.is_empty() {
                String::new()
            } else {
                format!(",\"warnings\":{}", safe::json(&self.warnings).trim_end())
            };
            self.write(format!("]}}{warnings}}}\n").as_bytes())?;
            self.list = List::NotBegun;
        }
        self.flush()
    }

    /// The envelope up to the first item.
    fn head(&self, name: &str) -> String {
        let command = self.command;
        format!("{{\"schema\":\"{SCHEMA}\",\"ok\":true,\"command\":\"{command}\",\"data\":{{\"{name}\":[")
    }

    /// An empty page as standard output wants it.
    pub(crate) fn page(&self) -> Page {
        Page::for_standard_output(self.colours)
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
        match self.reader {
            Reader::Listens => true,
            Reader::Left | Reader::Cut => false,
        }
    }

    /// A remark for people beside the answer. Programs do not get it.
    pub(crate) fn remark(&self, text: &str) {
        if !self.json {
            complain(&safe::lines(&self.hinted(text)));
        }
    }

    /// Warns of what the answer does not show: on standard error, and for programs with the answer too.
    pub(crate) fn warn(&mut self, text: &str, hint: Option<&str>) {
        if matches!(self.out, Sink::Kept(_)) {
            return self.warnings.push(text.to_owned());
        }
        complain(&format!("abide: warning: {}", safe::line(text)));
        if let Some(hint) = hint {
            complain(&format!("hint: {}", safe::line(&self.hinted(hint))));
        }
        if self.json {
            self.warnings.push(text.to_owned());
        }
    }

    /// Tells a failure: on standard output if programs listen and nothing stands there yet, else on standard error.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        self.fail_with(failure, None);
    }

    /// The same, with what there was until then.
    pub(crate) fn fail_with(&mut self, failure: &Failure, until: Option<Until>) {
        let hint = failure.hint.as_ref().map(|hint| self.hinted(hint));
        let failure = &Failure { message: briefly(&failure.message), ..failure.clone() };
        if self.json && self.list == List::NotBegun && self.reader != Reader::Cut {
            let error = FailureView::new(failure, hint.as_deref());
            let refusal = Refusal { schema: SCHEMA, ok: false, command: self.command, error, data: until };
            if self.put(safe::json(&refusal).as_bytes()).is_ok() {
                return;
            }
        }
        // What was given of an answer that failed in its middle stays without its end: nobody takes it for whole.
        let _ = self.flush();
        complain(&format!("abide: {}", safe::line(&failure.message)));
        if let Some(hint) = hint {
            complain(&format!("hint: {}", safe::line(&hint)));
        }
    }

    /// Prints help where something was left out, for people.
    pub(crate) fn help_instead(&self, help: &clap::builder::StyledStr) {
        complain(&safe::lines(&help.to_string()).replace(NO_BREAK, " "));
    }

    /// Prints help, in colour where that is welcome.
    ///
    /// # Errors
    /// As `show`.
    pub(crate) fn help(&mut self, help: &clap::builder::StyledStr) -> Result<(), Failure> {
        let text = if Page::for_standard_output(self.colours).colours() {
            help.ansi().to_string()
        } else {
            help.to_string()
        };
        let text = format!("{}\n", text.trim_end().replace(NO_BREAK, " "));
        self.put(text.as_bytes())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.write(bytes)?;
        self.flush()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if !self.has_reader() {
            return Ok(());
        }
        let written = self.out.write_all(bytes);
        self.heard(written)
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if !self.has_reader() {
            return Ok(());
        }
        let written = self.out.flush();
        self.heard(written)
    }

    fn heard(&mut self, written: io::Result<()>) -> Result<(), Failure> {
        match written {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.reader = Reader::Left;
                Ok(())
            }
            Err(error) => {
                self.reader = Reader::Cut;
                Err(Failure::io("write to", &"standard output", &error)
                    .hint("the answer is not whole: ask again, and send it elsewhere"))
            }
        }
    }
}

/// A message in which nothing that it quotes is huge.
fn briefly(message: &str) -> String {
    const MOST: usize = 400;
    const END: usize = 40;
    let brief = |(number, quoted): (usize, &str)| {
        let length = quoted.chars().count();
        if number % 2 == 0 || length <= MOST {
            return quoted.to_owned();
        }
        let begins: String = quoted.chars().take(MOST - END).collect();
        let ends: String = quoted.chars().skip(length - END).collect();
        format!("{begins}…{ends}")
    };
    message.split('`').enumerate().map(brief).collect::<Vec<_>>().join("`")
}

fn complain(text: &str) {
    // In one piece, whoever else writes there. There is nowhere left to complain to.
    let _ = io::stderr().write_all(format!("{}\n", text.trim_end_matches('\n')).as_bytes());
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
    /// There only if something was done until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Until>,
}

/// What there was until a failure.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Until {
    /// Of a line that `exec` saw begin and not end: what it wrote.
    Written(WrittenView),
    /// Of a batch that a signal ended: its steps.
    Batch(BatchView),
}

/// What a line wrote.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Written")]
pub(crate) struct WrittenView {
    /// Bytes that are no characters are replaced; then `output_base64` has them all.
    pub(crate) output: String,
    /// There only if the output is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("contentEncoding" = "base64"))]
    pub(crate) output_base64: Option<String>,
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
    fn new(failure: &'a Failure, hint: Option<&'a str>) -> Self {
        Self {
            code: CodeName(failure.code),
            message: &failure.message,
            hint,
            session: failure.session.as_deref(),
            status: failure.status.map(StatusName),
        }
    }
}
