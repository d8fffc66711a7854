//! A page of the manual being put together, in the language of man(7). Whatever is put on it is text: nothing
//! in it can be taken for a request.

use std::fmt::Write as _;

/// A page.
#[derive(Debug)]
pub(super) struct Roff(String);

impl Roff {
    /// A page of section 1. It has no date, so that the same abide makes the same page.
    pub(super) fn page(name: &str, version: &str) -> Self {
        let title = escape(&name.to_uppercase());
        Self(format!(".TH \"{title}\" \"1\" \"\" \"abide {version}\" \"abide manual\"\n"))
    }

    pub(super) fn section(&mut self, title: &str) -> &mut Self {
        // Writing into a string cannot fail, here and below.
        let _ = writeln!(self.0, ".SH \"{}\"", escape(&title.to_uppercase()));
        self
    }

    pub(super) fn subsection(&mut self, title: &str) -> &mut Self {
        let _ = writeln!(self.0, ".SS \"{}\"", escape(title));
        self
    }

    /// One line as it is.
    pub(super) fn line(&mut self, text: &str) -> &mut Self {
        let _ = writeln!(self.0, "{}", guarded(&escape(text)));
        self
    }

    /// A paragraph, with what stands between backticks in bold.
    pub(super) fn prose(&mut self, text: &str) -> &mut Self {
        if !text.trim().is_empty() {
            let _ = writeln!(self.0, ".PP\n{}", running(text));
        }
        self
    }

    /// A term, and what it means.
    pub(super) fn item(&mut self, term: &str, says: &str) -> &mut Self {
        let _ = writeln!(self.0, ".TP\n\\fB{}\\fR\n{}", escape(term), running(says));
        self
    }

    /// Lines as they are.
    pub(super) fn literal(&mut self, text: &str) -> &mut Self {
        self.0.push_str(".nf\n");
        for line in text.lines() {
            self.line(line);
        }
        self.0.push_str(".fi\n");
        self
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// Text that flows.
fn running(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let pieces = words.split('`').enumerate();
    let bold = |(at, piece): (usize, &str)| match at % 2 {
        0 => escape(piece),
        _ => format!("\\fB{}\\fR", escape(piece)),
    };
    guarded(&pieces.map(bold).collect::<String>())
}

/// A line that is not taken for a request.
fn guarded(line: &str) -> String {
    let request = line.starts_with(['.', '\'']);
    if request || line.is_empty() { format!("\\&{line}") } else { line.to_owned() }
}

/// Text whose every character is shown as it is.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\e"),
            '-' => escaped.push_str("\\-"),
            '\'' => escaped.push_str("\\(aq"),
            '`' => escaped.push_str("\\(ga"),
            '^' => escaped.push_str("\\(ha"),
            '~' => escaped.push_str("\\(ti"),
            '"' => escaped.push_str("\\(dq"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_on_a_page_is_taken_for_a_request() {
        let mut roff = Roff::page("abide-x", "1.2");
        roff.section("Name")
            .line(".so /etc/passwd")
            .prose("'ctrl-\\' is\n`a-b`")
            .item("-x", "")
            .literal("a\n\n.b");
        let expected = ".TH \"ABIDE\\-X\" \"1\" \"\" \"abide 1.2\" \"abide manual\"\n.SH \"NAME\"\n\
            \\&.so /etc/passwd\n.PP\n\\(aqctrl\\-\\e\\(aq is \\fBa\\-b\\fR\n.TP\n\\fB\\-x\\fR\n\\&\n\
            .nf\na\n\\&\n\\&.b\n.fi\n";
        assert_eq!(roff.finish(), expected);
    }
}
