//! The text of a config file, taken apart: the values that are as they should be, and everything that is not.
//! Touches no file.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key::Key;
use super::{Fault, Written};

const ALL_KEYS: &str = "`abide config` shows all keys";
/// How much of a bad value is shown.
const SHOWN: usize = 40;
/// A text with more that is no TOML was never meant as such.
const MOST_FAULTS: usize = 20;

pub(super) fn read(text: &str) -> (Vec<Written>, Vec<Fault>) {
    let (legible, faults) = legible(text);
    let mut reading = Reading { text: &legible, written: Vec::new(), faults };
    if let Ok(table) = DeTable::parse(&legible) {
        reading.table("", table.get_ref());
    }
    let Reading { written, mut faults, .. } = reading;
    faults.sort_by_key(|fault| fault.line);
    (written, faults)
}

/// The text with blanks for what is not TOML in it, so that the rest can be read, and what was wrong with it.
fn legible(text: &str) -> (String, Vec<Fault>) {
    let mut legible = text.to_owned();
    let mut faults = Vec::new();
    while let Err(error) = DeTable::parse(&legible) {
        let at = error.span().unwrap_or_default().start.min(legible.len());
        let says = format!("this is not TOML: {}", error.message());
        let hint = format!("a line is KEY = VALUE, with text in quotes; {ALL_KEYS}");
        faults.push(Fault { line: Some(line_of(&legible, at)), key: None, says, hint });
        let bad = beyond_reading(&legible, at);
        // Where it does not end, or does not stand where it is told, there is nothing to go on with.
        let hopeless = faults.len() == MOST_FAULTS || legible[bad.clone()].trim().is_empty();
        let bad = if hopeless { 0..legible.len() } else { bad };
        let blank = |byte: u8| if byte == b'\n' { '\n' } else { ' ' };
        let blanks: String = legible[bad.clone()].bytes().map(blank).collect();
        legible.replace_range(bad, &blanks);
    }
    (legible, faults)
}

/// The line of a place; if it begins a table, with all that is in the table, which must not end up in another.
fn beyond_reading(text: &str, at: usize) -> Range<usize> {
    let start =
        text.as_bytes()[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let ending = if text[start..].trim_start().starts_with('[') { "\n[" } else { "\n" };
    let end = text[start..].find(ending).map_or(text.len(), |length| start + length);
    start..end
}

/// The line that a place is on, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|&&byte| byte == b'\n').count() + 1
}

struct Reading<'t> {
    text: &'t str,
    written: Vec<Written>,
    faults: Vec<Fault>,
}

impl Reading<'_> {
    fn table(&mut self, above: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let full = format!("{above}{}", name.get_ref());
            let inside = format!("{full}.");
            let has_keys = Key::NAMES.iter().any(|name| name.starts_with(&inside));
            let line = line_of(self.text, name.span().start);
            match (Key::parse(&full), value.get_ref()) {
                (Some(key), _) => self.value(key, line, value),
                (None, DeValue::Table(table)) if has_keys => self.table(&inside, table),
                (None, _) => self.no_key(full, line),
            }
        }
    }

    fn value(&mut self, key: Key, line: usize, value: &Spanned<DeValue<'_>>) {
        if let Some(text) = plain(key, value.get_ref()).filter(|text| key.form().allows(text)) {
            self.written.push(Written { key, text, line });
            return;
        }
        let shown = self.text.get(value.span()).unwrap_or_default();
        let shown: String = shown.lines().next().unwrap_or_default().chars().take(SHOWN).collect();
        self.faults.push(Fault {
            line: Some(line),
            key: Some(key.name().to_owned()),
            says: format!("`{}` cannot be {shown}", key.name()),
            hint: format!("allowed: {}", key.form().allowed()),
        });
    }

    fn no_key(&mut self, name: String, line: usize) {
        let nearest = nearest(&name).map(|key| format!("did you mean `{}`? ", key.name()));
        let hint = format!("{}{ALL_KEYS}", nearest.unwrap_or_default());
        self.faults.push(Fault {
            line: Some(line),
            says: format!("`{name}` is no key"),
            key: Some(name),
            hint,
        });
    }
}

/// The value as text, if it has the type that the key's form wants.
fn plain(key: Key, value: &DeValue<'_>) -> Option<String> {
    if let DeValue::String(text) = value {
        return Some(text.to_string());
    }
    if let DeValue::Integer(number) = value {
        let number = u64::from_str_radix(number.as_str(), number.radix()).ok()?;
        return key.form().takes_numbers().then(|| number.to_string());
    }
    if let DeValue::Array(items) = value {
        let text = |item: &Spanned<DeValue<'_>>| item.get_ref().as_str().map(str::to_owned);
        let list: Vec<String> = items.iter().map(text).collect::<Option<_>>()?;
        return key.form().of_list(&list);
    }
    None
}

/// The key that was meant, if one is near: by its whole name, or by the part behind the dot.
fn nearest(name: &str) -> Option<Key> {
    let likeness = |key: &Key| {
        let short = key.name().rsplit('.').next().unwrap_or_default();
        strsim::jaro(name, key.name()).max(strsim::jaro(name, short))
    };
    let scored = Key::ALL.iter().map(|key| (likeness(key), *key));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(likeness, _)| *likeness > 0.7).map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let (mut written, faults) = read(text);
        written.sort_by_key(|written| written.line);
        let written = written.iter().map(|w| format!("{}: {} = {}", w.line, w.key.name(), w.text));
        let faults = faults.iter().map(|f| format!("{}: {}; {}", f.line.unwrap_or(0), f.says, f.hint));
        let told: Vec<String> = written.chain(faults).collect();
        assert_eq!(told.len(), expected.len(), "{told:#?}");
        for (told, expected) in told.iter().zip(expected) {
            assert!(told.contains(expected), "{told:?} has no {expected:?}");
        }
    }

    #[test]
    fn every_key_is_read_with_its_line() {
        check("", &[]);
        check(
            "# mine\ncolor = 'never'\nhome='~/s'\ngrace = \"1m\"\nsize = \"132x50\"\ndetach_key = 'ctrl-\\'\n\
             [gc]\nolder = \"2w\"\nkeep = 5_0\nmax_bytes = 0x10\n",
            &[
                "2: color = never",
                "3: home = ~/s",
                "4: grace = 1m",
                "5: size = 132x50",
                "6: detach_key = ctrl-\\",
                "8: gc.older = 2w",
                "9: gc.keep = 50",
                "10: gc.max_bytes = 16",
            ],
        );
        check("gc.keep = 'none'\n", &["1: gc.keep = none"]);
        check(
            "[notify]\ncommand = ['tee', '-a', \"a b\"]\non = ['turn', 'end']\nwebhook = 'http://box:1/x'\n",
            &[
                "2: notify.command = [\"tee\",\"-a\",\"a b\"]",
                "3: notify.on = turn,end",
                "4: notify.webhook = http://box:1/x",
            ],
        );
    }

    #[test]
    fn a_fault_names_its_line_and_the_way_out_and_hides_nothing_else() {
        check(
            "home = '/srv'\ngrce = '1s'\n",
            &["1: home = /srv", "2: `grce` is no key; did you mean `grace`? `abide config` shows all keys"],
        );
        check("keep = 3", &["1: `keep` is no key; did you mean `gc.keep`?"]);
        check("gc.kep = 3", &["1: `gc.kep` is no key; did you mean `gc.keep`?"]);
        check("gc = 3", &["1: `gc` is no key"]);
        check("cap = '240s'", &["1: `cap` is no key; "]);
        check("[wait]\ncap = '240s'", &["1: `wait` is no key; `abide config`"]);
        check("\n\ngrace = 10", &["3: `grace` cannot be 10; allowed: a duration such as \"10s\""]);
        check("color = true", &["1: `color` cannot be true; allowed: \"auto\", \"always\" or \"never\""]);
        check("gc.keep = -1", &["1: `gc.keep` cannot be -1; allowed: a number, or \"none\""]);
        check(
            "notify.command = 'tee -a x'",
            &["1: `notify.command` cannot be 'tee -a x'; allowed: a command and"],
        );
        check("notify.command = ['tee', 1]", &["1: `notify.command` cannot be ['tee', 1]"]);
        check(
            "notify.webhook = 'https://box'",
            &["1: `notify.webhook` cannot be 'https://box'; allowed: an address"],
        );
        check("gc.keep = ['1']", &["1: `gc.keep` cannot be ['1']"]);
        check("size = \"80\"", &["1: `size` cannot be \"80\"; allowed: columns and rows"]);
        check("home = { a = 1 }", &["1: `home` cannot be { a = 1 }; allowed: an absolute path"]);
    }

    #[test]
    fn a_file_that_is_no_toml_still_says_what_can_be_read() {
        check("home = '/srv'\ngrace = \"1s\n", &["1: home = /srv", "2: this is not TOML: "]);
        check(&"x\n".repeat(50), &["this is not TOML: "; MOST_FAULTS]);
        check("home '/srv'\ncolor = 'never'\n", &["2: color = never", "1: this is not TOML: "]);
        check("size = \n[gc\nhome = '/no'\n[gc]\nkeep = 1", &["5: gc.keep = 1", "1: this", "2: this"]);
        check(
            "color = 'never'\ncolor = 'auto'\n",
            &["1: color = never", "2: this is not TOML: duplicate key"],
        );
        check(
            "a = '''\nb = 1\n'''\n\"c\"\nsize = '1x1'\n",
            &["5: size = 1x1", "1: `a` is no key", "4: this"],
        );
    }
}
