//! What the words of a command line are, as far as several agents have them alike.

use crate::adapter::base;

/// What runs agents that are scripts.
const INTERPRETERS: [&str; 3] = ["node", "bun", "deno"];

/// Where the agent stands on a command line: first, or behind an interpreter and its options.
pub(crate) fn program(argv: &[String], is_agent: impl Fn(&str) -> bool) -> Option<usize> {
    let first = argv.first()?;
    if is_agent(first) {
        return Some(0);
    }
    if !INTERPRETERS.contains(&base(first)) {
        return None;
    }
    let script = argv.iter().skip(1).position(|word| !word.starts_with('-'))? + 1;
    is_agent(&argv[script]).then_some(script)
}

/// The words that belong to no option, each with its place.
pub(crate) fn plain<'a>(argv: &'a [String], valued: &'a [&str]) -> impl Iterator<Item = (usize, &'a str)> {
    let mut is_value = false;
    argv.iter().enumerate().filter_map(move |(at, word)| {
        let skip = std::mem::take(&mut is_value);
        if skip {
            return None;
        }
        is_value = valued.contains(&word.as_str());
        (!word.starts_with('-')).then_some((at, word.as_str()))
    })
}

/// Whether it looks like `01a1e6e4-a5ec-7190-b894-0f0703e35db8`.
pub(crate) fn is_uuid(word: &str) -> bool {
    word.len() == 36
        && word.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
