//! The veil: what of a terminal's output is shown while `exec` runs a line in the session's shell. The mechanism is in the
//! recording and tagged there; here it is taken out, and the line stands as if somebody had typed it. One function of
//! tags and output, wherever a recording is read, so all views agree.

mod between;
mod others;
mod sequence;
mod tag;

use std::borrow::Cow;

use crate::screen::bytes::{Reader, put_bytes, put_number};
use sequence::{First, OSC_133_C, first, is_kept};
pub use tag::{Phase, Tag, begins, end_told, ends, quiet};

const ESC: u8 = 0x1b;
/// So much may come before the line begins to run; with more, it is no echo, and all of it is shown.
const LONGEST_ECHO: usize = 256 * 1024;
/// So long, in microseconds, a line may take to begin: whoever has it run gives up sooner, and says so unless it was killed.
const LONGEST_START: u64 = 30_000_000;

/// What text came, without the sequences and controls around it.
#[must_use]
pub fn text(bytes: &[u8]) -> Vec<u8> {
    sequence::text(bytes)
}

/// What becomes of output.
#[derive(Debug, PartialEq, Eq)]
pub enum Unveiled<'a> {
    /// This is shown; it stands at this position, if it stands anywhere.
    Shown { at: Option<u64>, bytes: Cow<'a, [u8]> },
    /// This is shown, and it is what the line itself wrote.
    Own { at: u64, bytes: Cow<'a, [u8]> },
    /// The line begins to run.
    Begun,
    /// It is over, with this code.
    Ended(u8),
}

/// How far an `exec` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// There is none.
    Open,
    /// What is typed for it is being echoed.
    Awaiting,
    /// Its line runs.
    Running,
}

/// Takes the mechanism out of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Veil {
    stage: Stage,
    nonce: String,
    line: String,
    /// When its tag came, in microseconds of boot time.
    since: u64,
    /// The beginning of a sequence that is not whole yet.
    held: Vec<u8>,
    /// What is not shown of the echo.
    echo: Vec<u8>,
    /// The shell told the terminal that a command runs.
    tells: bool,
    /// What is to be shown after all, before anything else.
    owed: Vec<u8>,
    /// What is echoed, if that is known, and whether the shell writes nothing else meanwhile.
    known: (String, bool),
}

impl Default for Veil {
    fn default() -> Self {
        let (nonce, line) = (String::new(), String::new());
        let (held, echo, owed) = (Vec::new(), Vec::new(), Vec::new());
        let known = (String::new(), false);
        Self { stage: Stage::Open, nonce, line, since: 0, held, echo, tells: false, owed, known }
    }
}

impl Veil {
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// Whether all output is shown as it is.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.stage == Stage::Open && self.owed.is_empty()
    }

    /// While this line runs, with nothing kept back.
    #[must_use]
    pub fn running(nonce: String) -> Self {
        Self { stage: Stage::Running, nonce, ..Self::default() }
    }

    /// Whether nothing is kept back or to be shown, so that it is told whole by which line runs, if one does.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.stage != Stage::Awaiting && self.held.is_empty() && self.owed.is_empty()
    }

    /// Of the `exec` that it is about.
    #[must_use]
    pub fn nonce(&self) -> &str {
        &self.nonce
    }

    /// What is kept back of what the line wrote, until it is clear that it is no more than that.
    #[must_use]
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    /// Takes a tag that came at this time.
    pub fn tag(&mut self, tag: &Tag, since: u64) {
        match tag.phase {
            Phase::Begin => {
                self.lift();
                let owed = std::mem::take(&mut self.owed);
                let (nonce, line) = (tag.nonce.clone(), tag.line.clone());
                let known = (tag.typed.clone(), false);
                *self = Self { stage: Stage::Awaiting, nonce, line, since, owed, known, ..Self::default() };
            }
            Phase::Cancel if self.stage == Stage::Awaiting && self.nonce == tag.nonce => self.lift(),
            Phase::More | Phase::Cancel => {}
        }
    }

    /// Whether a line is awaited at this time that will not begin any more.
    #[must_use]
    pub fn is_forsaken(&self, time: u64) -> bool {
        self.stage == Stage::Awaiting && time.saturating_sub(self.since) > LONGEST_START
    }

    /// Lets the time pass: nothing is kept back for a line that does not begin.
    pub fn elapse(&mut self, time: u64) {
        if self.is_forsaken(time) {
            self.lift();
        }
    }

    /// Until when a line is awaited, if one is.
    #[must_use]
    pub fn forsaken_at(&self) -> Option<u64> {
        (self.stage == Stage::Awaiting).then(|| self.since.saturating_add(LONGEST_START + 1))
    }

    /// What is to be shown after all, for whoever does not wait until more output comes.
    #[must_use = "it is owed no more"]
    pub fn take_owed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.owed)
    }

    /// The session is over, and nothing follows: gives what was kept back, which is to be shown after all. Only the
    /// sequence that tells a line's end, cut off within its code, was nobody's word.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut kept = std::mem::take(self);
        match kept.stage {
            Stage::Running if kept.held.len() >= ends(&kept.nonce).len() => {}
            Stage::Open | Stage::Awaiting | Stage::Running => kept.lift(),
        }
        kept.owed
    }

    /// Output is missing here, which may have said that the line runs: nothing that follows is kept back for it.
    pub fn miss(&mut self) {
        match self.stage {
            Stage::Open => {}
            Stage::Awaiting => self.lift(),
            Stage::Running => self.owed.append(&mut self.held),
        }
    }

    /// Everything that is kept back is to be shown.
    fn lift(&mut self) {
        self.owed.append(&mut self.echo);
        self.owed.append(&mut self.held);
        self.stage = Stage::Open;
    }

    /// Takes output that stands at this position, and tells what becomes of it.
    pub fn pass(&mut self, position: u64, bytes: &[u8], out: &mut impl FnMut(Unveiled<'_>)) {
        if !self.owed.is_empty() {
            out(Unveiled::Shown { at: None, bytes: Cow::Owned(std::mem::take(&mut self.owed)) });
        }
        let mut at = position;
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = match self.stage {
                Stage::Open => {
                    out(Unveiled::Shown { at: Some(at), bytes: Cow::Borrowed(rest) });
                    rest.len()
                }
                Stage::Awaiting => self.swallow(at, rest, out),
                Stage::Running => self.run(at, rest, out),
            };
            at += taken as u64;
            rest = &rest[taken..];
        }
    }

    /// Takes what comes before the line runs. Says how much.
    fn swallow(&mut self, at: u64, bytes: &[u8], out: &mut impl FnMut(Unveiled<'_>)) -> usize {
        let mut taken = 0;
        for &byte in bytes {
            taken += 1;
            self.held.push(byte);
            let sequence = match first(&self.held) {
                First::Open => continue,
                First::Text => {
                    self.echo.append(&mut self.held);
                    self.limit_echo(out);
                    if self.stage == Stage::Open {
                        break;
                    }
                    continue;
                }
                First::Sequence => std::mem::take(&mut self.held),
            };
            if sequence == begins(&self.nonce).as_bytes() {
                self.stage = Stage::Running;
                let (typed, quiet) = std::mem::take(&mut self.known);
                let others = others::others(&std::mem::take(&mut self.echo), &typed, &self.nonce, quiet);
                let shown = [shown_line(&self.line), others].concat();
                out(Unveiled::Shown { at: None, bytes: Cow::Owned(shown) });
                if self.tells {
                    out(Unveiled::Shown { at: None, bytes: Cow::Owned(told_line(&self.line)) });
                }
                out(Unveiled::Begun);
                break;
            }
            if sequence == quiet(&self.nonce).as_bytes() {
                self.known.1 = true;
            } else if is_kept(&sequence) {
                let began = (at + taken as u64).saturating_sub(sequence.len() as u64);
                out(Unveiled::Shown { at: Some(began), bytes: Cow::Owned(sequence) });
            } else {
                self.tells |= sequence.starts_with(OSC_133_C);
                self.echo.extend_from_slice(&sequence);
                self.limit_echo(out);
                if self.stage == Stage::Open {
                    break;
                }
            }
        }
        taken
    }

    /// No echo is that long.
    fn limit_echo(&mut self, out: &mut impl FnMut(Unveiled<'_>)) {
        if self.echo.len() > LONGEST_ECHO {
            self.lift();
            out(Unveiled::Shown { at: None, bytes: Cow::Owned(std::mem::take(&mut self.owed)) });
        }
    }

    /// Takes what comes while the line runs. Says how much.
    fn run(&mut self, at: u64, bytes: &[u8], out: &mut impl FnMut(Unveiled<'_>)) -> usize {
        let marker = ends(&self.nonce);
        let before = self.held.len();
        let began = at.saturating_sub(before as u64);
        let mut held = std::mem::take(&mut self.held);
        let all: Cow<'_, [u8]> = if held.is_empty() {
            Cow::Borrowed(bytes)
        } else {
            held.extend_from_slice(bytes);
            Cow::Owned(held)
        };
        let mut from = 0;
        while let Some(found) = memchr::memchr(ESC, &all[from..]).map(|found| from + found) {
            match end(&all[found..], marker.as_bytes()) {
                End::No => from = found + 1,
                End::Perhaps => {
                    own(began, &all[..found], out);
                    self.held = all[found..].to_vec();
                    return bytes.len();
                }
                End::Code(code, length) => {
                    own(began, &all[..found], out);
                    *self = Self::default();
                    out(Unveiled::Ended(code));
                    return found + length - before;
                }
            }
        }
        own(began, &all, out);
        bytes.len()
    }

    /// As a keyframe keeps it.
    #[must_use]
    pub fn freeze(&self) -> Vec<u8> {
        if *self == Self::default() {
            return Vec::new();
        }
        let stage = match self.stage {
            Stage::Open => 0,
            Stage::Awaiting => 1,
            Stage::Running => 2,
        };
        let mut out = vec![stage, u8::from(self.tells)];
        for bytes in [self.nonce.as_bytes(), self.line.as_bytes(), &self.held, &self.echo, &self.owed] {
            put_bytes(&mut out, bytes);
        }
        put_number(&mut out, self.since);
        if self.known != <(String, bool)>::default() {
            put_bytes(&mut out, self.known.0.as_bytes());
            out.push(u8::from(self.known.1));
        }
        out
    }

    /// The inverse; none for what is no veil.
    #[must_use]
    pub fn thaw(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::default());
        }
        let mut reader = Reader(bytes);
        let stage = match reader.byte()? {
            0 => Stage::Open,
            1 => Stage::Awaiting,
            2 => Stage::Running,
            _ => return None,
        };
        let tells = reader.flag()?;
        let mut text = || String::from_utf8(reader.bytes()?.to_vec()).ok();
        let (nonce, line) = (text()?, text()?);
        let (held, echo) = (reader.bytes()?.to_vec(), reader.bytes()?.to_vec());
        let (owed, since) = (reader.bytes()?.to_vec(), reader.number()?);
        let known = match reader.0 {
            [] => <(String, bool)>::default(),
            [..] => (String::from_utf8(reader.bytes()?.to_vec()).ok()?, reader.flag()?),
        };
        reader.0.is_empty().then_some(Self { stage, nonce, line, since, held, echo, tells, owed, known })
    }
}

fn own(at: u64, bytes: &[u8], out: &mut impl FnMut(Unveiled<'_>)) {
    if !bytes.is_empty() {
        out(Unveiled::Own { at, bytes: Cow::Borrowed(bytes) });
    }
}

/// Whether the sequence that tells the end stands here.
enum End {
    No,
    Perhaps,
    /// The code, and how long the sequence is.
    Code(u8, usize),
}

fn end(bytes: &[u8], marker: &[u8]) -> End {
    let known = bytes.len().min(marker.len());
    if bytes[..known] != marker[..known] {
        return End::No;
    }
    let digits = &bytes[known..];
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let code = || std::str::from_utf8(&digits[..count]).ok().and_then(|text| text.parse().ok());
    match digits.get(count) {
        None if count <= 3 => End::Perhaps,
        Some(0x07) => code().map_or(End::No, |code| End::Code(code, known + count + 1)),
        None | Some(_) => End::No,
    }
}

/// The line as a terminal shows what is typed, and where the cursor is after Enter.
fn shown_line(line: &str) -> Vec<u8> {
    let mut out = String::new();
    for character in line.chars() {
        match character {
            '\n' => out.push_str("\r\n"),
            '\t' => out.push('\t'),
            '\x7f' => out.push_str("^?"),
            control if control < ' ' => {
                out.push('^');
                out.push(char::from(control as u8 + b'@'));
            }
            // Of the controls beyond ASCII no shell shows more than a place.
            '\u{80}'..='\u{9f}' => out.push('?'),
            shown => out.push(shown),
        }
    }
    out.push_str("\r\n");
    out.into_bytes()
}

/// What a shell tells the terminal when it runs a command, with the line in the place of what was typed.
fn told_line(line: &str) -> Vec<u8> {
    let mut out = b"\x1b]133;C;cmdline_url=".to_vec();
    for byte in line.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_./~".contains(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    out.push(0x07);
    out
}

#[cfg(test)]
mod tests;
