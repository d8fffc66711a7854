//! The config file: where it is, what it says, and what is wrong with it. A fault in one place does not hide what
//! stands in another. Only the command line reads it; guard and host never do.

pub(crate) mod form;
/// What the fuzz target holds any config to.
#[cfg(test)]
#[path = "../../../fuzz/src/config.rs"]
mod fuzzed;
pub(crate) mod key;
mod read;

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use abide_core::failure::{Code, Failure};

use crate::environment::Variable;
use form::Colours;
use key::Key;

/// More is no config file.
const LONGEST: u64 = 1 << 20;
/// Nobody is waited for who may never write: `O_NONBLOCK`.
const AT_ONCE: i32 = 0o4000;

/// What the file says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    path: Option<PathBuf>,
    found: bool,
    written: Vec<Written>,
    faults: Vec<Fault>,
}

/// A value that is as it should be.
#[derive(Debug, Clone)]
struct Written {
    key: Key,
    text: String,
    line: usize,
}

/// Something that is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Counted from 1; none if it is about the whole file.
    pub(crate) line: Option<usize>,
    /// The key as it is written.
    pub(crate) key: Option<String>,
    pub(crate) says: String,
    pub(crate) hint: String,
}

/// Where a value comes from. The first of these that has one decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Flag,
    Environment(Variable),
    File { path: PathBuf, line: usize },
    BuiltIn,
}

impl Config {
    /// Reads the file that is meant, if there is one. What is wrong with it is kept for whoever minds.
    pub(crate) fn load() -> Self {
        let Some(path) = path() else {
            return Self::default();
        };
        match text(&path) {
            Ok(text) => Self::of(path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Self { path: Some(path), ..Self::default() }
            }
            Err(error) => {
                let says = format!("cannot be read: {error}");
                let hint = format!("mend it, or set {}=/dev/null to go without", Variable::Config.name());
                let fault = Fault { line: None, key: None, says, hint };
                Self { path: Some(path), found: true, written: Vec::new(), faults: vec![fault] }
            }
        }
    }

    /// What a file with this text says.
    pub(crate) fn of(path: PathBuf, text: &str) -> Self {
        let (written, faults) = read::read(text);
        Self { path: Some(path), found: true, written, faults }
    }

    /// The file that is or would be read; none if the environment says too little.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub(crate) const fn is_found(&self) -> bool {
        self.found
    }

    /// What is wrong with the file, from its top to its end.
    pub(crate) fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// What is wrong with the file, as a refusal.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let (first, more) = self.faults.split_first()?;
        let more = match more.len() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let message = format!("{}{more}", self.tell(first));
        Some(Failure::new(Code::BadConfig, message).hint(&*first.hint))
    }

    /// A fault with its place.
    pub(crate) fn tell(&self, fault: &Fault) -> String {
        let path = self.path.as_deref().unwrap_or(Path::new("config")).display();
        match fault.line {
            Some(line) => format!("{path}:{line}: {}", fault.says),
            None => format!("{path} {}", fault.says),
        }
    }

    /// The value of a key that no flag or variable outranks.
    pub(crate) fn text(&self, key: Key) -> &str {
        self.written(key).map_or(key.built_in(), |written| &written.text)
    }

    /// Where that value comes from.
    pub(crate) fn origin(&self, key: Key) -> Origin {
        match (self.written(key), &self.path) {
            (Some(written), Some(path)) => Origin::File { path: path.clone(), line: written.line },
            (None, _) | (_, None) => Origin::BuiltIn,
        }
    }

    /// The home that is meant.
    ///
    /// # Errors
    /// If nothing names one.
    pub(crate) fn home(&self, flag: Option<&Path>) -> Result<(PathBuf, Origin), Failure> {
        if let Some(flag) = flag {
            return Ok((flag.to_owned(), Origin::Flag));
        }
        if let Some(named) = Variable::Home.value() {
            return Ok((named.into(), Origin::Environment(Variable::Home)));
        }
        let written = self.written(Key::Home).and_then(|written| below_home(&written.text));
        let usual = || Some(Variable::LastingHome.absolute_path()?.join("abide"));
        let path = written.or_else(usual).or_else(|| below_home(Key::Home.built_in()));
        path.map(|path| (path, self.origin(Key::Home))).ok_or_else(|| {
            Failure::new(Code::Usage, "no home: neither ABIDE_HOME nor HOME is set")
                .hint("choose a home with --home or ABIDE_HOME")
        })
    }

    /// When text has colours.
    pub(crate) fn colours(&self, flag: Option<Colours>) -> (Colours, Origin) {
        if let Some(flag) = flag {
            return (flag, Origin::Flag);
        }
        if Variable::NoColor.value().is_some() {
            return (Colours::Never, Origin::Environment(Variable::NoColor));
        }
        if Variable::ForceColor.value().is_some_and(|value| value != "0") {
            return (Colours::Always, Origin::Environment(Variable::ForceColor));
        }
        (Colours::parse(self.text(Key::Color)).unwrap_or(Colours::Auto), self.origin(Key::Color))
    }

    fn written(&self, key: Key) -> Option<&Written> {
        self.written.iter().find(|written| written.key == key)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Environment(variable) => write!(f, "env {}", variable.name()),
            Self::File { path, line } => write!(f, "file {}:{line}", path.display()),
            Self::BuiltIn => f.write_str("built-in"),
        }
    }
}

/// The file that is meant.
fn path() -> Option<PathBuf> {
    let usual = || {
        let below = Variable::ConfigHome.absolute_path();
        let below = below.or_else(|| Some(Variable::UserHome.absolute_path()?.join(".config")));
        Some(below?.join("abide/config.toml"))
    };
    Variable::Config.value().map(PathBuf::from).or_else(usual)
}

fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = OpenOptions::new().read(true).custom_flags(AT_ONCE).open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        return Err(io::Error::other("it is a FIFO"));
    }
    file.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(text)
}

/// The path, with `~/` for what it stands for.
fn below_home(text: &str) -> Option<PathBuf> {
    match text.strip_prefix("~/") {
        Some(rest) => Some(Variable::UserHome.absolute_path()?.join(rest)),
        None => Some(PathBuf::from(text)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn every_text_that_was_ever_found_to_matter_is_read() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/config");
        let texts: Vec<_> = std::fs::read_dir(corpus).expect("the corpus is in the tree").flatten().collect();
        assert!(!texts.is_empty(), "the corpus is empty");
        for text in texts {
            super::fuzzed::run(&std::fs::read(text.path()).expect("it is ours"));
        }
    }
}
