//! The paths a source names, each written out in full: imports, and paths in the code through them.
//! Scopes are not followed: an import counts for its whole file.

use std::collections::BTreeMap;

use crate::scan::Token;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    pub text: String,
    pub line: usize,
}

impl Path {
    /// Whether it is `prefix`, lies below it, or is a glob that would bring it in.
    pub(crate) fn falls_under(&self, prefix: &str) -> bool {
        let glob = self.text.strip_suffix('*').is_some_and(|open| prefix.starts_with(open));
        let below =
            self.text.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
        below || glob
    }
}

/// All paths. `module` is the full path of the file's own module.
pub(crate) fn paths(tokens: &[Token<'_>], module: &str) -> Vec<Path> {
    let (mut imports, mut inline) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].text == "use" {
            at = import(tokens, at + 1, "", &mut imports);
        } else if tokens[at].is_word() && !continues_a_path(tokens, at) {
            let (path, end) = plain(tokens, at);
            inline.push(path);
            at = end;
        } else {
            at += 1;
        }
    }
    let names: BTreeMap<&str, &str> =
        imports.iter().map(|(name, path)| (name.as_str(), path.text.as_str())).collect();
    let through_imports = inline.iter().filter_map(|path| {
        let (first, rest) = path.text.split_once("::")?;
        let first = names.get(first).copied().unwrap_or(first);
        Some(Path { text: format!("{first}::{rest}"), line: path.line })
    });
    let imported = imports.iter().map(|(_, path)| path.clone());
    imported.chain(through_imports).map(|path| Path { text: rooted(&path.text, module), ..path }).collect()
}

/// Whether the word stands behind `a::` or `a::<b>::`; behind a bare `::` a path begins.
fn continues_a_path(tokens: &[Token<'_>], at: usize) -> bool {
    match tokens[..at] {
        [.., before, colons] => colons.text == "::" && (before.is_word() || before.text == ">"),
        _ => false,
    }
}

/// Reads `a::b::c` from `at`; gives it and the index behind it.
fn plain(tokens: &[Token<'_>], at: usize) -> (Path, usize) {
    let mut path = Path { text: tokens[at].text.to_owned(), line: tokens[at].line };
    let mut end = at + 1;
    while let [colons, word, ..] = &tokens[end..]
        && colons.text == "::"
        && word.is_word()
    {
        path.text.push_str("::");
        path.text.push_str(word.text);
        end += 2;
    }
    (path, end)
}

/// Reads one tree of a `use` from `at` and notes each path under the name it gets.
/// Gives the index of the sign that ends the tree.
fn import(tokens: &[Token<'_>], mut at: usize, prefix: &str, found: &mut Vec<(String, Path)>) -> usize {
    let line = tokens.get(at).map_or(0, |token| token.line);
    let mut text = prefix.to_owned();
    let mut name = None;
    let mut leaf = false;
    while let Some(token) = tokens.get(at) {
        match token.text {
            ";" | "," | "}" => break,
            "::" => {}
            "{" => {
                while tokens.get(at).is_some_and(|token| token.text != "}") {
                    at = import(tokens, at + 1, &text, found);
                }
                return at + 1;
            }
            "as" => {
                at += 1;
                name = tokens.get(at).map(|token| token.text.to_owned());
            }
            "self" if !text.is_empty() => leaf = true,
            word => {
                leaf = true;
                text = if text.is_empty() { word.to_owned() } else { format!("{text}::{word}") };
            }
        }
        at += 1;
    }
    if leaf {
        let last = text.rsplit("::").next().unwrap_or_default();
        found.push((name.unwrap_or_else(|| last.to_owned()), Path { text, line }));
    }
    at
}

/// Writes out `crate`, `self` and `super`.
fn rooted(path: &str, module: &str) -> String {
    let mut here: Vec<&str> = module.split("::").collect();
    let mut rest = path;
    loop {
        let (first, tail) = rest.split_once("::").unwrap_or((rest, ""));
        match first {
            "crate" => here.truncate(1),
            "self" => {}
            "super" => drop(here.pop()),
            _ if rest.len() == path.len() => return path.to_owned(),
            _ => return here.into_iter().chain([rest]).collect::<Vec<_>>().join("::"),
        }
        rest = tail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::tokens;

    fn texts(code: &str) -> Vec<String> {
        paths(&tokens(code), "abide::cmd::ls").into_iter().map(|path| path.text).collect()
    }

    #[test]
    fn import_trees_are_written_out() {
        let code = "use std::{fs, io::{self as i, Read as _}, time::*,};\nuse a::b as c;\n\
                    fn f() { c::d(); ::g::h() }";
        let expected = ["std::fs", "std::io", "std::io::Read", "std::time::*", "a::b", "a::b::d", "g::h"];
        assert_eq!(texts(code), expected);
        assert_eq!(paths(&tokens(code), "x")[4].line, 2);
    }

    #[test]
    fn paths_in_the_code_go_through_the_imports() {
        let code = "use abide_core::status::Status as S;\nfn f() { S::Running; std::fs::read(x); y.z() }";
        let found = texts(code);
        assert!(found.contains(&"abide_core::status::Status::Running".to_owned()), "{found:?}");
        assert!(found.contains(&"std::fs::read".to_owned()), "{found:?}");
    }

    #[test]
    fn relative_paths_are_rooted_in_their_module() {
        let code =
            "use super::super::dash::X;\nuse crate::show;\nfn f() { self::g::h(); super::wait::run() }";
        let expected = ["abide::dash::X", "abide::show", "abide::cmd::ls::g::h", "abide::cmd::wait::run"];
        assert_eq!(texts(code), expected);
    }

    #[test]
    fn a_path_falls_under_a_prefix_by_whole_segments() {
        let path = |text: &str| Path { text: text.to_owned(), line: 1 };
        assert!(path("std::fs").falls_under("std::fs") && path("std::fs::read").falls_under("std::fs"));
        assert!(path("std::*").falls_under("std::fs") && !path("std::fsx").falls_under("std::fs"));
        assert!(!path("abide_core::id").falls_under("abide"));
    }
}
