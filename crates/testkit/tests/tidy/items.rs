//! The items of a source that have a size: functions, structs, enums; and which lines are tests.

use crate::scan::{Token, close};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Function,
    Struct,
    Enum,
}

#[derive(Debug)]
pub(crate) struct Item {
    pub kind: Kind,
    pub name: String,
    /// Where its keyword stands, and where it ends.
    pub first_line: usize,
    pub last_line: usize,
    /// Parameters, fields or variants.
    pub parts: usize,
    /// Each attribute without its brackets and blanks.
    pub attributes: Vec<String>,
}

impl Item {
    pub(crate) fn is_test(&self) -> bool {
        self.attributes.iter().any(|attribute| attribute == "test")
    }
}

/// All items, nested ones too.
pub(crate) fn items(tokens: &[Token<'_>]) -> Vec<Item> {
    let mut found = Vec::new();
    let mut attributes = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if let Some((text, end)) = attribute(tokens, at) {
            attributes.push(text);
            at = end;
            continue;
        }
        let kind = match tokens[at].text {
            "fn" => Some(Kind::Function),
            "struct" => Some(Kind::Struct),
            "enum" => Some(Kind::Enum),
            _ => None,
        };
        let name = tokens.get(at + 1).filter(|name| name.is_word());
        if let (Some(kind), Some(name)) = (kind, name) {
            let (parts, end) = measure(tokens, at + 2, kind);
            found.push(Item {
                kind,
                name: name.text.to_owned(),
                first_line: tokens[at].line,
                last_line: tokens[end].line,
                parts,
                attributes: std::mem::take(&mut attributes),
            });
        } else if matches!(tokens[at].text, ";" | "," | "{" | "}") {
            attributes.clear();
        }
        at += 1;
    }
    found
}

/// For each line, up to the last that is a test, whether it belongs to an item that only exists in tests.
pub(crate) fn test_lines(tokens: &[Token<'_>]) -> Vec<bool> {
    let mut lines = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some((text, end)) = attribute(tokens, at) else {
            at += 1;
            continue;
        };
        if is_test_only(&text) {
            let last = item_end(tokens, end);
            lines.resize(lines.len().max(tokens[at].line - 1), false);
            lines.resize(lines.len().max(tokens[last].line), true);
        }
        at = end;
    }
    lines
}

/// The text of the attribute at `at` and the index behind it.
fn attribute(tokens: &[Token<'_>], at: usize) -> Option<(String, usize)> {
    let open = match tokens.get(at..at + 3)? {
        [hash, open, _] if hash.text == "#" && open.text == "[" => at + 1,
        [hash, bang, open] if hash.text == "#" && bang.text == "!" && open.text == "[" => at + 2,
        _ => return None,
    };
    let end = close(tokens, open);
    Some((tokens[open + 1..end].iter().map(|token| token.text).collect(), end + 1))
}

fn is_test_only(attribute: &str) -> bool {
    let words: Vec<&str> = attribute.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    attribute == "test" || (words[0] == "cfg" && words.contains(&"test") && !words.contains(&"not"))
}

/// The index of the token that ends the item starting at `at`.
fn item_end(tokens: &[Token<'_>], mut at: usize) -> usize {
    while at < tokens.len() {
        match tokens[at].text {
            ";" => return at,
            "{" => return close(tokens, at),
            "(" | "[" => at = close(tokens, at),
            _ => {}
        }
        at += 1;
    }
    tokens.len() - 1
}

/// Counts the parts of the item whose name stands before `at`, and finds its end.
fn measure(tokens: &[Token<'_>], at: usize, kind: Kind) -> (usize, usize) {
    let end = item_end(tokens, at);
    let opening = if kind == Kind::Function { "(" } else { "{" };
    let mut open = at;
    let mut angles = 0_usize;
    while open < end {
        match tokens[open].text {
            "<" => angles += 1,
            ">" => angles = angles.saturating_sub(1),
            text if text == opening && angles == 0 => break,
            "(" | "[" | "{" => open = close(tokens, open),
            _ => {}
        }
        open += 1;
    }
    if tokens.get(open).is_none_or(|token| token.text != opening) {
        return (0, end);
    }
    (parts(&tokens[open + 1..close(tokens, open)], kind), end)
}

/// The number of comma-separated parts. Generics hide commas, except in enums, where `<` can be a shift.
fn parts(inside: &[Token<'_>], kind: Kind) -> usize {
    let (mut count, mut angles, mut pending) = (0, 0_usize, false);
    let mut at = 0;
    while at < inside.len() {
        match inside[at].text {
            "," if angles == 0 => {
                count += usize::from(pending);
                pending = false;
            }
            "<" if kind != Kind::Enum => angles += 1,
            ">" if kind != Kind::Enum => angles = angles.saturating_sub(1),
            "(" | "[" | "{" => {
                at = close(inside, at);
                pending = true;
            }
            _ => pending = true,
        }
        at += 1;
    }
    count + usize::from(pending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::tokens;

    fn only(code: &str) -> Item {
        let mut found = items(&tokens(code));
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    #[test]
    fn parameters_are_counted_through_generics_and_closures() {
        let code = "pub(crate) fn f<T: Into<Vec<u8>>, const N: usize>(\n    &mut self,\n    \
                    a: Map<A, B>,\n    b: impl Fn(A, B) -> [u8; N],\n    (c, d): (C, D),\n) -> Result<A, B>\n\
                    where\n    T: Copy,\n{\n}\n";
        let function = only(code);
        assert_eq!((function.kind, function.name.as_str(), function.parts), (Kind::Function, "f", 4));
        assert_eq!((function.first_line, function.last_line), (1, 10));
    }

    #[test]
    fn fields_and_variants_are_counted_without_their_attributes() {
        let fields = only("#[derive(A, B)]\nstruct S<T> {\n #[serde(a, b)] pub x: M<A, B>,\n y: (u8, u8)\n}");
        assert_eq!((fields.kind, fields.parts), (Kind::Struct, 2));
        assert_eq!(fields.attributes, ["derive(A,B)"]);
        assert_eq!(only("enum E { A = 1 << 2, B(u8, u8), C { x: u8, y: u8 }, }").parts, 3);
        assert_eq!(only("struct Unit;").parts, 0);
        assert_eq!(only("struct Tuple(u8, u8);").parts, 0);
    }

    #[test]
    fn function_types_are_no_functions_but_nested_functions_are() {
        assert!(items(&tokens("type F = fn(u8) -> u8;")).is_empty());
        assert_eq!(items(&tokens("fn a() { fn b() {} }")).len(), 2);
    }

    #[test]
    fn attributes_stay_with_their_own_item() {
        let code = "#[must_use]\nuse a::b;\n#[test]\n#[should_panic]\nfn a_b_c() {}\nfn d() {}";
        let found = items(&tokens(code));
        assert!(found[0].is_test() && !found[1].is_test());
    }

    #[test]
    fn test_lines_are_those_of_test_modules_and_test_functions() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n#[cfg(not(test))]\nfn c() {}\n\
                    #[test]\nfn d_e_f() {\n}\n#[cfg(test)]\nuse x::{y, z};\nfn e() {}\n";
        let lines = test_lines(&tokens(code));
        let marked: Vec<usize> = (1..=lines.len()).filter(|line| lines[line - 1]).collect();
        assert_eq!(marked, [2, 3, 4, 5, 8, 9, 10, 11, 12]);
    }
}
