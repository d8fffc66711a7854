//! Commands that a shell ran, as spans of its output: what its prompt tells the terminal (OSC 133, and OSC 633 for the
//! command line) says where each began and ended and with which code. Only such sequences are looked at, so that a long
//! recording is gone through quickly.

mod quoted;

use std::str;

use super::prompt::Prompt;
use crate::screen::Size;

const ESC: u8 = 0x1b;
/// A longer sequence is none of a prompt's.
const LONGEST: usize = 16 * 1024;
/// `ESC ] 133 ;` and `ESC ] 633 ;`
const OPENING: usize = 6;

/// What a shell told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// The prompt begins: nothing runs.
    Prompt,
    /// The prompt is over; what is typed now is the command line.
    Typing,
    /// The command line, told before it runs.
    Line(String),
    /// It runs; some shells tell the command line only now.
    Runs(Option<String>),
    Ended(Option<i32>),
}

/// Finds the words of a shell in output, however it is cut.
#[derive(Debug, Clone, Default)]
pub struct Listener {
    /// The beginning of a sequence that is not whole yet.
    held: Vec<u8>,
}

impl Listener {
    /// Takes output, and gives each word with how many bytes of this output came up to its end.
    pub fn hear(&mut self, bytes: &[u8], word: &mut impl FnMut(usize, Word)) {
        let mut at = 0;
        while at < bytes.len() {
            if self.held.is_empty() {
                match memchr::memchr(ESC, &bytes[at..]) {
                    Some(skipped) => at += skipped,
                    None => return,
                }
            }
            self.held.push(bytes[at]);
            at += 1;
            match sequence(&self.held) {
                Sequence::Open if self.held.len() < LONGEST => {}
                Sequence::Whole(heard) => {
                    self.held.clear();
                    if let Some(heard) = heard {
                        word(at, heard);
                    }
                }
                Sequence::Open | Sequence::None => {
                    // What broke it off may begin the next.
                    let again = self.held.last() == Some(&ESC);
                    self.held.clear();
                    at -= usize::from(again);
                }
            }
        }
    }
}

enum Sequence {
    /// It may become one.
    Open,
    None,
    Whole(Option<Word>),
}

fn sequence(bytes: &[u8]) -> Sequence {
    let fits = |form: &[u8; OPENING]| {
        let known = bytes.len().min(OPENING);
        bytes[..known] == form[..known]
    };
    let (marks, code) = (fits(b"\x1b]133;"), fits(b"\x1b]633;"));
    if !marks && !code {
        return Sequence::None;
    }
    let Some(body) = bytes.get(OPENING..).filter(|body| !body.is_empty()) else {
        return Sequence::Open;
    };
    let body = match body {
        [body @ .., 0x07] | [body @ .., ESC, b'\\'] => body,
        [.., 0x18 | 0x1a] => return Sequence::None,
        _ => return Sequence::Open,
    };
    Sequence::Whole(str::from_utf8(body).ok().and_then(|body| word(body, code)))
}

fn word(body: &str, code: bool) -> Option<Word> {
    let (letter, rest) = body.split_once(';').unwrap_or((body, ""));
    match letter {
        "A" => Some(Word::Prompt),
        "B" => Some(Word::Typing),
        "C" => Some(Word::Runs(told_line(rest))),
        "D" => {
            let first = rest.split(';').next().unwrap_or_default();
            Some(Word::Ended(first.strip_prefix("exit=").unwrap_or(first).parse().ok()))
        }
        "E" if code => Some(Word::Line(unescaped(rest.split(';').next().unwrap_or_default()))),
        _ => None,
    }
}

/// `cmdline_url=` has the bytes of the line percent-encoded, `cmdline=` as a shell quotes it; what is not quoted is taken
/// as it is.
fn told_line(fields: &str) -> Option<String> {
    let mut rest = fields;
    loop {
        let field = rest.split(';').next().unwrap_or_default();
        if let Some(encoded) = field.strip_prefix("cmdline_url=") {
            return Some(percent_decoded(encoded));
        }
        if let Some(line) = rest.strip_prefix("cmdline=") {
            let plain = || line.split(';').next().unwrap_or_default().to_owned();
            return Some(quoted::unquoted(line).unwrap_or_else(plain));
        }
        rest = rest.get(field.len() + 1..)?;
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| first == b'%').and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `\xHH` and `\\`, as OSC 633 has them.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let code = after.strip_prefix('x').and_then(|digits| digits.get(..2));
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(u8::is_ascii) {
            Some(byte) => {
                out.push(char::from(byte));
                rest = &after[3..];
            }
            None => {
                out.push('\\');
                rest = after.strip_prefix('\\').unwrap_or(after);
            }
        }
    }
    out.push_str(rest);
    out
}

/// One command: where it began to run, and where it ended, if it did; `T` says where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command<T> {
    /// As the shell tells it, else as it stood behind the prompt; none if there was none.
    pub line: Option<String>,
    pub began: T,
    pub ended: Option<T>,
    pub exit_code: Option<i32>,
}

/// Makes commands of the words of a shell.
#[derive(Debug, Clone)]
pub struct Commands<T> {
    prompt: Prompt,
    line: Option<String>,
    open: Option<Command<T>>,
}

impl<T> Default for Commands<T> {
    fn default() -> Self {
        Self { prompt: Prompt::default(), line: None, open: None }
    }
}

impl<T> Commands<T> {
    /// Takes what is shown up to the next word: a command line that the shell does not tell is read off it.
    pub fn show(&mut self, bytes: &[u8]) {
        self.prompt.show(bytes);
    }

    /// The terminal is so large from here on.
    pub const fn resize(&mut self, size: Size) {
        self.prompt.resize(size);
    }

    /// Takes the next word, and gives the command that is over now.
    pub fn hear(&mut self, at: T, word: Word) -> Option<Command<T>> {
        match word {
            Word::Line(line) => self.line = Some(line),
            Word::Typing => {
                self.line = None;
                self.prompt.type_in();
            }
            Word::Runs(line) => {
                let shown = self.prompt.send_off();
                let line = line.or_else(|| self.line.take()).or(shown);
                // A shell that does not tell ends has this one begin where the last one ended.
                return self.open.replace(Command { line, began: at, ended: None, exit_code: None });
            }
            Word::Ended(exit_code) => {
                let open = self.open.take()?;
                return Some(Command { ended: Some(at), exit_code, ..open });
            }
            // A prompt without a word on the end: the command is over, and nobody told its code.
            Word::Prompt => {
                self.prompt.ask();
                let open = self.open.take()?;
                return Some(Command { ended: Some(at), ..open });
            }
        }
        None
    }

    /// The command that still runs.
    pub fn finish(self) -> Option<Command<T>> {
        self.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: &[&[u8]]) -> Vec<Word> {
        let mut listener = Listener::default();
        let mut words = Vec::new();
        for piece in pieces {
            listener.hear(piece, &mut |_, word| words.push(word));
        }
        words
    }

    const STREAM: &[u8] =
        b"\x1b[1m\x1b]133;A\x07$ \x1b]133;B\x1b\\ls\r\n\x1b]133;C;cmdline_url=ls%20-l\x07a\x1b]0;t\x07\
        \x1b\x1b]133;D;3\x07";

    #[test]
    fn words_are_found_however_the_output_is_cut() {
        let line = Some("ls -l".to_owned());
        let expected = [Word::Prompt, Word::Typing, Word::Runs(line), Word::Ended(Some(3))];
        for cut in 0..=STREAM.len() {
            assert_eq!(heard(&[&STREAM[..cut], &STREAM[cut..]]), expected, "cut at {cut}");
        }
        let single: Vec<&[u8]> = STREAM.chunks(1).collect();
        assert_eq!(heard(&single), expected);
    }

    #[test]
    fn each_form_of_a_command_line_is_read() {
        let line = |text: &str| Some(text.to_owned());
        assert_eq!(heard(&[b"\x1b]133;C;cmdline='a b'\x07"]), [Word::Runs(line("a b"))]);
        assert_eq!(heard(&[b"\x1b]133;C;cmdline=a b;aid=3\x07"]), [Word::Runs(line("a b"))]);
        let quoted = b"\x1b]133;C;aid=3;cmdline=for\\ i\\ in\\ a\\ b\\;\\ do\\ ls\\;\\ done;k=s\x07";
        assert_eq!(heard(&[quoted]), [Word::Runs(line("for i in a b; do ls; done"))]);
        assert_eq!(heard(&[b"\x1b]133;C;cmdline=$'a;\\nb'\x07"]), [Word::Runs(line("a;\nb"))]);
        assert_eq!(heard(&[b"\x1b]133;C\x07"]), [Word::Runs(None)]);
        assert_eq!(heard(&[b"\x1b]633;E;echo a\\x3bb\\\\c;nonce\x07"]), [Word::Line("echo a;b\\c".into())]);
        assert_eq!(heard(&[b"\x1b]133;D\x07"]), [Word::Ended(None)]);
        assert_eq!(heard(&[b"\x1b]133;E;no\x07", b"\x1b]133;Z\x07"]), []);
    }

    #[test]
    fn words_end_where_their_sequence_ends() {
        let mut at = Vec::new();
        Listener::default().hear(STREAM, &mut |end, _| at.push(&STREAM[..end]));
        assert!(at.iter().all(|before| before.ends_with(b"\x07") || before.ends_with(b"\\")));
        assert_eq!(at.len(), 4);
    }

    #[test]
    fn a_sequence_without_end_is_given_up() {
        let mut listener = Listener::default();
        listener.hear(b"\x1b]133;A", &mut |_, word| panic!("{word:?}"));
        listener.hear(&[b'x'; 2 * LONGEST], &mut |_, word| panic!("{word:?}"));
        assert!(listener.held.is_empty());
    }

    #[test]
    fn commands_are_spans_with_their_codes() {
        let mut commands = Commands::default();
        let runs = |line: &str| Word::Runs(Some(line.to_owned()));
        let words = [
            (1, Word::Prompt),
            (2, Word::Typing),
            (3, runs("a")),
            (4, Word::Ended(Some(0))),
            (5, Word::Prompt),
            (6, Word::Line("b".into())),
            (7, Word::Runs(None)),
            (8, Word::Prompt),
            (9, runs("c")),
        ];
        let over: Vec<String> = words
            .into_iter()
            .filter_map(|(at, word)| commands.hear(at, word))
            .map(|c| format!("{:?} {}-{:?} {:?}", c.line, c.began, c.ended, c.exit_code))
            .collect();
        assert_eq!(over, ["Some(\"a\") 3-Some(4) Some(0)", "Some(\"b\") 7-Some(8) None"]);
        assert_eq!(commands.finish().map(|c| c.began), Some(9));
    }
}
