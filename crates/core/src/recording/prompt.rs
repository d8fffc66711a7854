//! Prompt: what stood on a shell's command line when it was sent off, as it was to be seen: the prompt and all that was
//! typed, rubbed out and completed behind it are drawn again on a screen of their own.

use crate::screen::{Screen, Size};

/// A longer prompt with its command line is none.
const LONGEST: usize = 64 * 1024;
/// So many rows a command line may take.
const ROWS: u16 = 100;

/// A prompt that is being watched.
#[derive(Debug, Clone)]
pub struct Prompt {
    size: Size,
    /// What was shown since the prompt began.
    shown: Vec<u8>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nobody is asked anything.
    Away,
    /// The prompt itself is shown.
    Asking,
    /// What is shown now is typed; the prompt took so many bytes.
    Typing(usize),
}

impl Default for Prompt {
    fn default() -> Self {
        Self { size: Size { cols: 80, rows: ROWS }, shown: Vec::new(), stage: Stage::Away }
    }
}

impl Prompt {
    /// The terminal is so large from here on.
    pub const fn resize(&mut self, size: Size) {
        self.size = Size { cols: size.cols, rows: ROWS };
    }

    /// Takes what is shown.
    pub fn show(&mut self, bytes: &[u8]) {
        if self.stage == Stage::Away {
            return;
        }
        self.shown.extend_from_slice(bytes);
        if self.shown.len() > LONGEST {
            self.leave();
        }
    }

    /// The prompt begins.
    pub fn ask(&mut self) {
        self.leave();
        self.stage = Stage::Asking;
    }

    /// The prompt is over, and the command line begins.
    pub fn type_in(&mut self) {
        if self.stage != Stage::Asking {
            self.ask();
        }
        self.stage = Stage::Typing(self.shown.len());
    }

    /// The command line is sent off: what stood there, if anything did.
    pub fn send_off(&mut self) -> Option<String> {
        let stage = self.stage;
        let shown = std::mem::take(&mut self.shown);
        self.leave();
        let Stage::Typing(prompt) = stage else {
            return None;
        };
        let mut screen = Screen::new(self.size, 0);
        let _ = screen.feed(&shown[..prompt]);
        let begin = screen.live().cursor();
        let _ = screen.feed(&shown[prompt..]);
        let view = screen.live();
        let mut text = String::new();
        for row in begin.row..ROWS {
            let skipped = if row == begin.row { begin.col } else { 0 };
            let mut col = 0;
            for cell in view.cells(row) {
                if col >= skipped {
                    text.push(cell.ch);
                    text.push_str(cell.marks);
                }
                col += u16::from(cell.width);
            }
            if view.is_wrapped(row) {
                text.extend((col..self.size.cols).map(|_| ' '));
            } else {
                text.truncate(text.trim_end().len());
                text.push('\n');
            }
        }
        let text = text.trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    fn leave(&mut self) {
        self.shown.clear();
        self.stage = Stage::Away;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found on the command line of a shell that shows this prompt, and then this.
    fn sent_off(prompt: &str, typed: &str) -> Option<String> {
        let mut watched = Prompt::default();
        watched.resize(Size { cols: 20, rows: 5 });
        watched.show(b"before the prompt");
        watched.ask();
        watched.show(prompt.as_bytes());
        watched.type_in();
        typed.as_bytes().chunks(3).for_each(|piece| watched.show(piece));
        watched.send_off()
    }

    #[test]
    fn a_command_line_is_what_stood_there_when_it_was_sent_off() {
        for (prompt, typed, line) in [
            ("$ ", "make test\r\n", Some("make test")),
            ("\x1b[1mme\x1b[0m\r\n> ", "ls\x08\x08\x1b[Kpwd\r\n\x1b[?2004l", Some("pwd")),
            (
                "$ ",
                "a line that is much longer than the row\r\n",
                Some("a line that is much longer than the row"),
            ),
            ("$ ", "for x in 1\r\n> do echo\r\n> done\r\n", Some("for x in 1\n> do echo\n> done")),
            ("$ ", "\rsearch: m\r\x1b[K$ make\r\n", Some("make")),
            ("$ ", "\r\n", None),
        ] {
            assert_eq!(sent_off(prompt, typed).as_deref(), line, "{typed:?}");
        }
    }

    #[test]
    fn without_a_prompt_and_in_endless_ones_nothing_is_found() {
        assert_eq!(Prompt::default().send_off(), None);
        assert_eq!(sent_off("$ ", &"x".repeat(LONGEST + 1)), None);
        let mut unasked = Prompt::default();
        unasked.type_in();
        unasked.show(b"typed\r\n");
        assert_eq!(unasked.send_off().as_deref(), Some("typed"));
        unasked.show(b"output");
        assert_eq!(unasked.send_off(), None, "it was sent off");
    }
}
