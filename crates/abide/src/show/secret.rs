//! Arguments that look like secrets, masked before anyone sees them; what looks like one is for `core::redact` to say.

use std::borrow::Cow;

use abide_core::recording::redact::{self, is_secret_name};

use super::shell;

/// What stands in front of the command line of a session.
const LAUNCHED: &str = "launched ";
/// What stands in a secret's place.
const MASK: &str = "***";

/// The arguments with their secrets masked.
pub(crate) fn mask(argv: &[String]) -> Vec<Cow<'_, str>> {
    let mut next_is_secret = false;
    argv.iter()
        .map(|arg| {
            let masked =
                if next_is_secret && !arg.starts_with("--") { Cow::Borrowed(MASK) } else { argument(arg) };
            next_is_secret = arg.starts_with('-') && !arg.contains(['=', ' ']) && is_secret_name(arg);
            masked
        })
        .collect()
}

/// The text with the masked arguments where it quotes the whole command line: as it could be typed where it was launched.
pub(crate) fn hide<'a>(text: &'a str, argv: &[String], masked: &[Cow<'_, str>]) -> Cow<'a, str> {
    let (shown, whole) = (masked.join(" "), argv.join(" "));
    if let Some(rest) = text.strip_prefix(LAUNCHED).and_then(|words| words.strip_prefix(&whole)) {
        Cow::Owned([LAUNCHED, &shell::line(masked.iter().map(AsRef::as_ref)), rest].concat())
    } else if shown == whole || !text.contains(&whole) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.replace(&whole, &shown))
    }
}

/// A command line that is one text already.
pub(crate) fn mask_words(line: &str) -> String {
    // What is between two words of a key belongs to it.
    let words: Vec<String> = tokens(line).split(' ').map(str::to_owned).collect();
    mask(&words).join(" ")
}

fn argument(arg: &str) -> Cow<'_, str> {
    let named =
        arg.split_once('=').filter(|(name, _)| !name.contains(' ')).map(|(name, value)| (name, "=", value));
    let header = || arg.split_once(": ").map(|(name, value)| (name, ": ", value));
    match named.or_else(header) {
        Some((name, between, value)) if !value.is_empty() && is_secret_name(name) => {
            Cow::Owned(format!("{name}{between}{MASK}"))
        }
        Some(_) | None => tokens(arg),
    }
}

/// What has the form of a well-known token, wherever it stands in the argument.
fn tokens(arg: &str) -> Cow<'_, str> {
    let secrets = redact::tokens(arg);
    if secrets.is_empty() {
        return Cow::Borrowed(arg);
    }
    let mut masked = arg.to_owned();
    secrets.into_iter().rev().for_each(|secret| masked.replace_range(secret, MASK));
    Cow::Owned(masked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(argv: &[&str], shown: &[&str]) {
        let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
        assert_eq!(mask(&argv), shown);
    }

    #[test]
    fn values_of_secret_names_are_masked_however_they_are_given() {
        check(
            &["x", "--token=abc", "--api-key", "abc", "-v"],
            &["x", "--token=***", "--api-key", "***", "-v"],
        );
        check(
            &["env", "DB_PASSWORD=hunter2", "SECRET_KEY_BASE=1"],
            &["env", "DB_PASSWORD=***", "SECRET_KEY_BASE=***"],
        );
        check(&["--clientSecret", "a b", "authToken=x"], &["--clientSecret", "***", "authToken=***"]);
        check(&["curl", "-H", "x-api-key: abc"], &["curl", "-H", "x-api-key: ***"]);
    }

    #[test]
    fn well_known_tokens_are_masked_wherever_they_stand() {
        check(&["sk-ant-REDACTED", "use ghp_0123456789ab now"], &["***", "use *** now"]);
        check(&["AKIAIOSFODNN7EXAMPLE", "xoxb-1234-5678-abcd"], &["***", "***"]);
        check(&["-H", "Authorization: Bearer abc.def"], &["-H", "Authorization: ***"]);
        check(&["Bearer abcdef", "--header=X: bearer q/w+e"], &["Bearer ***", "--header=X: bearer ***"]);
        check(&["https://me:hunter2@host/x"], &["https://me:***@host/x"]);
    }

    #[test]
    fn what_is_no_secret_stays() {
        let plain = [
            "-p",
            "--max-tokens",
            "4096",
            "--max-tokens=1",
            "--keyboard=us",
            "monkey=1",
            "--token-file",
            "t",
        ];
        check(&plain, &plain);
        let plain =
            ["sk-learn", "make", "KEY", "a=b", "--password-stdin", "x", "https://host:80/x@y", "--keys="];
        check(&plain, &plain);
    }

    #[test]
    fn a_secret_is_hidden_in_sentences_too() {
        let argv: Vec<String> = ["x", "--password", "my long pass"].map(String::from).to_vec();
        let masked = mask(&argv);
        let told = hide("launched x --password my long pass, its input from a pipe", &argv, &masked);
        assert_eq!(told, "launched x --password '***', its input from a pipe");
        let argv = ["sh", "-c", "make; exit 2"].map(String::from);
        assert_eq!(hide("launched sh -c make; exit 2", &argv, &mask(&argv)), "launched sh -c 'make; exit 2'");
        let argv: Vec<String> = ["x", "--pin-token", "1"].map(String::from).to_vec();
        assert_eq!(hide("program 4711 is alive", &argv, &mask(&argv)), "program 4711 is alive");
        assert_eq!(mask_words("x --token abc y"), "x --token *** y");
    }
}
