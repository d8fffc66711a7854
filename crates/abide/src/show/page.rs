//! A page of text for people. Whatever is put on it is made safe for the terminal first, so no view can forget;
//! lines and colours are the page's own.

use std::io::IsTerminal;

use super::safe;
use super::wrap::wrap;
use crate::config::form::Colours;
use crate::environment::Variable;

/// How a piece of text is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Faint,
    Good,
    Warn,
    Bad,
}

impl Tone {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "\x1b[1m",
            Self::Faint => "\x1b[2m",
            Self::Good => "\x1b[32m",
            Self::Warn => "\x1b[33m",
            Self::Bad => "\x1b[31m",
        }
    }
}

/// No text is squeezed into less than this.
const READABLE: usize = 24;

/// As much as most facts say.
const AMPLE: usize = 40;

/// In fewer columns, what says little would leave no room to tell one status from another.
const NARROW: usize = 70;

/// Text being put together.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    colours: bool,
    /// The width of the terminal in cells; none if nobody looks.
    width: Option<usize>,
}

impl Page {
    pub(crate) const fn new(colours: bool, width: Option<usize>) -> Self {
        Self { text: String::new(), colours, width }
    }

    /// A page as standard output wants it.
    pub(crate) fn for_standard_output(colours: Colours) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let colours = match colours {
            Colours::Always => true,
            Colours::Never => false,
            Colours::Auto => terminal && Variable::Term.value().is_some_and(|term| term != "dumb"),
        };
        let columns = Variable::Columns.value().and_then(|value| value.to_str()?.parse().ok());
        let columns = columns.filter(|width| *width > 0);
        let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = if terminal { seen().filter(|width| *width > 0).or(columns) } else { columns };
        Self::new(colours, width)
    }

    pub(crate) const fn colours(&self) -> bool {
        self.colours
    }

    pub(crate) const fn width(&self) -> Option<usize> {
        self.width
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Puts a piece of text on the current line.
    pub(crate) fn put(&mut self, tone: Tone, text: &str) -> &mut Self {
        let code = if self.colours { tone.code() } else { "" };
        self.text.push_str(code);
        self.text.push_str(&safe::line(text));
        if !code.is_empty() {
            self.text.push_str("\x1b[0m");
        }
        self
    }

    /// Puts a line that a program printed: its tabs stay, nothing else that moves the cursor does.
    pub(crate) fn printed(&mut self, text: &str) -> &mut Self {
        for (at, piece) in text.split('\t').enumerate() {
            if at > 0 {
                self.tab();
            }
            self.text.push_str(&safe::printed(piece));
        }
        self
    }

    /// Puts a piece of plain text on the current line.
    pub(crate) fn plain(&mut self, text: &str) -> &mut Self {
        self.put(Tone::Plain, text)
    }

    /// Puts the rest of a line that has `used` cells already, on as many lines as it takes; the others are indented.
    pub(crate) fn flow(&mut self, tone: Tone, text: &str, used: usize, indent: usize) -> &mut Self {
        let Some(width) = self.width else {
            return self.put(tone, text).end();
        };
        let text = safe::line(text);
        let lines = wrap(&text, width.saturating_sub(used), width.saturating_sub(indent));
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                self.blanks(indent);
            }
            self.put(tone, line).end();
        }
        self
    }

    /// Whether a line that has `used` cells already leaves room to read a text beside them.
    pub(crate) fn has_room(&self, used: usize) -> bool {
        self.width.is_none_or(|width| width >= used + READABLE)
    }

    /// Whether what most facts say has room there, on the same line.
    pub(crate) fn has_ample_room(&self, used: usize) -> bool {
        self.width.is_none_or(|width| width >= used + AMPLE)
    }

    /// Whether a table of sessions has room only for what tells them apart.
    pub(crate) fn is_narrow(&self) -> bool {
        self.width.is_some_and(|width| width < NARROW)
    }

    /// Puts blanks on the current line.
    pub(crate) fn blanks(&mut self, count: usize) -> &mut Self {
        const BLANKS: &str = "                                ";
        for _ in 0..count / BLANKS.len() {
            self.text.push_str(BLANKS);
        }
        self.text.push_str(&BLANKS[..count % BLANKS.len()]);
        self
    }

    /// Puts a tab on the current line.
    pub(crate) fn tab(&mut self) -> &mut Self {
        self.text.push('\t');
        self
    }

    /// Ends the current line.
    pub(crate) fn end(&mut self) -> &mut Self {
        self.text.push('\n');
        self
    }

    /// Puts whole lines that are safe already, and ours or the caller's own.
    pub(crate) fn own_lines(&mut self, text: &str) {
        self.text.push_str(text);
        self.end();
    }
}
