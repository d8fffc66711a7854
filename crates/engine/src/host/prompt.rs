//! The prompt that a shell may show, as far as what was typed and what is shown tell: whether a line may be run there, and how
//! long the line is that was begun.

use abide_core::keys::drawn::Drawn;
use abide_core::keys::half::{HalfTyped, LineSoFar, is_no_prompt, takes_commands};
use abide_core::recording::veil::{Phase, Tag};
use abide_core::recording::{Entry, Kind, typed};
use abide_core::screen::Screen;

/// What was typed so long ago was read, whether anything was shown for it or not.
const READ_MS: u64 = 300;
/// A shell that comes to its prompt by what was typed has drawn that by then.
const DRAWN_MS: u64 = 1_000;

/// What is known of the prompt that a shell may show.
#[derive(Default)]
pub(super) struct Prompt {
    half: HalfTyped,
    drawn: Drawn,
    line: LineSoFar,
    /// Where and when somebody typed last, in ms of boot time; none if nobody did since an `exec`, or since the start.
    typed: Option<(u64, u64)>,
    /// When the terminal answered a program last, in ms of boot time.
    answered: u64,
    /// What stood before the cursor when it surely was one.
    known: Option<String>,
}

/// Why a tag is not put on record.
pub(super) enum NotNow {
    /// Another `exec` is in the middle.
    Other,
    /// Not all that was shown could be taken in.
    Behind,
    /// Somebody has just typed, and what that does is not known yet.
    Typed,
    /// A line stands there half typed.
    HalfTyped,
    /// What the terminal answered a program stands there.
    Answered,
    /// What is shown there is what a shell shows where it waits for more of a command, or asks for something.
    NoPrompt(String),
    /// Nothing is shown there, and nobody can tell whether a prompt was.
    NothingThere,
}

impl Prompt {
    /// Where nobody knows what was typed before this position.
    pub(super) fn behind(position: u64) -> Self {
        Self { typed: Some((position, 0)), drawn: Drawn::unknown(), ..Self::default() }
    }

    /// How long the line is that was begun, for a program that reads whole ones.
    pub(super) const fn line(&self) -> u64 {
        self.line.length()
    }

    /// Whether a line may be run at this screen, that was seen at this position, at this time: only at a prompt at which nobody
    /// typed since. What runs there makes it doubtful that it is one.
    pub(super) fn admits(
        &mut self,
        screen: &Screen,
        (seen, now): (u64, u64),
        runs: bool,
    ) -> Result<(), NotNow> {
        let since_typed = self.typed.map(|(_, when)| now.saturating_sub(when));
        let unseen =
            self.typed.is_some_and(|(at, _)| at >= seen) && since_typed.is_some_and(|ms| ms < READ_MS);
        if unseen || now < self.answered.saturating_add(READ_MS) {
            return Err(NotNow::Typed);
        }
        // What ends by what was typed leaves a screen that is none of its shell's yet.
        let drawn = since_typed.is_none_or(|ms| ms >= DRAWN_MS);
        self.is_at(&screen.live().before_cursor(), runs)
            .map_err(|why| if drawn { why } else { NotNow::Typed })
    }

    /// Whether this, before the cursor, is a prompt behind which nothing stands.
    fn is_at(&mut self, before_cursor: &str, runs: bool) -> Result<(), NotNow> {
        let is_known = |prompt: &str| self.known.as_deref() == Some(prompt);
        let half = self.half.stands(before_cursor);
        let unread = self.half.unread();
        if unread.is_kept() || unread.is_left() || (unread.ends(before_cursor) && !is_known(before_cursor)) {
            return Err(NotNow::Answered);
        }
        // Where nothing stands, others may have written behind the prompt.
        let prompt = match self.drawn.text() {
            Some(drawn) if before_cursor.trim().is_empty() => drawn.to_owned(),
            Some(_) | None => before_cursor.to_owned(),
        };
        if half || takes_commands(&prompt) {
            return Err(NotNow::HalfTyped);
        }
        let doubtful = self.typed.is_some() || runs;
        if doubtful && !is_known(&prompt) && is_no_prompt(&prompt) {
            let nothing = prompt.trim().is_empty();
            return Err(if nothing { NotNow::NothingThere } else { NotNow::NoPrompt(prompt) });
        }
        self.known = Some(prompt);
        Ok(())
    }

    /// Takes what the program showed, behind which this is the screen.
    pub(super) fn shown(&mut self, entry: &Entry<'_>, screen: &Screen) {
        self.half.shown(entry.payload, entry.position);
        self.drawn.shown(entry.payload, entry.time, || screen.live().before_cursor());
        self.line.shown(entry.payload);
    }

    /// Takes a question that a program asked its terminal, up to here.
    pub(super) fn note_asked(&mut self, position: u64) {
        self.half.asked(position);
    }

    /// The terminal is to echo the answer that comes.
    pub(super) const fn note_lines(&mut self) {
        self.half.to_be_echoed();
    }

    /// Takes what the terminal answered a program, which its shell reads if that does not.
    pub(super) fn note_answered(&mut self, entry: &Entry<'_>) {
        self.half.answered(entry.payload);
        self.answered = entry.time / 1_000;
    }

    /// Takes what was typed at this screen.
    pub(super) fn note_typed(&mut self, entry: &Entry<'_>, screen: &Screen) {
        if entry.kind != Kind::Input {
            // Both end in Enter, as a rule.
            self.line = LineSoFar::default();
            self.drawn = Drawn::default();
        }
        if entry.kind == Kind::Exec {
            // What takes one back types no line, and others may have begun one meanwhile.
            if Tag::of(entry.payload).is_some_and(|tag| tag.phase == Phase::Begin) {
                self.half.clear();
                self.typed = None;
            }
            return;
        }
        if entry.kind == Kind::Input {
            self.line.take(typed(entry.payload));
            if self.typed.is_none() && self.known.is_none() {
                // Nobody typed before, so nothing else can stand there, if anything does.
                let stands = |text: &String| !text.trim().is_empty();
                self.known = Some(screen.live().before_cursor()).filter(stands);
            }
            self.half.take(typed(entry.payload));
            self.drawn.take(typed(entry.payload));
        }
        self.typed = Some((entry.position, entry.time / 1_000));
    }
}

#[cfg(test)]
mod tests {
    use abide_core::screen::Size;

    use super::*;

    #[test]
    fn a_line_that_was_begun_is_known_of_whatever_exec_is_taken_back_meanwhile() {
        let mut screen = Screen::new(Size { cols: 20, rows: 4 }, 0);
        let _ = screen.feed(b"$ ");
        let mut prompt = Prompt::default();
        let whose = [0; 16];
        let mut take = |kind, screen: &Screen, typed: &[u8]| {
            let payload = &[&whose, typed].concat();
            prompt.note_typed(&Entry { kind, number: 0, position: 10, time: 5_000_000, payload }, screen);
            prompt.admits(screen, (20, 9_000), false).is_err_and(|why| matches!(why, NotNow::HalfTyped))
        };
        let tag = |phase| Tag { phase, ..Tag::begin() }.to_bytes();
        assert!(!take(Kind::Exec, &screen, &tag(Phase::Begin)));
        let _ = screen.feed(b"ech");
        assert!(take(Kind::Input, &screen, b"ech"));
        assert!(take(Kind::Exec, &screen, &tag(Phase::Cancel)), "it types nothing");
    }

    #[test]
    fn what_a_key_left_of_a_program_that_it_ended_is_judged_once_its_shell_had_time_to_draw() {
        for (key, left) in [("q", "\r\x1b[K"), ("\x1b[B", "\r:"), ("\x03", "\r> ")] {
            let mut screen = Screen::new(Size { cols: 20, rows: 4 }, 0);
            let _ = screen.feed(b"$ ");
            let mut prompt = Prompt::default();
            let whose = [0; 16];
            let payload = [&whose, key.as_bytes()].concat();
            let entry =
                |kind, position, payload| Entry { kind, number: 0, position, time: 5_000_000, payload };
            prompt.note_typed(&entry(Kind::Input, 10, &payload), &screen);
            let _ = screen.feed(left.as_bytes());
            prompt.shown(&entry(Kind::Output, 10, left.as_bytes()), &screen);
            for (ms, typed) in [(0, true), (900, true), (1_000, false)] {
                let why = prompt.admits(&screen, (20, 5_000 + ms), false).err();
                assert_eq!(why.map(|why| matches!(why, NotNow::Typed)), Some(typed), "{key:?} {ms}");
            }
        }
    }
}
