//! What the recording says of one line while it runs: what it wrote, and how it ended.

use std::io;

use abide_core::recording::veil::{self, Stage, Tag, Unveiled, Veil};
use abide_core::recording::{self, Kind};
use abide_core::screen::Screen;
use abide_sys::watch::Watch;

use crate::recording::{Found, Reader};

/// What the recording says of one line.
pub(super) struct Listening {
    pub(super) reader: Reader,
    nonce: String,
    /// Its tag is on record.
    pub(super) tagged: bool,
    pub(super) veil: Veil,
    output: Vec<u8>,
    /// What takes out the mechanism of other lines, which run in a shell that this one started.
    below: Veil,
    /// There was one of those.
    pub(super) others: bool,
    pub(super) begun: bool,
    pub(super) code: Option<u8>,
    /// Something of the output is not on record.
    pub(super) cut: bool,
    /// Somebody pressed Ctrl-C meanwhile.
    pub(super) broken: bool,
    /// Somebody typed meanwhile.
    pub(super) typed: bool,
    /// What came before the line began to run, which nobody is shown.
    pub(super) echo: Vec<u8>,
    /// What tells that there is more to read.
    pub(super) hints: Option<Watch>,
}

impl Listening {
    pub(super) fn new(reader: Reader, nonce: &str) -> Self {
        Self {
            reader,
            nonce: nonce.to_owned(),
            tagged: false,
            veil: Veil::default(),
            output: Vec::new(),
            below: Veil::default(),
            others: false,
            begun: false,
            code: None,
            cut: false,
            broken: false,
            typed: false,
            echo: Vec::new(),
            hints: None,
        }
    }

    /// Whether this was shown: it stands before the cursor, on a screen that was so before the echo, or it came in one
    /// piece, whatever others wrote behind it.
    pub(super) fn shows(&self, before: &Screen, sign: &str) -> bool {
        if veil::text(&self.echo).windows(sign.len()).any(|piece| piece == sign.as_bytes()) {
            return true;
        }
        let Some(mut screen) = Screen::thaw(&before.freeze()) else { return false };
        let _ = screen.feed(&self.echo);
        screen.live().before_cursor().ends_with(sign)
    }

    /// Takes in what was recorded since.
    pub(super) fn read(&mut self) -> io::Result<()> {
        let Self { reader, nonce, tagged, veil, output, begun, code, cut, broken, typed, echo, .. } = self;
        let (below, others) = (&mut self.below, &mut self.others);
        let mut take = |found: Found<'_>| {
            let Found::Entry(entry) = found else { return };
            match entry.kind {
                Kind::Exec => {
                    let Some(tag) = Tag::of(entry.payload) else { return };
                    if tag.nonce == *nonce {
                        *tagged = true;
                        veil.tag(&tag, entry.time);
                    } else if veil.stage() == Stage::Running {
                        *others = true;
                        below.tag(&tag, entry.time);
                    }
                }
                Kind::Output => {
                    if !*begun && veil.stage() == Stage::Awaiting {
                        echo.extend_from_slice(entry.payload);
                    }
                    veil.pass(entry.position, entry.payload, &mut |unveiled| match unveiled {
                        Unveiled::Own { at, bytes } => {
                            below.elapse(entry.time);
                            below
                                .pass(at, &bytes, &mut |unveiled| output.extend_from_slice(shown(&unveiled)));
                        }
                        Unveiled::Begun => *begun = true,
                        Unveiled::Ended(ended) => *code = Some(ended),
                        Unveiled::Shown { .. } => {}
                    });
                }
                Kind::Cut | Kind::Shed => *cut |= *begun && code.is_none(),
                Kind::Input => {
                    *typed = true;
                    *broken |= *begun && has_ctrl_c(recording::typed(entry.payload));
                }
                Kind::Hidden => *typed = true,
                Kind::Start
                | Kind::Errors
                | Kind::Answer
                | Kind::Lines
                | Kind::Resize
                | Kind::Mark
                | Kind::Screen => {}
            }
        };
        while reader.advance(&mut take)? {}
        Ok(())
    }

    /// What the line wrote so far.
    pub(super) fn written(&self) -> Vec<u8> {
        let mut output = self.output.clone();
        for veil in [&self.below, &self.veil] {
            if veil.stage() == Stage::Running {
                output.extend_from_slice(veil.held());
            }
        }
        output
    }
}

fn shown<'a>(unveiled: &'a Unveiled<'_>) -> &'a [u8] {
    match unveiled {
        Unveiled::Shown { bytes, .. } | Unveiled::Own { bytes, .. } => bytes,
        Unveiled::Begun | Unveiled::Ended(_) => &[],
    }
}

fn has_ctrl_c(typed: &[u8]) -> bool {
    const KITTY: &[u8] = b"\x1b[99;5u";
    typed.contains(&super::CTRL_C) || typed.windows(KITTY.len()).any(|keys| keys == KITTY)
}

/// Takes out the one carriage return that the terminal put before each line feed.
pub(super) fn without_returns(output: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(output.len());
    for (at, &byte) in output.iter().enumerate() {
        if byte == b'\r' && output.get(at + 1) == Some(&b'\n') {
            continue;
        }
        kept.push(byte);
    }
    kept
}

/// What a line wrote that was broken off, without the prompt that its shell shows since.
pub(super) fn without_prompt(mut output: Vec<u8>) -> Vec<u8> {
    let end = output.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    output.truncate(end);
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_terminal_added_is_taken_out() {
        assert_eq!(without_returns(b"a\r\nb\r\r\n\rc\r"), b"a\nb\r\n\rc\r");
        assert_eq!(without_prompt(b"one\n^C\n\x1b[?2004h$ ".to_vec()), b"one\n^C\n");
        assert_eq!(without_prompt(b"$ ".to_vec()), b"");
    }
}
