//! Hooks: what an agent runs of ours when something happens in it. Which file each agent keeps them in, what an entry there
//! looks like, and how entries are put in and taken out again without touching anything else.

mod edit;
mod heard;
mod scan;
mod table;

use std::path::PathBuf;

use crate::adapter::Place;
use edit::Style;
use scan::{Node, scan};

pub use heard::{Heard, What, hear};
pub use scan::Nonsense;
pub use table::HOOKED;

/// What follows our command. An agent may take a hook's exit code for an order (2 forbids a tool in most) and what it
/// prints for an answer: an executable that is gone, or knows no hooks, must give neither. And some agents end only the
/// shell of a hook that hangs, and wait for whoever still holds its output.
const TAIL: &str = ">/dev/null 2>&1 || :";

/// How an agent keeps its hooks.
#[derive(Debug)]
pub struct Hooks {
    pub agent: &'static str,
    /// What we want to hear of, in the agent's words.
    pub occasions: &'static [&'static str],
    /// What a person must do before the agent runs them.
    pub trust: Option<&'static str>,
    /// What in the settings keeps the agent from running any hook: a path of names, and the value that does.
    off: (&'static [&'static str], &'static str),
    file: File,
    form: Form,
    /// How long it waits for one of our hooks before it goes on without, as it counts: each takes a few milliseconds.
    patience: u64,
    /// Whether the agent reads comments in that file.
    comments: bool,
}

#[derive(Debug)]
struct File {
    variable: &'static str,
    below_variable: &'static str,
    below_home: &'static str,
}

/// What an entry looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// In a group.
    Group,
    /// By itself, in a file of our own that says its version.
    Alone,
}

/// How this agent keeps hooks; none if it has none.
#[must_use]
pub fn hooks(agent: &str) -> Option<&'static Hooks> {
    HOOKED.iter().find(|hooks| hooks.agent == agent)
}

/// Why settings cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// They are no JSON.
    Nonsense(Nonsense),
    /// What is there is not what the agent reads.
    Shape(String),
    /// Our executable has a name by which its entries could not be told from others.
    Name(String),
    /// The change could not be taken back.
    NotKept,
}

impl Why {
    #[must_use]
    pub fn says(&self) -> String {
        match self {
            Self::Nonsense(Nonsense { at, says }) => format!("it is no JSON: {says}, at byte {at}"),
            Self::Shape(says) => says.clone(),
            Self::Name(exe) => format!("entries of `{exe}` could not be told from those of others"),
            Self::NotKept => "the change could not be taken back exactly".to_owned(),
        }
    }
}

/// How settings stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Every entry is there.
    Installed,
    /// These are missing.
    Partly(Vec<&'static str>),
    /// There are entries of another abide, or of another form: the executable that they name.
    Outdated(String),
    Absent,
}

/// What is left when our entries are taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// There were none.
    Same,
    Text(String),
    /// Nothing: we had made the file.
    Nothing,
}

/// An entry of ours: where it stands, and whose it is.
#[derive(Debug)]
struct Entry {
    /// What to open on the way to it, each by its place in the one before; the last is what to remove.
    path: Vec<usize>,
    occasion: String,
    exe: String,
    /// The command with what belongs to it.
    handler: std::ops::Range<usize>,
    is_current: bool,
}

impl Hooks {
    /// The file that holds its hooks.
    #[must_use]
    pub fn path(&self, place: &Place) -> Option<PathBuf> {
        let set = |name: &str| place.variables.get(name).filter(|value| !value.is_empty());
        let File { variable, below_variable, below_home } = &self.file;
        let named = set(variable).map(|root| PathBuf::from(root).join(below_variable));
        named.or_else(|| set("HOME").map(|home| PathBuf::from(home).join(below_home)))
    }

    /// The variable that says where that file is.
    #[must_use]
    pub const fn variable(&self) -> &'static str {
        self.file.variable
    }

    /// The settings with our entries in them, everything else as it is to the byte; none if there is nothing to change.
    ///
    /// # Errors
    /// If they cannot be read, or not be changed so that it can be undone.
    pub fn install(&self, text: Option<&str>, exe: &str) -> Result<Option<String>, Why> {
        if !is_our_name(exe) {
            return Err(Why::Name(exe.to_owned()));
        }
        let Some(before) = text else { return Ok(Some(self.founded(exe))) };
        let mut made = before.to_owned();
        let found = self.entries(&made, exe)?;
        let was_absent = found.is_empty();
        for (at, entry) in found.iter().enumerate().rev() {
            let is_first = !found[..at].iter().any(|other| other.occasion == entry.occasion);
            if !is_first || !self.occasions.contains(&entry.occasion.as_str()) {
                let Some(left) = self.without(&made, entry)? else { return Ok(Some(self.founded(exe))) };
                made = left;
            } else if !entry.is_current {
                made.replace_range(entry.handler.clone(), &self.handler(&entry.occasion, exe));
            }
        }
        while let Some(occasion) = self.missing(&self.entries(&made, exe)?).first() {
            made = self.with(&made, occasion, exe)?;
        }
        if made == before {
            return Ok(None);
        }
        let undone = if was_absent { self.uninstall(&made)? } else { Left::Text(before.to_owned()) };
        let is_kept = undone == Left::Text(before.to_owned());
        let is_there = self.status(Some(&made), exe)? == Standing::Installed;
        if is_kept && is_there { Ok(Some(made)) } else { Err(Why::NotKept) }
    }

    /// The settings without any entry of ours, whatever abide put it there.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn uninstall(&self, text: &str) -> Result<Left, Why> {
        let mut left = text.to_owned();
        let mut found = self.entries(text, "")?;
        if found.is_empty() {
            return Ok(Left::Same);
        }
        while let Some(entry) = found.first() {
            match self.without(&left, entry)? {
                Some(text) => left = text,
                None => return Ok(Left::Nothing),
            }
            found = self.entries(&left, "").map_err(|_| Why::NotKept)?;
        }
        Ok(Left::Text(left))
    }

    /// How settings stand: whether the entries of this executable are in them.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn status(&self, text: Option<&str>, exe: &str) -> Result<Standing, Why> {
        let Some(text) = text else { return Ok(Standing::Absent) };
        let found = self.entries(text, exe)?;
        if found.is_empty() {
            return Ok(Standing::Absent);
        }
        let is_stale = |(at, entry): &(usize, &Entry)| {
            let is_again = found[..*at].iter().any(|other| other.occasion == entry.occasion);
            is_again || !entry.is_current || !self.occasions.contains(&entry.occasion.as_str())
        };
        if let Some((_, stale)) = found.iter().enumerate().find(is_stale) {
            return Ok(Standing::Outdated(stale.exe.clone()));
        }
        let missing = self.missing(&found);
        Ok(if missing.is_empty() { Standing::Installed } else { Standing::Partly(missing) })
    }

    /// The occasions without an entry.
    fn missing(&self, found: &[Entry]) -> Vec<&'static str> {
        let is_missing = |occasion: &&str| !found.iter().any(|entry| entry.occasion == **occasion);
        self.occasions.iter().copied().filter(is_missing).collect()
    }

    /// What in the settings keeps the agent from running any hook.
    #[must_use]
    pub fn switched_off(&self, text: &str) -> Option<String> {
        let (names, value) = self.off;
        let root = scan(text, self.comments).ok()?;
        let mut node = &root;
        for name in names {
            node = node.member(name)?;
        }
        let is_off = !names.is_empty() && text.get(node.start..node.end) == Some(value);
        is_off.then(|| format!("`{}` is {value}", names.join(".")))
    }

    /// The command of an entry, as a shell takes it.
    #[must_use]
    pub fn command(&self, occasion: &str, exe: &str) -> String {
        format!("{} hook {} {occasion} {TAIL}", quoted(exe), self.agent)
    }

    /// What is to be run, and for how long.
    fn handler(&self, occasion: &str, exe: &str) -> String {
        let (command, patience) = (serde_json::Value::from(self.command(occasion, exe)), self.patience);
        match self.form {
            Form::Group => {
                format!(r#"{{ "type": "command", "command": {command}, "timeout": {patience} }}"#)
            }
            Form::Alone => {
                format!(r#"{{ "type": "command", "bash": {command}, "timeoutSec": {patience} }}"#)
            }
        }
    }

    /// What stands in the list of an occasion.
    fn element(&self, occasion: &str, exe: &str) -> String {
        let handler = self.handler(occasion, exe);
        match self.form {
            Form::Group => format!(r#"{{ "hooks": [{handler}] }}"#),
            Form::Alone => handler,
        }
    }

    /// An occasion with its list.
    fn member(&self, occasion: &str, exe: &str, style: &Style) -> String {
        let (inner, outer) = (style.line(3), style.line(2));
        format!(r#""{occasion}": [{inner}{}{outer}]"#, self.element(occasion, exe))
    }

    /// All occasions.
    fn all(&self, exe: &str, style: &Style) -> String {
        let line = style.line(2);
        let occasions =
            self.occasions.iter().map(|occasion| format!("{line}{}", self.member(occasion, exe, style)));
        format!(r#""hooks": {{{}{}}}"#, occasions.collect::<Vec<_>>().join(","), style.line(1))
    }

    /// A file of our own.
    fn founded(&self, exe: &str) -> String {
        let style = Style::plain();
        let line = style.line(1);
        let version = match self.form {
            Form::Group => String::new(),
            Form::Alone => format!(r#",{line}"version": 1"#),
        };
        format!("{{{line}{}{version}\n}}\n", self.all(exe, &style))
    }

    /// The text, read, as far as we must understand it.
    fn read(&self, text: &str) -> Result<Node, Why> {
        let root = scan(text, self.comments).map_err(Why::Nonsense)?;
        let shape = |says: String| Err(Why::Shape(says));
        if root.members().is_none() {
            return shape("it holds no object".to_owned());
        }
        if self.form == Form::Alone && root.member("version").is_none() {
            return shape("it says no version: the agent does not read it".to_owned());
        }
        let Some(hooks) = root.member("hooks") else { return Ok(root) };
        let Some(occasions) = hooks.members() else {
            return shape("`hooks` is no object".to_owned());
        };
        match occasions.iter().find(|occasion| occasion.value.elements().is_none()) {
            Some(occasion) => {
                shape(format!("`hooks.{}` is no array", occasion.key.as_deref().unwrap_or_default()))
            }
            None => Ok(root),
        }
    }

    /// Our entries, in their order; those of this executable are current.
    fn entries(&self, text: &str, exe: &str) -> Result<Vec<Entry>, Why> {
        let root = self.read(text)?;
        let mut found = Vec::new();
        let Some(at) = root.position("hooks") else { return Ok(found) };
        for (place, occasion) in root.items()[at].value.items().iter().enumerate() {
            let name = occasion.key.as_deref().unwrap_or_default();
            for (number, element) in occasion.value.items().iter().enumerate() {
                let path = vec![at, place, number];
                match self.form {
                    Form::Alone => found.extend(self.entry(&element.value, name, exe, path)),
                    Form::Group => {
                        let Some(inside) = element.value.position("hooks") else { continue };
                        let handlers = element.value.items()[inside].value.items();
                        for (number, handler) in handlers.iter().enumerate() {
                            // Where nothing else is in the group, the group goes.
                            let deeper: &[usize] = if handlers.len() > 1 { &[inside, number] } else { &[] };
                            let path = [path.as_slice(), deeper].concat();
                            found.extend(self.entry(&handler.value, name, exe, path));
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// What is ours names itself by its command.
    fn entry(&self, handler: &Node, occasion: &str, exe: &str, path: Vec<usize>) -> Option<Entry> {
        let key = match self.form {
            Form::Group => "command",
            Form::Alone => "bash",
        };
        let words = shlex::split(handler.member(key)?.text()?)?;
        let [by, verb, agent, _, rest @ ..] = words.as_slice() else { return None };
        let is_whole = rest.is_empty() || rest == TAIL.split(' ').collect::<Vec<_>>();
        if verb != "hook" || agent != self.agent || !is_our_name(by) || !is_whole {
            return None;
        }
        let wanted = scan(&self.handler(occasion, exe), false).ok()?;
        Some(Entry {
            path,
            occasion: occasion.to_owned(),
            exe: by.clone(),
            handler: handler.start..handler.end,
            is_current: handler.is_like(&wanted),
        })
    }

    /// The text with an entry for this occasion.
    fn with(&self, text: &str, occasion: &str, exe: &str) -> Result<String, Why> {
        let root = self.read(text)?;
        let style = Style::of(text, &root);
        let Some(hooks) = root.member("hooks") else {
            return Ok(edit::add(text, &root, &self.all(exe, &style), &style.line(1)));
        };
        if let Some(list) = hooks.member(occasion) {
            return Ok(edit::add(text, list, &self.element(occasion, exe), &style.line(3)));
        }
        let last = hooks.items().len().checked_sub(1);
        let is_behind_ours = self.entries(text, exe)?.iter().any(|entry| entry.path.get(1) == last.as_ref());
        let add = if is_behind_ours { edit::add_at_once } else { edit::add };
        Ok(add(text, hooks, &self.member(occasion, exe, &style), &style.line(2)))
    }

    /// The text without an entry; none if it was all there was in a file that we made.
    fn without(&self, text: &str, entry: &Entry) -> Result<Option<String>, Why> {
        let root = self.read(text)?;
        let mut way = vec![&root];
        for at in &entry.path[..entry.path.len() - 1] {
            way.push(&way[way.len() - 1].items()[*at].value);
        }
        while let (Some(node), Some(at)) = (way.pop(), entry.path.get(way.len())) {
            if way.is_empty() && self.is_founded(text, node, *at) {
                return Ok(None);
            }
            if let Some(left) = edit::remove(text, node, *at) {
                return Ok(Some(left));
            }
        }
        Ok(None)
    }

    /// Whether a file of our own kind holds nothing but hooks, as we wrote it.
    fn is_founded(&self, text: &str, root: &Node, at: usize) -> bool {
        let [hooks, version] = root.items() else { return false };
        let is_ours = self.form == Form::Alone && at == 0 && version.key.as_deref() == Some("version");
        is_ours && hooks.start > root.start + 1 && scan::is_blank(&text[root.start + 1..hooks.start])
    }
}

/// Whether entries of this executable can be told from those of others.
fn is_our_name(exe: &str) -> bool {
    exe.rsplit('/').next().is_some_and(|name| name.contains("abide"))
}

/// One word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./+@%:,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
