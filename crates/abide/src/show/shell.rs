//! Commands as a shell would take them, and commands of ours that are named in a text.

use std::borrow::Cow;

/// One word of a command line, quoted where a shell would take it for something else.
pub(crate) fn word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

/// A command line.
pub(crate) fn line<'a>(words: impl IntoIterator<Item = impl Into<Cow<'a, str>>>) -> String {
    let words = words.into_iter().map(|text| word(&text.into()).into_owned());
    words.collect::<Vec<_>>().join(" ")
}

/// The text with these words given to each command of ours in it: between backticks, or the whole text.
/// What only asks for help needs none.
pub(crate) fn with_options(text: &str, options: &str) -> String {
    let given = |command: &str| match command.strip_prefix("abide ") {
        Some(rest) if !rest.contains("--help") && !rest.starts_with(options) => {
            format!("abide {options} {rest}")
        }
        Some(_) | None => command.to_owned(),
    };
    if text.starts_with("abide ") {
        return given(text);
    }
    let parts = text.split('`').enumerate();
    parts
        .map(|(at, part)| if at % 2 == 1 { given(part) } else { part.to_owned() })
        .collect::<Vec<_>>()
        .join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_change_are_quoted() {
        assert_eq!(line(["make", "-j4", "CC=gcc", "./a/b"]), "make -j4 CC=gcc ./a/b");
        assert_eq!(line(["echo", "", "a b", "it's", "*", "~"]), r"echo '' 'a b' 'it'\''s' '*' '~'");
    }

    #[test]
    fn every_command_in_a_text_is_given_the_options() {
        let given = |text| with_options(text, "--home x");
        assert_eq!(
            given("`abide stop a` first, or `abide rm a`"),
            "`abide --home x stop a` first, or `abide --home x rm a`"
        );
        assert_eq!(given("abide doctor --fix"), "abide --home x doctor --fix");
        assert_eq!(given("`abide ls --help` shows examples"), "`abide ls --help` shows examples");
        assert_eq!(given("abide: no `x`"), "abide: no `x`");
    }
}
