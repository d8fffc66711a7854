//! Where things stand in a text of JSON, to the byte, so that it can be changed at one place and kept everywhere else.
//! Comments are passed over where the agent that owns the text reads them.

/// Deeper than this nobody writes settings.
const DEEPEST: usize = 128;
/// What some editors put in front of a text.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Where a text makes no sense, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nonsense {
    /// The byte.
    pub at: usize,
    pub says: &'static str,
}

/// A value and where it stands.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Object(Vec<Item>),
    Array(Vec<Item>),
    /// A string, as it is meant.
    Text(String),
    /// A number, a truth, or null: as it is written.
    Word(String),
}

/// One of the things in an object or an array.
#[derive(Debug)]
pub(crate) struct Item {
    /// Its name; none in an array.
    pub(crate) key: Option<String>,
    /// Where it begins, its name included.
    pub(crate) start: usize,
    pub(crate) value: Node,
    /// The comma behind it.
    pub(crate) comma: Option<usize>,
}

impl Node {
    /// What is in an object.
    pub(crate) fn members(&self) -> Option<&[Item]> {
        match &self.kind {
            Kind::Object(items) => Some(items),
            Kind::Array(_) | Kind::Text(_) | Kind::Word(_) => None,
        }
    }

    /// What is in an array.
    pub(crate) fn elements(&self) -> Option<&[Item]> {
        match &self.kind {
            Kind::Array(items) => Some(items),
            Kind::Object(_) | Kind::Text(_) | Kind::Word(_) => None,
        }
    }

    /// What is in an object or an array.
    pub(crate) fn items(&self) -> &[Item] {
        match &self.kind {
            Kind::Object(items) | Kind::Array(items) => items,
            Kind::Text(_) | Kind::Word(_) => &[],
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::Object(_) | Kind::Array(_) | Kind::Word(_) => None,
        }
    }

    /// Where a member of this name stands among the others: the last one, as agents take it.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.members()?.iter().rposition(|item| item.key.as_deref() == Some(name))
    }

    /// The member of this name.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        Some(&self.members()?[self.position(name)?].value)
    }

    /// Whether both mean the same, however they are written.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Text(one), Kind::Text(two)) | (Kind::Word(one), Kind::Word(two)) => one == two,
            (Kind::Array(one), Kind::Array(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.value.is_like(&two.value))
            }
            (Kind::Object(one), Kind::Object(two)) => {
                let same = |item: &Item| {
                    let name = item.key.as_deref().unwrap_or_default();
                    other.member(name).is_some_and(|value| value.is_like(&item.value))
                };
                one.len() == two.len() && one.iter().all(same)
            }
            _ => false,
        }
    }
}

/// The one value that a text holds.
///
/// # Errors
/// Where it is no JSON.
pub(crate) fn scan(text: &str, comments: bool) -> Result<Node, Nonsense> {
    let at = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let mut scanner = Scanner { text, at, comments };
    scanner.gap()?;
    let node = scanner.value(0)?;
    scanner.gap()?;
    if scanner.at < text.len() {
        return Err(scanner.nonsense("something behind the end"));
    }
    Ok(node)
}

/// Whether there is nothing but white space in a part of a text.
pub(crate) fn is_blank(part: &str) -> bool {
    part.bytes().all(is_space)
}

pub(crate) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Where a comment that begins here ends; none if there is none. White space at the end of a line is not its own.
pub(crate) fn comment(text: &str, at: usize) -> Option<Result<usize, Nonsense>> {
    let rest = &text[at..];
    if rest.starts_with("//") {
        let line = rest.split('\n').next().unwrap_or(rest);
        return Some(Ok(at + line.trim_end_matches([' ', '\t', '\r']).len()));
    }
    let inside = rest.strip_prefix("/*")?;
    let never = Nonsense { at, says: "a comment that does not end" };
    Some(inside.find("*/").map(|length| at + length + 4).ok_or(never))
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    comments: bool,
}

impl Scanner<'_> {
    fn nonsense(&self, says: &'static str) -> Nonsense {
        Nonsense { at: self.at, says }
    }

    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes on behind white space and comments.
    fn gap(&mut self) -> Result<(), Nonsense> {
        loop {
            while self.next().is_some_and(is_space) {
                self.at += 1;
            }
            match comment(self.text, self.at) {
                None => return Ok(()),
                Some(_) if !self.comments => {
                    return Err(self.nonsense("a comment, which the agent does not read"));
                }
                Some(end) => self.at = end?,
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Nonsense> {
        let start = self.at;
        let kind = match self.next() {
            _ if depth > DEEPEST => return Err(self.nonsense("it is nested too deep")),
            None => return Err(self.nonsense("it ends too early")),
            Some(b'{') => Kind::Object(self.list(b'}', depth)?),
            Some(b'[') => Kind::Array(self.list(b']', depth)?),
            Some(b'"') => Kind::Text(self.string()?),
            Some(_) => Kind::Word(self.word()?),
        };
        Ok(Node { start, end: self.at, kind })
    }

    fn list(&mut self, close: u8, depth: usize) -> Result<Vec<Item>, Nonsense> {
        let mut items: Vec<Item> = Vec::new();
        self.at += 1;
        self.gap()?;
        if self.next() == Some(close) {
            self.at += 1;
            return Ok(items);
        }
        loop {
            let start = self.at;
            let mut key = None;
            if close == b'}' {
                if self.next() != Some(b'"') {
                    return Err(self.nonsense("a name is expected"));
                }
                key = Some(self.string()?);
                self.gap()?;
                if self.next() != Some(b':') {
                    return Err(self.nonsense("a colon is expected"));
                }
                self.at += 1;
                self.gap()?;
            }
            let value = self.value(depth + 1)?;
            self.gap()?;
            let comma = (self.next() == Some(b',')).then_some(self.at);
            items.push(Item { key, start, value, comma });
            match self.next() {
                Some(b',') => {
                    self.at += 1;
                    self.gap()?;
                }
                Some(byte) if byte == close => {
                    self.at += 1;
                    return Ok(items);
                }
                Some(_) => return Err(self.nonsense("a comma or the end is expected")),
                None => return Err(self.nonsense("it ends too early")),
            }
        }
    }

    fn string(&mut self) -> Result<String, Nonsense> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.next() {
                None => return Err(self.nonsense("it ends within a text")),
                Some(b'"') => break,
                Some(byte) if byte < b' ' => return Err(self.nonsense("a control character within a text")),
                Some(b'\\') => self.escape()?,
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let written = &self.text[start..self.at];
        // Half a character is lawful there, and nothing that we look for.
        Ok(serde_json::from_str(written).unwrap_or_else(|_| written.to_owned()))
    }

    fn escape(&mut self) -> Result<(), Nonsense> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        self.at += match rest {
            [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
            [b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) => 6,
            _ => return Err(self.nonsense("an unknown escape")),
        };
        Ok(())
    }

    fn word(&mut self) -> Result<String, Nonsense> {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = &rest[..length];
        if !matches!(word, "true" | "false" | "null") && !is_number(word) {
            return Err(self.nonsense("a value is expected"));
        }
        self.at += length;
        Ok(word.to_owned())
    }
}

fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (number, exponent) = match word.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (word, None),
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    let whole_is = digits(whole) && (whole == "0" || !whole.starts_with('0'));
    let exponent = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
    whole_is && fraction.is_none_or(digits) && exponent.is_none_or(digits)
}
