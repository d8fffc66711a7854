//! The prompt that a shell drew when it came to wait: what stood before the cursor then, whatever others, who write to the
//! same terminal, have put behind it since.

use super::half::{edits, ends_line};

/// What stands so long, in microseconds, is what the terminal was left at.
const STANDS: u64 = 50_000;
/// Keys that leave a prompt as it was drawn.
const ERASES: [u8; 3] = [0x08, 0x15, 0x7f];

/// What a shell drew since a key last ended a line, as far as that can be told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drawn {
    text: Option<String>,
    /// Somebody typed since, so that what is shown may be that.
    typed: bool,
    /// The shell said that it begins to edit a line.
    edits: bool,
    /// What stood before the cursor last, and since when.
    last: (String, u64),
}

impl Drawn {
    /// Where nobody knows what was typed before.
    #[must_use]
    pub fn unknown() -> Self {
        Self { typed: true, ..Self::default() }
    }

    /// What was drawn, if it was anything.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Takes what was typed: behind the end of a line, something else may be drawn.
    pub fn take(&mut self, typed: &[u8]) {
        if ends_line(typed) {
            *self = Self::default();
            return;
        }
        self.typed = true;
        let does_more = |byte: &u8| byte.is_ascii_control() && !ERASES.contains(byte);
        self.text.take_if(|_| typed.iter().any(does_more));
    }

    /// Takes output of this time, and what stands before the cursor behind it. Whoever begins to edit a line draws its prompt
    /// at once; of others it is what was left there last.
    pub fn shown(&mut self, output: &[u8], time: u64, before_cursor: impl FnOnce() -> String) {
        let edits = edits(output);
        if let Some(edits) = edits {
            (self.text, self.edits, self.last) = (None, edits, <(String, u64)>::default());
        }
        if self.typed || (self.edits && self.text.is_some()) {
            return;
        }
        let (stood, since) = std::mem::replace(&mut self.last, (before_cursor(), time));
        if self.edits {
            self.text = Some(self.last.0.clone()).filter(|text| is_text(text));
        } else if is_text(&stood) && time.saturating_sub(since) >= STANDS {
            self.text = Some(stood);
        }
    }
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Step {
        Typed(&'static str),
        /// At this ms: this output, behind which this stands before the cursor.
        Shown(u64, &'static str, &'static str),
    }
    use Step::{Shown, Typed};

    fn check(name: &str, steps: &[Step], drawn: Option<&str>) {
        let mut it = Drawn::default();
        for step in steps {
            match step {
                Typed(typed) => it.take(typed.as_bytes()),
                Shown(ms, output, before) => it.shown(output.as_bytes(), ms * 1_000, || (*before).to_owned()),
            }
        }
        assert_eq!(it.text(), drawn, "{name}");
    }

    #[test]
    fn a_prompt_is_what_was_drawn_whatever_others_write_behind_it() {
        const EDITS: &str = "\x1b[?2004h$ ";
        check("bash", &[Typed("x &\r"), Shown(1, "\x1b[?2004l\r", ""), Shown(2, EDITS, "$ ")], Some("$ "));
        let busy = [Typed("x &\r"), Shown(1, EDITS, "$ "), Shown(2, "tick\r\n", "")];
        check("bash, where others write all the time", &busy, Some("$ "));
        let dash =
            [Typed("x &\r"), Shown(1, "\r\n$ ", "$ "), Shown(90, "tick\r\n", ""), Shown(190, "t", "t")];
        check("dash", &dash, Some("$ "));
        let more = [Typed("false &&\r"), Shown(1, "> ", "> "), Shown(90, "tick\r\n", "")];
        check("the wait for more of a command", &more, Some("> "));
        let last =
            [Typed("x\r"), Shown(1, "50 %", "50 %"), Shown(90, "\r\n$ ", "$ "), Shown(190, "t\r\n", "")];
        check("what the command left stands above it", &last, Some("$ "));
        let own = [
            Typed("x\r"),
            Shown(1, "go: ", "go: "),
            Shown(90, "\r\n\x1b[?2004h", ""),
            Shown(190, "t\r\n", ""),
        ];
        check("a `read` without a prompt", &own, None);
        let ahead = [Typed("x\r"), Typed("cat\r"), Shown(1, "\x1b[?2004h$ cat\r\n\x1b[?2004l", "")];
        check("a command that was typed ahead runs", &ahead, None);
        let half = [
            Typed("false &&\r"),
            Shown(1, "\r\n  ", "  "),
            Typed("ls"),
            Shown(90, "ls", "  ls"),
            Shown(190, "t\r\n", ""),
        ];
        check("what somebody typed is no prompt", &half, None);
        let erased = [Typed("x\r"), Shown(1, EDITS, "$ "), Typed("ls\x15"), Shown(90, "t\r\n", "")];
        check("what was erased leaves it", &erased, Some("$ "));
        let two = [Typed("x\r"), Shown(1, "$ ", "$ "), Shown(90, "t\r\n", ""), Typed("false &&\rls")];
        check("a line that ended before what was typed last", &two, None);
        check("a line that ended", &[Shown(1, EDITS, "$ "), Typed("x\r")], None);
    }
}
