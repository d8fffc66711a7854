//! Rust source as layers (code, comments, literals) and the code as tokens. Knows no rule.
//! Not a parser: it reads what rustfmt has formatted and rustc has accepted.

/// One source, three times: in each layer everything but that layer is blank, and lines keep their numbers.
#[derive(Debug)]
pub(crate) struct Layers {
    pub code: String,
    pub comments: String,
    pub literals: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layer {
    Code,
    Comment,
    Literal,
}

impl Layers {
    pub(crate) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (mut code, mut comments, mut literals) = (Vec::new(), Vec::new(), Vec::new());
        let mut at = 0;
        while at < bytes.len() {
            let (layer, length) = piece(&text[at..]);
            let piece = &bytes[at..at + length];
            for (wanted, to) in
                [(Layer::Code, &mut code), (Layer::Comment, &mut comments), (Layer::Literal, &mut literals)]
            {
                if layer == wanted {
                    to.extend_from_slice(piece);
                } else {
                    to.extend(piece.iter().map(|&byte| if byte == b'\n' { b'\n' } else { b' ' }));
                }
            }
            at += length;
        }
        let whole = |bytes| String::from_utf8(bytes).expect("layers change between characters only");
        Self { code: whole(code), comments: whole(comments), literals: whole(literals) }
    }
}

/// The layer and the length of what the text starts with.
fn piece(text: &str) -> (Layer, usize) {
    if text.starts_with("//") {
        return (Layer::Comment, text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return (Layer::Comment, block_comment(text));
    }
    if let Some(length) = literal(text) {
        return (Layer::Literal, length);
    }
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    let plain = if starts_word(first) { word_length(rest) } else { code_length(rest) };
    (Layer::Code, first.len() + plain)
}

fn starts_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The length of what can start neither a comment nor a literal nor a word.
fn code_length(text: &str) -> usize {
    text.find(|c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '"' | '\'')).unwrap_or(text.len())
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The length of the string or character literal that the text starts with, prefix included.
fn literal(text: &str) -> Option<usize> {
    if !text.starts_with(['b', 'c', 'r', '"', '\'']) {
        return None;
    }
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        let rest = text.strip_prefix(prefix).unwrap_or_default();
        let raw = prefix.ends_with('r');
        let opening = if raw { rest.trim_start_matches('#') } else { rest };
        opening.starts_with('"') || (*prefix == "b" || prefix.is_empty()) && rest.starts_with('\'')
    })?;
    let rest = &text[prefix.len()..];
    let length = if rest.starts_with('\'') {
        character(rest)?
    } else if prefix.ends_with('r') {
        raw_string(rest)
    } else {
        1 + closing(&rest[1..], b'"')
    };
    Some(prefix.len() + length)
}

/// `None` for a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut inside = text.chars().skip(1);
    let first = inside.next()?;
    if first == '\\' {
        return Some(1 + closing(&text[1..], b'\''));
    }
    (inside.next()? == '\'').then_some(2 + first.len_utf8())
}

fn raw_string(text: &str) -> usize {
    let hashes = text.len() - text.trim_start_matches('#').len();
    let end = format!("\"{}", "#".repeat(hashes));
    let start = hashes + 1;
    text[start..].find(&end).map_or(text.len(), |at| start + at + end.len())
}

/// The length up to and with the quote that is not escaped.
fn closing(text: &str, quote: u8) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A word, a lifetime, a joined sign or a single sign of the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub text: &'a str,
    /// Counted from 1.
    pub line: usize,
}

impl Token<'_> {
    pub(crate) fn is_word(&self) -> bool {
        word_length(self.text) > 0
    }
}

const JOINED: [&str; 3] = ["::", "->", "=>"];

/// The tokens of a code layer.
pub(crate) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let joined = JOINED.into_iter().find(|sign| rest.starts_with(sign)).map(str::len);
            let length = match word_length(rest.trim_start_matches('\'')) {
                0 => joined.unwrap_or(first.len_utf8()),
                word => word + usize::from(first == '\''),
            };
            found.push(Token { text: &rest[..length], line: index + 1 });
            rest = rest[length..].trim_start();
        }
    }
    found
}

/// The index of the bracket that closes the one at `open`, or of the last token.
pub(crate) fn close(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    tokens.len() - 1
}

/// Whether a line of code calls the macro.
pub(crate) fn calls_macro(line: &str, name: &str) -> bool {
    let call = format!("{name}!");
    line.match_indices(&call).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(code: &str) -> Vec<&str> {
        tokens(code).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_and_literals_leave_the_code_layer_and_lines_stay() {
        let source = "let a = \"x // \\\" {\"; // brace }\n/* one /* two */ } */ let b = 'x';\n";
        let layers = Layers::of(source);
        assert_eq!(texts(&layers.code), ["let", "a", "=", ";", "let", "b", "=", ";"]);
        assert_eq!(layers.comments.split_whitespace().next(), Some("//"));
        assert!(layers.comments.contains("brace }") && layers.comments.contains("two"));
        assert!(layers.literals.contains("x // \\\" {") && layers.literals.contains("'x'"));
        assert_eq!(tokens(&layers.code)[4].line, 2);
        assert!([layers.code, layers.comments, layers.literals].iter().all(|l| l.len() == source.len()));
    }

    #[test]
    fn raw_and_byte_strings_end_where_rust_ends_them() {
        for literal in
            ["r#\"a \" } b\"#", "br\"\\\"", "b\"\\\"}\"", "c\"}\"", "b'{'", "'\\''", "'\\u{7b}'", "'é'"]
        {
            let layers = Layers::of(&format!("f({literal});g()"));
            assert_eq!(texts(&layers.code), ["f", "(", ")", ";", "g", "(", ")"], "{literal}");
        }
    }

    #[test]
    fn lifetimes_and_raw_identifiers_are_code() {
        let layers = Layers::of("fn f<'a>(r#type: &'a str, bar: &'static str) {}");
        assert!(layers.literals.trim().is_empty());
        assert!(texts(&layers.code).contains(&"'static") && texts(&layers.code).contains(&"type"));
    }

    #[test]
    fn a_bracket_is_closed_by_its_own_partner() {
        let found = tokens("{ ( [ ] ) { } } x");
        assert_eq!(close(&found, 0), 7);
        assert_eq!(close(&found, 1), 4);
    }
}
