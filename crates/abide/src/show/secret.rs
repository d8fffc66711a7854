//! Arguments that look like secrets, masked before anyone sees them. Guesses, and rather masks too much.

use std::borrow::Cow;

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

/// The text with the masked arguments where it quotes the whole command line.
pub(crate) fn hide<'a>(text: &'a str, argv: &[String], masked: &[Cow<'_, str>]) -> Cow<'a, str> {
    let (shown, whole) = (masked.join(" "), argv.join(" "));
    if shown == whole || !text.contains(&whole) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.replace(&whole, &shown))
    }
}

/// A command line that is one text already.
pub(crate) fn mask_words(line: &str) -> String {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
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

/// Whether an option, a variable or a header of this name holds a secret: `--api-key`, `DB_PASSWORD`, `authToken`.
fn is_secret_name(name: &str) -> bool {
    let mut parts: Vec<String> = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && after_lower) {
            parts.push(String::new());
        }
        after_lower = c.is_lowercase();
        if let (true, Some(part)) = (c.is_alphanumeric(), parts.last_mut()) {
            part.extend(c.to_lowercase());
        }
    }
    // Where the secret is, or what it is called, is none.
    let about = ["file", "path", "dir", "stdin", "env", "id", "name", "url", "type", "ttl", "fd"];
    let harmless = parts.last().is_some_and(|last| about.contains(&last.as_str()));
    !harmless && parts.iter().any(|part| is_secret_part(part))
}

fn is_secret_part(part: &str) -> bool {
    let whole = ["key", "keys", "pwd", "authorization", "credential", "credentials", "pat"];
    let ends = ["token", "apikey", "accesskey", "secretkey", "privatekey", "authkey", "passphrase"];
    let within = ["secret", "password", "passwd"];
    whole.contains(&part)
        || ends.iter().any(|end| part.ends_with(end))
        || within.iter().any(|word| part.contains(word))
}

/// Masks what has the form of a well-known token, wherever it stands in the argument.
fn tokens(arg: &str) -> Cow<'_, str> {
    let in_token = |c: char| c.is_ascii_alphanumeric() || "_-.+/~".contains(c);
    let mut masked = String::new();
    let (mut rest, mut before) = (arg, "");
    while let Some(start) = rest.find(in_token) {
        let end = rest[start..].find(|c| !in_token(c)).map_or(rest.len(), |length| start + length);
        let word = &rest[start..end];
        let announced = ["bearer", "basic"].iter().any(|scheme| before.eq_ignore_ascii_case(scheme))
            && rest[..start].starts_with(' ');
        masked.push_str(&rest[..start]);
        let in_url = !word.contains('/') && is_url_password(&masked, &rest[end..]);
        let secret = is_token(word) || announced || in_url;
        masked.push_str(if secret { MASK } else { word });
        (rest, before) = (&rest[end..], word);
    }
    masked.push_str(rest);
    if masked == arg { Cow::Borrowed(arg) } else { Cow::Owned(masked) }
}

fn is_token(word: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "sk-",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "glpat-",
        "xoxa-",
        "xoxb-",
        "xoxp-",
        "xoxr-",
        "xoxs-",
        "xoxe.",
        "xapp-",
        "AKIA",
        "ASIA",
        "AIza",
        "hf_",
        "npm_",
        "pypi-",
        "eyJ",
    ];
    const SHORTEST_TAIL: usize = 8;
    PREFIXES.iter().filter_map(|prefix| word.strip_prefix(prefix)).any(|tail| {
        let plain = tail.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
        plain && tail.len() >= SHORTEST_TAIL
    })
}

/// `scheme://user:` before it and `@` behind it.
fn is_url_password(before: &str, behind: &str) -> bool {
    let user = before.strip_suffix(':').and_then(|url| url.rsplit_once("//"));
    behind.starts_with('@') && user.is_some_and(|(scheme, user)| scheme.ends_with(':') && !user.contains('/'))
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
        assert_eq!(hide("launched x --password my long pass", &argv, &masked), "launched x --password ***");
        let argv: Vec<String> = ["x", "--pin-token", "1"].map(String::from).to_vec();
        assert_eq!(hide("program 4711 is alive", &argv, &mask(&argv)), "program 4711 is alive");
        assert_eq!(mask_words("x --token abc y"), "x --token *** y");
    }
}
