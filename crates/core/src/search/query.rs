//! Query: which lines are meant. Words, of which a line must hold all, in any order, within longer words too; phrases in
//! double quotes; or a regular expression. Upper and lower case are alike unless asked otherwise.

use std::ops::Range;

use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};

use super::sieve::Sieve;

/// How the text of a query is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reading {
    /// Words and phrases.
    #[default]
    Words,
    /// One phrase, blanks and quotes as they stand.
    Literal,
    Regex,
}

/// What is asked of a query beside its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Strictness {
    /// Upper and lower case differ.
    pub case: bool,
    /// What is found is no part of a longer word.
    pub whole_words: bool,
}

/// What a line must hold.
#[derive(Debug, Clone)]
pub struct Query {
    what: What,
    strictness: Strictness,
}

#[derive(Debug, Clone)]
enum What {
    /// All of these, the longest first.
    Terms(Vec<Finder<'static>>),
    Pattern(Box<Regex>),
}

/// A regular expression that takes more memory is refused.
const PATTERN_LIMIT: usize = 10 << 20;

impl Query {
    /// Reads a query.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(text: &str, reading: Reading, strictness: Strictness) -> Result<Self, String> {
        let mut terms = match reading {
            Reading::Words => words(text),
            Reading::Literal => vec![text.to_owned()],
            Reading::Regex => {
                let what = What::Pattern(Box::new(pattern(text, strictness)?));
                return Ok(Self { what, strictness });
            }
        };
        terms.retain(|term| !term.trim().is_empty());
        if terms.is_empty() {
            return Err("there is nothing to search for".to_owned());
        }
        terms.sort_by_key(|term| std::cmp::Reverse(term.len()));
        let finder = |term: &String| {
            let mut needle = term.as_bytes().to_vec();
            if !strictness.case {
                fold(&mut needle);
            }
            Finder::new(&needle).into_owned()
        };
        Ok(Self { what: What::Terms(terms.iter().map(finder).collect()), strictness })
    }

    /// Whether text that made this sieve can hold a line that is meant.
    #[must_use]
    pub fn may_pass(&self, sieve: &Sieve) -> bool {
        match &self.what {
            What::Terms(terms) => terms.iter().all(|term| sieve.may_hold(term.needle())),
            What::Pattern(_) => true,
        }
    }

    /// Gives each line of the text that is meant, as its place in the text, without its newline.
    pub fn find(&self, text: &[u8], found: &mut impl FnMut(Range<usize>)) {
        let mut folded = Vec::new();
        let mut at = 0;
        match &self.what {
            What::Terms(terms) => {
                let Some(first) = terms.first() else { return };
                let text = self.folded(text, &mut folded);
                while let Some(place) = first.find(&text[at..]) {
                    let line = line_around(text, at + place);
                    at = (line.end + 1).min(text.len());
                    if self.holds_all(terms, &text[line.clone()]) {
                        found(line);
                    }
                }
            }
            What::Pattern(pattern) => {
                while let Some(place) = pattern.find_at(text, at) {
                    if place.start() >= text.len() {
                        return;
                    }
                    let line = line_around(text, place.start());
                    at = line.end + 1;
                    // What was found may go on in the next line; then the line alone decides.
                    if place.end() <= line.end || pattern.is_match(&text[line.clone()]) {
                        found(line);
                    }
                    if at > text.len() {
                        return;
                    }
                }
            }
        }
    }

    /// The places of a line that was found for which it was, in their order, as places in its text.
    #[must_use]
    pub fn places(&self, line: &str) -> Vec<Range<usize>> {
        let mut places: Vec<Range<usize>> = match &self.what {
            What::Terms(terms) => {
                let mut folded = Vec::new();
                let text = self.folded(line.as_bytes(), &mut folded);
                let places = |term| places_of(term, text).filter(|place| self.fits(text, place));
                terms.iter().flat_map(places).collect()
            }
            What::Pattern(pattern) => pattern.find_iter(line.as_bytes()).map(|place| place.range()).collect(),
        };
        places.sort_by_key(|place| (place.start, place.end));
        let mut apart: Vec<Range<usize>> = Vec::new();
        for place in places.into_iter().filter(|place| !place.is_empty()) {
            match apart.last_mut() {
                Some(last) if place.start <= last.end => last.end = last.end.max(place.end),
                Some(_) | None => apart.push(place),
            }
        }
        apart
    }

    fn folded<'a>(&self, text: &'a [u8], folded: &'a mut Vec<u8>) -> &'a [u8] {
        if self.strictness.case {
            return text;
        }
        folded.extend_from_slice(text);
        fold(folded);
        folded
    }

    fn holds_all(&self, terms: &[Finder<'_>], line: &[u8]) -> bool {
        terms.iter().all(|term| places_of(term, line).any(|place| self.fits(line, &place)))
    }

    fn fits(&self, line: &[u8], place: &Range<usize>) -> bool {
        !self.strictness.whole_words || (is_edge(line, place.start) && is_edge(line, place.end))
    }
}

fn places_of<'a>(term: &'a Finder<'_>, text: &'a [u8]) -> impl Iterator<Item = Range<usize>> + use<'a> {
    let length = term.needle().len();
    term.find_iter(text).map(move |at| at..at + length)
}

fn line_around(text: &[u8], at: usize) -> Range<usize> {
    let begin = memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1);
    let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline);
    begin..end
}

/// Whether no word goes on from before this place to behind it.
fn is_edge(line: &[u8], at: usize) -> bool {
    let is_word = |ch: Option<char>| ch.is_some_and(|ch| ch.is_alphanumeric() || ch == '_');
    let before = line[..at].utf8_chunks().last().and_then(|chunk| chunk.valid().chars().next_back());
    let behind = line[at..].utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    !(is_word(before) && is_word(behind))
}

/// The words and the quoted phrases of a text. A quote that is not closed is a character like any other.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut rest = text;
    while let Some(ch) = rest.chars().next() {
        rest = &rest[ch.len_utf8()..];
        let phrase = rest.split_once('"').filter(|_| ch == '"');
        match (phrase, words.last_mut()) {
            (Some((phrase, after)), _) => {
                words.extend([phrase.to_owned(), String::new()]);
                rest = after;
            }
            (None, Some(word)) if !ch.is_whitespace() => word.push(ch),
            (None, _) => words.push(String::new()),
        }
    }
    words
}

fn pattern(text: &str, strictness: Strictness) -> Result<Regex, String> {
    let text = if strictness.whole_words { format!(r"\b(?:{text})\b") } else { text.to_owned() };
    let mut builder = RegexBuilder::new(&text);
    builder.case_insensitive(!strictness.case).multi_line(true).size_limit(PATTERN_LIMIT);
    builder.build().map_err(|error| error.to_string())
}

/// Makes upper and lower case alike. Places in the text stay where they are: a letter whose other form is of another
/// length stays as it is.
pub(super) fn fold(text: &mut [u8]) {
    text.make_ascii_lowercase();
    let mut at = 0;
    while let Some(next) = text[at..].iter().position(|byte| *byte >= 0x80) {
        at += next;
        let window = at..text.len().min(at + 4);
        let ch = text[window].utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
        let Some(ch) = ch else {
            at += 1;
            continue;
        };
        let length = ch.len_utf8();
        if may_have_case(ch) {
            // The one letter that has two lower forms, one of them for the ends of words.
            let ch = if ch == 'ς' { 'σ' } else { ch };
            let mut lower = ch.to_lowercase();
            if let (Some(lower), None) = (lower.next(), lower.next())
                && lower.len_utf8() == length
            {
                lower.encode_utf8(&mut text[at..at + length]);
            }
        }
        at += length;
    }
}

/// Between these are the scripts without case, and all that frames are drawn with.
const fn may_have_case(ch: char) -> bool {
    !matches!(ch, '\u{2000}'..'\u{2C00}' | '\u{2E00}'..'\u{A640}' | '\u{AC00}'..'\u{FB00}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Connection Refused: ECONNREFUSED 127.0.0.1:5432\n\
                        the refused connection\n\
                        error[E0308]: --> src/foo.rs:12:5\n\
                        日本語のテキスト ─ GRÖSSE und Größe\n\
                        foo\n\
                        bar connections\n";

    fn found(text: &str, reading: Reading, strictness: Strictness) -> Vec<usize> {
        let query = Query::parse(text, reading, strictness).unwrap();
        let mut lines = Vec::new();
        query.find(TEXT.as_bytes(), &mut |place| {
            let line = &TEXT[place.clone()];
            assert!(!line.contains('\n') && TEXT[place.end..].starts_with('\n'));
            assert!(!query.places(line).is_empty(), "{line}");
            lines.push(TEXT[..place.start].lines().count());
        });
        lines
    }

    fn lax(text: &str) -> Vec<usize> {
        found(text, Reading::Words, Strictness::default())
    }

    #[test]
    fn a_letter_at_the_end_of_a_word_is_the_same_letter() {
        let mut forms = ["ΣΊΣΥΦΟΣ", "σίσυφος", "σίσυφοσ"].map(|text| text.as_bytes().to_vec());
        forms.iter_mut().for_each(|text| fold(text));
        assert!(forms.iter().all(|text| *text == forms[0]), "{forms:?}");
    }

    #[test]
    fn every_word_must_be_there_in_any_order_and_case() {
        assert_eq!(lax("refused connection"), [0, 1]);
        assert_eq!(lax("\"connection refused\""), [0]);
        assert_eq!(lax("econnrefused"), [0]);
        assert_eq!(lax("  conn  \"5432\" "), [0]);
        assert_eq!(lax("src/foo.rs:12"), [2]);
        assert_eq!(lax("[e0308]"), [2]);
        assert_eq!(lax("テキスト"), [3]);
        assert_eq!(lax("größe"), [3]);
        assert_eq!(lax("nowhere"), [0_usize; 0]);
        assert_eq!(lax("foo bar"), [0_usize; 0], "on two lines");
    }

    #[test]
    fn stricter_queries_find_less() {
        let case = Strictness { case: true, whole_words: false };
        assert_eq!(found("connection", Reading::Words, case), [1, 5]);
        let words = Strictness { case: false, whole_words: true };
        assert_eq!(found("connection", Reading::Words, words), [0, 1]);
        assert_eq!(found("größe", Reading::Words, words), [3]);
        assert_eq!(found("conn", Reading::Words, words), [0_usize; 0]);
        assert_eq!(found("refused connection", Reading::Literal, Strictness::default()), [1]);
    }

    #[test]
    fn patterns_are_held_against_each_line_alone() {
        let regex = |text: &str| found(text, Reading::Regex, Strictness::default());
        assert_eq!(regex(r"e\d{4}"), [2]);
        assert_eq!(regex("^foo$"), [4]);
        assert_eq!(regex("refused$|^bar"), [5]);
        assert_eq!(regex(r"foo\s*bar"), [0_usize; 0], "not over the end of a line");
        assert_eq!(regex(r"connection[^x]*c"), [0], "what begins here and ends elsewhere hides nothing");
        assert_eq!(
            found("conn", Reading::Regex, Strictness { case: false, whole_words: true }),
            [0_usize; 0]
        );
        assert!(Query::parse("(", Reading::Regex, Strictness::default()).unwrap_err().contains("unclosed"));
    }

    #[test]
    fn the_places_of_a_line_do_not_overlap() {
        let query = Query::parse("aba ab", Reading::Words, Strictness::default()).unwrap();
        assert_eq!(query.places("xABAb aab"), [1..5, 7..9]);
        let query = Query::parse("x*", Reading::Regex, Strictness::default()).unwrap();
        assert_eq!(query.places("axxb-x"), [1..3, 5..6]);
    }

    #[test]
    fn a_query_needs_something_to_look_for_and_a_lone_quote_is_a_character() {
        for nothing in ["", "   ", "\"\"", "\" \""] {
            assert!(Query::parse(nothing, Reading::Words, Strictness::default()).is_err(), "{nothing:?}");
        }
        assert_eq!(words("a \"b c\"d \"e"), ["a", "", "b c", "d", "\"e"].map(str::to_owned));
    }

    #[test]
    fn folding_moves_nothing() {
        for text in ["ÀÉİẞK", "Ａｂ", "漢字 ─│ ABC", "ǅ\u{10400}"] {
            let mut folded = text.as_bytes().to_vec();
            fold(&mut folded);
            assert_eq!(std::str::from_utf8(&folded).unwrap().len(), text.len());
        }
        let mut broken = b"A\xffB\xc3".to_vec();
        fold(&mut broken);
        assert_eq!(broken, b"a\xffb\xc3");
    }
}
