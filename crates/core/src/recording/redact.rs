//! What looks like a secret in text that people see: tokens of well-known forms, values of names that tell, passwords in
//! URLs, private keys. Guesses, and rather masks too much. `stream` masks what is told piece by piece.

mod drawn;
pub mod stream;

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

use crate::screen::Screen;

/// No private key has more lines: where its last one is not seen, it is over.
const KEY_LINES: u32 = 256;

/// No user has a longer name and password.
const LONGEST_LOGIN: usize = 4096;

/// Finds secrets line by line.
#[derive(Debug, Clone, Default)]
pub struct Redact {
    /// Behind the first line of a private key: how many more may belong to it.
    in_key: u32,
}

impl Redact {
    /// Which bytes of the next line are secret.
    pub fn line(&mut self, text: &str) -> Vec<Range<usize>> {
        let has = |part: &str| memmem::find(text.as_bytes(), part.as_bytes()).is_some();
        let marks = has("-----");
        let begins = marks && has("-----BEGIN ") && has("PRIVATE KEY");
        let ends = marks && has("-----END ");
        if self.in_key > 0 {
            self.in_key = if ends { 0 } else { self.in_key - 1 };
            let hidden = !ends && !text.is_empty();
            return hidden.then_some(0..text.len()).into_iter().collect();
        }
        self.in_key = if begins && !ends { KEY_LINES } else { 0 };
        secrets(text)
    }
}

/// The text with a star for every character of a secret.
#[must_use]
pub fn starred(text: &str, secrets: &[Range<usize>]) -> String {
    let secrets = apart(secrets.to_vec());
    let mut hidden = within(&secrets);
    text.char_indices().map(|(at, c)| if hidden(at) { '*' } else { c }).collect()
}

/// Whether a place is secret, asked from first to last: there may be as many places as secrets, and both many.
fn within(mut secrets: &[Range<usize>]) -> impl FnMut(usize) -> bool {
    move |at| {
        while let Some((_, rest)) = secrets.split_first().filter(|(first, _)| first.end <= at) {
            secrets = rest;
        }
        secrets.first().is_some_and(|first| first.contains(&at))
    }
}

/// The same places, in order and apart from each other.
fn apart(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let joins = next.start <= last.end;
        last.end = if joins { last.end.max(next.end) } else { last.end };
        joins
    });
    ranges
}

/// The screen with its secrets starred, and without the lines above it; none if it shows no secret.
#[must_use]
pub fn screen(screen: &Screen) -> Option<Screen> {
    let (mut redact, mut begun) = scrolled_away(screen);
    screen.masked(&mut |line| {
        // The first line may have begun above the screen.
        let begun = std::mem::take(&mut begun);
        let secrets = redact.line(&format!("{begun}{line}")).into_iter();
        let within = secrets.filter(|secret| secret.end > begun.len());
        within.map(|secret| secret.start.saturating_sub(begun.len())..secret.end - begun.len()).collect()
    })
}

/// What follows where the cursor stands goes on with: what was found in the lines above it, and what its own line shows
/// before it.
#[must_use]
pub fn before_cursor(screen: &Screen) -> (Redact, String) {
    let live = screen.live();
    let (mut redact, mut line) =
        if screen.alternate() { (Redact::default(), String::new()) } else { scrolled_away(screen) };
    for row in 0..live.cursor().row {
        line.push_str(&live.row_part(row));
        if !live.is_wrapped(row) {
            redact.line(&std::mem::take(&mut line));
        }
    }
    line.push_str(&live.before_cursor());
    (redact, line)
}

/// What was found in the lines above the screen, and the beginning of the line that goes on in its first row, if any does.
#[must_use]
pub fn scrolled_away(screen: &Screen) -> (Redact, String) {
    let (mut redact, mut line) = (Redact::default(), String::new());
    for part in screen.scrollback() {
        line.push_str(&part.part(screen.size().cols));
        if !part.is_wrapped() {
            redact.line(&std::mem::take(&mut line));
        }
    }
    (redact, line)
}

/// Which bytes of a text that stands by itself are secret, in order and apart from each other.
#[must_use]
pub fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut found = tokens(text);
    found.extend(named(text));
    apart(found)
}

/// Whether an option, a variable or a header of this name holds a secret: `--api-key`, `DB_PASSWORD`, `authToken`.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let parts = name_parts(name);
    // Where the secret is, or what it is called, is none.
    let about = ["file", "path", "dir", "stdin", "env", "id", "name", "url", "type", "ttl", "fd"];
    let harmless = parts.last().is_some_and(|last| about.contains(&last.as_str()));
    !harmless && parts.iter().any(|part| is_secret_part(part))
}

fn name_parts(name: &str) -> Vec<String> {
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
    parts
}

/// Words that are secret in a name of several parts, and in text too common to be so alone.
const COMMON: [&str; 4] = ["key", "keys", "pwd", "pat"];

/// Words that are secret, that make one secret which ends with them, and that make one secret which has them.
const WHOLE: [&str; 3] = ["authorization", "credential", "credentials"];
const ENDS: [&str; 7] = ["token", "apikey", "accesskey", "secretkey", "privatekey", "authkey", "passphrase"];
const WITHIN: [&str; 3] = ["secret", "password", "passwd"];

fn is_secret_part(part: &str) -> bool {
    COMMON.contains(&part)
        || WHOLE.contains(&part)
        || ENDS.iter().any(|end| part.ends_with(end))
        || WITHIN.iter().any(|word| part.contains(word))
}

/// What has the form of a well-known token, wherever it stands, the passwords of URLs and what is in private keys; in order and
/// apart from each other.
#[must_use]
pub fn tokens(text: &str) -> Vec<Range<usize>> {
    let in_token = |b: &u8| b.is_ascii_alphanumeric() || b"_-.+/~=".contains(b);
    let mut found = url_passwords(text);
    found.extend(keys(text));
    let (mut at, mut before) = (0, "");
    while let Some(skipped) = text.as_bytes()[at..].iter().position(in_token) {
        let start = at + skipped;
        let rest = &text.as_bytes()[start..];
        let length = rest.iter().position(|b| !in_token(b)).unwrap_or(rest.len());
        // What pads it belongs to it, what assigns does not.
        let word = text[start..start + length].trim_end_matches('=');
        let end = start + word.len();
        let word = word.rsplit('=').next().unwrap_or(word);
        let (padded, start) = (start + length, end - word.len());
        let announced = ["bearer", "basic"].iter().any(|scheme| before.eq_ignore_ascii_case(scheme))
            && text[..start].ends_with(' ');
        if !word.is_empty() && (is_token(word) || announced) {
            found.push(start..end);
        } else if let Some(within) = begins_within(word, text[..start].ends_with('\\')) {
            found.push(start + within..end);
        } else {
            found.extend(in_path(word).map(|range| start + range.start..start + range.end));
        }
        (at, before) = (padded, word);
    }
    apart(found)
}

/// Where in a word a token begins that has something before it: the letter of `\n`, or whatever it was put behind, if its
/// form is unmistakable.
fn begins_within(word: &str, escaped: bool) -> Option<usize> {
    const TELLING: usize = 20;
    if escaped && word.strip_prefix(['n', 'r', 't']).is_some_and(is_token) {
        return Some(1);
    }
    // Most words are shorter.
    if word.len() <= TELLING {
        return None;
    }
    // Names are made of words: no digits, and as a rule of one case.
    let is_sure = |tail: &str| {
        let letters = tail.bytes().take_while(u8::is_ascii_alphanumeric);
        let has = |kind: fn(&u8) -> bool| letters.clone().any(|b| kind(&b));
        let mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
        letters.clone().count() >= TELLING && (has(u8::is_ascii_digit) || mixed)
    };
    let ends = word.match_indices(['_', '-']).map(|(at, _)| at + 1).filter(|end| is_sure(&word[*end..]));
    let begins = ends.flat_map(|end| {
        let here = LONG_PREFIXES.iter().filter(move |prefix| word[..end].ends_with(*prefix));
        here.map(move |prefix| end - prefix.len())
    });
    begins.min()
}

/// Which parts of a path are tokens by themselves.
fn in_path(word: &str) -> impl Iterator<Item = Range<usize>> {
    let place = |part: &str| part.as_ptr().addr() - word.as_ptr().addr();
    let parts = word.split('/').filter(|part| part.len() < word.len() && is_token(part));
    parts.map(move |part| place(part)..place(part) + part.len())
}

/// What tokens begin with, by who gives them out.
const PREFIXES: &str = "\
    sk- ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glptt- gloas- glsa_ xoxa- xoxb- xoxc- xoxd- xoxp- xoxr- xoxs- \
    xoxe. xapp- AKIA ASIA AIza GOCSPX- ya29. hf_ npm_ pypi- rubygems_ dckr_pat_ eyJ sk_live_ sk_test_ rk_live_ rk_test_ whsec_ \
    gsk_ xai- pplx- r8_ nvapi- hvs. hvb. hvr. dop_v1_ doo_v1_ dor_v1_ shpat_ shpca_ shppa_ shpss_ sq0atp- sq0csp- lin_api_ \
    figd_ tskey- sbp_ sb_secret_ ATATT3 AGE-SECRET-KEY-";

/// Those of them that are unmistakable within a word: their last letter is none.
static LONG_PREFIXES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    PREFIXES.split(' ').filter(|prefix| prefix.len() > 3 && prefix.ends_with(['_', '-'])).collect()
});

/// All of them, by what they begin with.
static PREFIXES_BY_FIRST: LazyLock<[Vec<&str>; 128]> = LazyLock::new(|| {
    std::array::from_fn(|first| {
        PREFIXES.split(' ').filter(|prefix| usize::from(prefix.as_bytes()[0]) == first).collect()
    })
});

fn is_token(word: &str) -> bool {
    const SHORTEST_TAIL: usize = 8;
    // Most words are shorter than any token.
    if word.len() < SHORTEST_TAIL + 3 {
        return false;
    }
    let plain = |tail: &str| tail.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    let first = PREFIXES_BY_FIRST.get(usize::from(word.as_bytes()[0])).map_or(&[][..], Vec::as_slice);
    let mut known = first.iter().filter_map(|prefix| word.strip_prefix(prefix));
    // Too short to tell by its beginning alone.
    let mail = word.strip_prefix("SG.").and_then(|tail| tail.split_once('.'));
    known.any(|tail| plain(tail) && tail.len() >= SHORTEST_TAIL)
        || mail.is_some_and(|(id, tail)| plain(id) && plain(tail) && tail.len() >= SHORTEST_TAIL)
        || is_noise(word)
}

/// So long and so mixed that no person wrote it: the lines of a key. Digests have letters of one case only.
fn is_noise(word: &str) -> bool {
    const LONG: usize = 60;
    if word.len() < LONG {
        return false;
    }
    let has = |kind: fn(&u8) -> bool| word.as_bytes().iter().any(kind);
    let mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
    let path = word.matches('/').count() > word.len() / 16;
    mixed && !path && !word.contains(['.', '~', '-', '_'])
}

/// What follows the first line of a private key in the same text, whether or not on lines of its own: up to its last line, or to
/// what cannot be in a key.
fn keys(text: &str) -> impl Iterator<Item = Range<usize>> {
    let in_key = |c: char| c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || "+/=\\:,-".contains(c);
    let heads = ["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"];
    let begins =
        heads.into_iter().flat_map(|head| text.match_indices(head)).map(|(at, head)| at + head.len());
    begins.filter_map(move |start| {
        let rest = &text[start..];
        let end = rest.find("-----END").unwrap_or(rest.len());
        let end = rest[..end].find(|c| !in_key(c)).unwrap_or(end);
        // The last line of one ends as the first does.
        (!rest[..end].trim().is_empty() && is_begun(&text[..start])).then_some(start..start + end)
    })
}

/// Whether the head of a key that ends here is that of its first line.
fn is_begun(text: &str) -> bool {
    text.rfind("-----BEGIN ").is_some_and(|begin| text.rfind("-----END ").is_none_or(|end| end < begin))
}

/// Between `scheme://user:` and the last `@` before the host, whatever stands there.
fn url_passwords(text: &str) -> Vec<Range<usize>> {
    let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'<>`".contains(c);
    let mut found = Vec::new();
    if memmem::find(text.as_bytes(), b"://").is_none() {
        return found;
    }
    // Where the URL ends and its last `@` is: told once of all that one may seem to hold.
    let (mut end, mut last) = (0, None);
    for (at, separator) in text.match_indices("://") {
        let begin = at + separator.len();
        if begin > end {
            end = text[begin..].find(ends).map_or(text.len(), |length| begin + length);
            last = text[begin..end].rfind('@').map(|at| begin + at);
        }
        let last = last.filter(|last| *last >= begin).map(|last| last - begin);
        found.extend(
            url_password(&text[begin..end], last).map(|secret| begin + secret.start..begin + secret.end),
        );
    }
    found
}

/// The password in what stands behind `://`, whose last `@` is here.
fn url_password(url: &str, last: Option<usize>) -> Option<Range<usize>> {
    let user = url.find([':', '/', '@']).filter(|at| url[*at..].starts_with(':'))?;
    let host = url.find(['/', '?', '#']).unwrap_or(url.len());
    // A password that nobody has encoded may hold what ends a host; a port may not.
    let port = user < host && url[user + 1..host].bytes().all(|byte| byte.is_ascii_digit());
    let at = url[..host].rfind('@').or_else(|| last.filter(|_| !port))?;
    (at > user + 1).then(|| user + 1..at)
}

/// Values of names that tell: `API_KEY=...`, `password: ...`, `"token": "..."`, `--secret ...`.
fn named(text: &str) -> Vec<Range<usize>> {
    let in_name = |b: &u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    let curl = memmem::find(text.as_bytes(), b"curl").unwrap_or(text.len());
    let mut found = Vec::new();
    if curl == text.len() && !may_tell(text) {
        return found;
    }
    let mut at = 0;
    while let Some(skipped) = text.as_bytes()[at..].iter().position(in_name) {
        let start = at + skipped;
        let rest = &text.as_bytes()[start..];
        let length = rest.iter().position(|b| !in_name(b)).unwrap_or(rest.len());
        let (name, rest) = (&text[start..start + length], &text[start + length..]);
        at = start + length;
        let value = if may_tell(name) && tells(name) {
            value(rest, name.starts_with("--"))
        } else {
            of_curl(name, rest).filter(|_| curl < start)
        };
        if let Some(value) = value {
            found.push(at + value.start..at + value.end);
            at += value.end;
        }
    }
    found
}

/// Every name that tells has one of these, for any word of `is_secret_part` has.
const PARTS: [&[u8; 3]; 8] = [b"aut", b"cre", b"tok", b"key", b"pas", b"sec", b"pwd", b"pat"];

/// For each byte, as the first, second or third of a part, in which of them it is.
const IN_PARTS: [[u8; 256]; 3] = {
    let mut table = [[0; 256]; 3];
    let (mut part, mut place) = (0, 0);
    while part < PARTS.len() {
        let byte = PARTS[part][place];
        table[place][byte as usize] |= 1 << part;
        table[place][byte.to_ascii_uppercase() as usize] |= 1 << part;
        place += 1;
        (part, place) = if place == 3 { (part + 1, 0) } else { (part, place) };
    }
    table
};

/// Whether some name in a text may tell.
fn may_tell(text: &str) -> bool {
    let [first, second, third] = &IN_PARTS;
    let at = |table: &[u8; 256], byte: u8| table[usize::from(byte)];
    text.as_bytes().array_windows().any(|[a, b, c]| at(first, *a) & at(second, *b) & at(third, *c) != 0)
}

fn tells(name: &str) -> bool {
    let parts = name_parts(name);
    let alone = parts.iter().filter(|part| !part.is_empty()).count() == 1;
    let common = parts.iter().any(|part| COMMON.contains(&part.as_str()));
    is_secret_name(name) && !(alone && common && !name.starts_with("--"))
}

/// `curl -u user:password`, behind `curl`.
fn of_curl(name: &str, rest: &str) -> Option<Range<usize>> {
    let attached = name.strip_prefix("-u").filter(|user| !user.is_empty() && rest.starts_with(':'));
    let option = ["-u", "-U", "--user", "--proxy-user"].contains(&name) || attached.is_some();
    if !option {
        return None;
    }
    let word = rest.trim_start_matches([' ', '=', '"', '\'']);
    let over = |(_, c): &(usize, char)| c.is_whitespace() || "\"'".contains(*c);
    let end = word.char_indices().take(LONGEST_LOGIN).find(over);
    let end = end.map_or_else(|| word.floor_char_boundary(LONGEST_LOGIN), |(end, _)| end);
    let user = word[..end].find(':').filter(|user| user + 1 < end)?;
    let start = rest.len() - word.len();
    Some(start + user + 1..start + end)
}

/// Where in what follows a name its value is: in quotes up to the last of them, else up to a blank.
fn value(rest: &str, option: bool) -> Option<Range<usize>> {
    let trimmed = rest.trim_start_matches(['"', '\'', '\\']).trim_start_matches(' ');
    let assigned = trimmed.strip_prefix([':', '=']).filter(|after| !after.starts_with("//"));
    let after = match assigned {
        Some(after) => after.trim_start_matches(' '),
        None => rest.strip_prefix(' ').filter(|next| option && !next.starts_with('-'))?,
    };
    let start = rest.len() - after.len();
    let (start, end) = match after.chars().next()? {
        quote @ ('"' | '\'') => {
            let inside = &after[1..];
            (start + 1, start + 1 + end_of_quoted(inside, quote))
        }
        // Within quotes of its own.
        '\\' if after[1..].starts_with(['"', '\'']) => {
            let (quote, inside) = after.split_at(2);
            (start + 2, start + 2 + inside.find(quote).unwrap_or(inside.len()))
        }
        _ => {
            let end = after.find(|c: char| c.is_whitespace() || c.is_control() || "\"'".contains(c));
            (start, start + end.unwrap_or(after.len()))
        }
    };
    (end > start).then_some(start..end)
}

/// Where the quote is that is not behind a backslash.
fn end_of_quoted(inside: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = inside.find(|c: char| {
        let ends = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.unwrap_or(inside.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> String {
        starred(text, &secrets(text))
    }

    #[test]
    fn secrets_in_text_are_starred_and_everything_else_stays_in_its_place() {
        for (text, shown) in [
            ("export GITHUB_TOKEN=ghp_0123456789ab && make", "export GITHUB_TOKEN=**************** && make"),
            ("use sk-ant-REDACTED now", "use *************** now"),
            ("GET https://h/ghp_0123456789ab/x", "GET https://h/****************/x"),
            ("password: hunter2", "password: *******"),
            ("\"api_key\": \"a b\",", "\"api_key\": \"***\","),
            ("curl -H 'Authorization: Bearer abc.def'", "curl -H 'Authorization: ****** *******'"),
            ("git clone https://me:hunter2@host/x", "git clone https://me:*******@host/x"),
            ("x --db-password hunter2 -v", "x --db-password ******* -v"),
            ("AWS_SECRET_ACCESS_KEY='q/w+e'", "AWS_SECRET_ACCESS_KEY='*****'"),
            ("postgres://admin:p%40ss!word@db.host/x", "postgres://admin:***********@db.host/x"),
            ("x amqp://u:a/b#c@h:1/x?y=1 z", "x amqp://u:*****@h:1/x?y=1 z"),
            ("redis://:p@ss@h", "redis://:****@h"),
            ("'https://u:pässw@h' and", "'https://u:*****@h' and"),
            ("DB_PASSWORD=abc&defGHI;rest,more next", "DB_PASSWORD=******************** next"),
            (r#"{"password": "hunt\"er2", "a": 1}"#, r#"{"password": "*********", "a": 1}"#),
            (r#"'{\"token\": \"hunter2\", 1}'"#, r#"'{\"token\": \"*******\", 1}'"#),
            ("curl -u user:hunter2 https://h", "curl -u user:******* https://h"),
            ("curl -s --user 'user:hunter2' h", "curl -s --user 'user:*******' h"),
            ("curl -uuser:hunter2 h", "curl -uuser:******* h"),
            (r#""use\nghp_0123456789ab\r\n""#, r#""use\n****************\r\n""#),
            ("70Hghp_0123456789abcdefghij x", "70H************************ x"),
            (
                "tok-ghp_abcdefghijklmnopqrstuvwxyz0123456789 x",
                "tok-**************************************** x",
            ),
            ("x_ghp_abcdefghijKLMNOPQRSTUV", "x_**************************"),
        ] {
            assert_eq!(hidden(text), shown);
        }
    }

    #[test]
    fn what_is_in_a_private_key_is_hidden_on_how_many_lines_it_ever_stands() {
        let (head, tail) = ("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----");
        for (text, left) in [
            (format!("echo '{head} MIIEow {tail}' > k"), "MIIEow"),
            (format!("{head}\nMIIEow\nBAAKCA\n{tail}\nmore"), "BAAKCA"),
            (format!("{{\"key\":\"{head}\\nMIIEow\\n{tail}\\n\"}}"), "MIIEow"),
            (format!("{head}MIIEow is cut"), "MIIEow"),
        ] {
            let shown = hidden(&text);
            assert!(!shown.contains(left) && shown.contains(head), "{shown}");
            assert_eq!(shown.contains(tail), text.contains(tail), "{shown}");
        }
        for text in [format!("grep '{head}' src"), format!("{tail} and then"), format!("{head}\n")] {
            assert_eq!(hidden(&text), text);
        }
    }

    #[test]
    fn tokens_are_known_by_what_they_begin_with() {
        for prefix in PREFIXES.split(' ').chain(["SG.abcdefgh."]) {
            assert!(!prefix.is_empty());
            let token = format!("{prefix}a1b2C3d4e5F6");
            assert_eq!(hidden(&format!("is {token} it")), format!("is {} it", "*".repeat(token.len())));
        }
    }

    #[test]
    fn no_name_that_tells_is_passed_over() {
        let words = COMMON.into_iter().chain(WHOLE).chain(ENDS).chain(WITHIN);
        for word in words.flat_map(|word| [word.to_owned(), word.to_uppercase(), format!("my_{word}")]) {
            assert!(is_secret_part(&word.to_lowercase()) || word.starts_with("my_"), "{word}");
            assert!(may_tell(&word), "{word}");
        }
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in [
            "see http://localhost:8080/a@b and https://h/u:x@y",
            "git clone git@github.com:u/x and ssh://git@host:22/x",
            "docker run -u 1000:1000 --user app:app image",
            "SG.is a name",
            "curl -u user https://h:80/x",
            "press any key: y",
            "PWD=/srv/app",
            "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "tokens: 4096 of 8192",
            "the password is asked for later",
            "Password:",
            "/usr/lib/x86_64-linux-gnu/some/Very/Long/Path/That/Goes/On/and/on/12345/67890",
            "error[E0308]: mismatched types",
            "token = ",
            r"C:\tools\new-task-management-system",
            "my_ghp_settings_of_2026_and_more_of_them",
        ] {
            assert_eq!(hidden(text), text);
        }
    }

    #[test]
    fn what_is_above_tells_what_a_screen_and_what_follows_it_show() {
        let mut screen = Screen::new(crate::screen::Size { cols: 10, rows: 3 }, 100);
        let _ = screen.feed(b"-----BEGIN RSA PRIVATE KEY-----\r\nMIIEowI\r\nBAAKCAQ\r\nEAxyz12\r\nshort");
        assert_eq!(super::screen(&screen).expect("a key").visible_text(), "*******\n*******\n*****\n");
        let (mut above, line) = before_cursor(&screen);
        assert_eq!(line, "short");
        assert_eq!(starred("shorter", &above.line("shorter")), "*******");

        let mut screen = Screen::new(crate::screen::Size { cols: 10, rows: 3 }, 100);
        let _ = screen.feed(b"one\r\n$ export TOKEN=abcdefghijklmnopqrstuvwxyz0123456789");
        assert_eq!(before_cursor(&screen).1, "$ export TOKEN=abcdefghijklmnopqrstuvwxyz0123456789");
        assert_eq!(super::screen(&screen).expect("a value").visible_text().matches('*').count(), 21);
        let _ = screen.feed(b"\x1b[?1049h\x1b[2Jvim");
        assert_eq!(before_cursor(&screen).1.trim_start(), "vim");
        let mut never_ends = Redact::default();
        assert!(never_ends.line("-----BEGIN X PRIVATE KEY, as they begin").is_empty());
        let hidden = (0..300).map(|_| never_ends.line("no key").len()).sum::<usize>();
        assert_eq!(hidden, KEY_LINES as usize, "what follows so many lines is shown again");
    }

    #[test]
    fn a_link_is_looked_at_in_whichever_row_its_text_stands() {
        let mut screen = Screen::new(crate::screen::Size { cols: 8, rows: 3 }, 100);
        let _ = screen.feed(b"a long line \x1b]8;;https://h/ghp_0123456789ab\x1b\\link\x1b]8;;\x1b\\");
        let dump = String::from_utf8(super::screen(&screen).expect("a token").dump(0)).unwrap();
        assert!(!dump.contains("ghp_") && dump.contains("https://h/***"), "{dump}");
    }

    #[test]
    fn a_private_key_is_hidden_from_its_first_line_to_its_last() {
        let mut redact = Redact::default();
        let lines = [
            "-----BEGIN OPENSSH PRIVATE KEY-----",
            "b3BlbnNzaC1r",
            "AAAA",
            "-----END OPENSSH PRIVATE KEY-----",
            "AAAA",
        ];
        let shown: Vec<String> = lines.iter().map(|line| starred(line, &redact.line(line))).collect();
        assert_eq!(shown, [lines[0], "************", "****", lines[3], "AAAA"]);
        let line = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW";
        assert!(!hidden(line).contains('b'), "a line of it alone");
    }
}
