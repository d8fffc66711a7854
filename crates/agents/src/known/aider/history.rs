//! The file in which Aider keeps what was said: prompts behind `####`, its own remarks behind `>`, both with two spaces
//! at the end; all else is what the model said. It has no times but when Aider began: when the file was written to is
//! when its last line was.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::lines::{Fold, Lines};
use crate::story::{How, LastTurn, Reader, Story, Tokens};

/// Commands that ask the model; what others do is no turn.
const ASKING: [&str; 4] = ["/ask ", "/code ", "/architect ", "/context "];

/// What a person agrees to for the model to be asked again, in the same turn.
const AGREED: [&str; 3] =
    ["Add file to the chat? ", "Attempt to fix lint errors? ", "Attempt to fix test errors? "];
/// What it asks the model again for by itself.
const AGAIN: &str = "The LLM did not conform to the edit format.";

/// Reads such a file as it grows.
#[derive(Debug)]
pub(super) struct History {
    path: PathBuf,
    lines: Lines<Said>,
    story: Story,
}

impl History {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), lines: Lines::new(path), story: Story::default() }
    }
}

impl Reader for History {
    fn read_on(&mut self) -> io::Result<bool> {
        let metadata = std::fs::metadata(&self.path)?;
        let written = metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000;
        if !self.lines.read_on()? {
            return Ok(false);
        }
        let mut story = self.lines.story().clone();
        story.conversation = Some(self.path.to_string_lossy().into_owned());
        story.cwd = self.path.parent().map(Path::to_owned);
        story.last_at = Some(written);
        let before = self.story.turn.take();
        let known = |turn: &LastTurn| before.filter(|before| before.id == turn.id);
        if let Some(turn) = &mut story.turn {
            // A turn that was seen open was opened when it was first seen; one that was over by then, nobody knows.
            let before = known(turn);
            let seen_open = turn.closed.is_none().then_some(written);
            turn.opened_at = before.as_ref().map_or(seen_open, |before| before.opened_at);
            let was_closed = before.and_then(|before| before.closed);
            turn.closed = turn.closed.map(|(_, how)| match was_closed {
                Some((at, before)) if before == how => (at, how),
                Some(_) | None => (written, how),
            });
        }
        self.story = story;
        Ok(true)
    }

    fn story(&self) -> &Story {
        &self.story
    }
}

/// Its lines, folded; times are left out.
#[derive(Debug, Default)]
struct Said {
    /// Whether the line before was one of a prompt: prompts may have several.
    in_prompt: bool,
    story: Story,
}

impl Fold for Said {
    fn line(&mut self, line: &[u8]) -> bool {
        let line = String::from_utf8_lossy(line);
        let was_prompt = std::mem::take(&mut self.in_prompt);
        let own = |mark: &str| line.strip_prefix(mark)?.strip_suffix("  ");
        if line.starts_with("# aider chat started at ") {
            // Whoever was at the turn before is gone.
            self.close(How::Interrupted);
        } else if let Some(prompt) = own("#### ") {
            self.in_prompt = true;
            if !was_prompt {
                self.prompt(prompt);
            }
        } else if let Some(remark) = own("> ") {
            self.remark(remark);
        }
        true
    }

    fn story(&self) -> Story {
        self.story.clone()
    }
}

impl Said {
    fn prompt(&mut self, prompt: &str) {
        let is_command = prompt.starts_with(['/', '!']) && !ASKING.iter().any(|ask| prompt.starts_with(ask));
        if !is_command {
            self.story.prompts += 1;
            let id = Some(self.story.prompts.to_string());
            self.story.turn = Some(LastTurn { id, opened_at: None, closed: None });
        }
    }

    fn remark(&mut self, remark: &str) {
        if let Some(version) = remark.strip_prefix("Aider v") {
            self.story.version = Some(version.to_owned());
        } else if let Some(model) = remark.strip_prefix("Model: ").or(remark.strip_prefix("Main model: ")) {
            self.story.model = model.split(' ').next().map(str::to_owned);
        } else if let Some(spent) = remark.strip_prefix("Tokens: ") {
            self.story.tokens = self.story.tokens.and(tokens(spent));
            self.close(How::Answered);
        } else if let Some(file) = remark.strip_prefix("Applied edit to ") {
            self.story.touched(file);
        } else if remark.starts_with("^C ") {
            self.close(How::Interrupted);
        } else if remark.starts_with("litellm.") {
            self.close(How::Failed);
        } else if remark.starts_with("Retrying in ") {
            self.reopen(How::Failed);
        } else if remark == AGAIN || is_agreed(remark) {
            self.reopen(How::Answered);
        } else if remark.starts_with("Only ") && remark.ends_with(" reflections allowed, stopping.") {
            self.close(How::Answered);
        }
    }

    fn close(&mut self, how: How) {
        if let Some(turn) = self.story.turn.as_mut().filter(|turn| turn.closed.is_none()) {
            turn.closed = Some((0, how));
            self.story.turns += 1;
        }
    }

    /// What was closed in this way goes on.
    fn reopen(&mut self, closed: How) {
        let is_so = |turn: &&mut LastTurn| turn.closed.is_some_and(|(_, how)| how == closed);
        if let Some(turn) = self.story.turn.as_mut().filter(is_so) {
            turn.closed = None;
            self.story.turns -= 1;
        }
    }
}

/// Whether a person, asked for something for which the model is asked again, said yes to it or to all of its kind.
fn is_agreed(remark: &str) -> bool {
    AGREED.iter().any(|asked| remark.starts_with(asked))
        && (remark.ends_with(": y") || remark.ends_with(": a"))
}

/// Out of `2.4k sent, 1.1k cache write, 3k cache hit, 150 received. Cost: ...`.
fn tokens(report: &str) -> Tokens {
    let mut tokens = Tokens::default();
    let counts = report.split(". Cost").next().unwrap_or(report).trim_end_matches('.');
    for (count, what) in counts.split(", ").filter_map(|part| part.split_once(' ')) {
        match what {
            "sent" => tokens.input = number(count),
            "received" => tokens.output = number(count),
            "cache write" | "cache hit" => tokens.cached = tokens.cached.saturating_add(number(count)),
            _ => {}
        }
    }
    tokens
}

/// `592`, `2.4k` or `1.3M`.
fn number(text: &str) -> u64 {
    let (digits, thousands) = match text.strip_suffix(['k', 'M']) {
        Some(digits) if text.ends_with('k') => (digits, 1_000),
        Some(digits) => (digits, 1_000_000),
        None => (text, 1),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let whole = whole.replace(',', "").parse::<u64>().unwrap_or(0);
    let tenths = part.get(..1).and_then(|digit| digit.parse::<u64>().ok()).unwrap_or(0);
    whole.saturating_mul(thousands).saturating_add(tenths * thousands / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_tokens_is_understood() {
        let report =
            "2.4k sent, 1k cache write, 12k cache hit, 150 received. Cost: $0.01 message, $0.02 session.";
        assert_eq!(tokens(report), Tokens { input: 2_400, output: 150, cached: 13_000 });
        assert_eq!(tokens("592 sent, 4 received."), Tokens { input: 592, output: 4, cached: 0 });
        assert_eq!(tokens("nonsense, , x sent"), Tokens::default());
    }
}
