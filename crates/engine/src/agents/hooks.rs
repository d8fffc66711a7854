//! Hooks in agents' settings: what stands there, what would be changed, and the change. All is looked at before anything
//! is written.

use std::path::{Path, PathBuf};

use abide_agents::hooks::{HOOKED, Hooks, Left, Why, hooks};
use abide_core::failure::{Code, Failure};
use abide_sys::disk::Foreign;
use abide_sys::signal::{self, Signals};

pub use abide_agents::Place;
pub use abide_agents::hooks::Standing;

/// Longer settings nobody has.
const LONGEST: u64 = 16 << 20;

/// The settings of one agent, as they were read.
#[derive(Debug)]
pub struct Settings {
    hooks: &'static Hooks,
    named: PathBuf,
    file: Foreign,
    text: Option<String>,
}

/// What a change makes of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// There is nothing to change.
    Same,
    Text(String),
    /// The file goes: it was ours.
    Nothing,
}

/// The agents that run hooks, by name.
#[must_use]
pub fn agents() -> Vec<&'static str> {
    HOOKED.iter().map(|hooks| hooks.agent).collect()
}

/// The variables, beside `HOME`, that say where their settings are.
pub fn variables() -> impl Iterator<Item = &'static str> {
    HOOKED.iter().map(Hooks::variable)
}

/// The path by which agents are to call this executable: the one that it is found by, which outlives an update of what a
/// link leads to; else its own. `searched` is where a shell looks.
///
/// # Errors
/// If the system does not say.
pub fn executable(searched: &[PathBuf]) -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().map_err(|e| Failure::io("find", &"this executable", &e))?;
    let is_own = |path: &PathBuf| path.is_absolute() && path.canonicalize().is_ok_and(|there| there == own);
    let name = own.file_name().unwrap_or_default();
    Ok(searched.iter().map(|folder| folder.join(name)).find(is_own).unwrap_or(own))
}

/// The file that holds an agent's settings.
///
/// # Errors
/// If it has no hooks, or nothing says where its settings are.
pub fn file(agent: &str, place: &Place) -> Result<PathBuf, Failure> {
    let hooks = known(agent)?;
    let named = hooks.path(place).ok_or_else(|| {
        Failure::new(Code::Usage, format!("nothing says where the settings of {agent} are"))
            .hint(format!("set HOME or {}", hooks.variable()))
    })?;
    std::path::absolute(&named).map_err(|error| Failure::io("find", &named.display(), &error))
}

fn known(agent: &str) -> Result<&'static Hooks, Failure> {
    hooks(agent).ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{agent}` is no agent that runs hooks"))
            .hint(format!("those that do: {}", agents().join(", ")))
    })
}

impl Settings {
    /// Reads an agent's settings.
    ///
    /// # Errors
    /// If it has no hooks, or its settings cannot be read.
    pub fn read(agent: &str, place: &Place) -> Result<Self, Failure> {
        let (hooks, named) = (known(agent)?, file(agent, place)?);
        let file = Foreign::read(&named, LONGEST).map_err(|error| unwritten("read", &named, &error))?;
        let text = match file.bytes().map(|bytes| String::from_utf8(bytes.to_vec())) {
            None => None,
            Some(Ok(text)) => Some(text),
            Some(Err(_)) => return Err(senseless(agent, &named, "it is no text")),
        };
        Ok(Self { hooks, named, file, text })
    }

    #[must_use]
    pub const fn agent(&self) -> &'static str {
        self.hooks.agent
    }

    /// The file, by the name that the agent has for it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.named
    }

    /// What stands there; none if there is no file.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// What a person must do before the agent runs hooks.
    #[must_use]
    pub const fn trust(&self) -> Option<&'static str> {
        self.hooks.trust
    }

    /// What in the settings keeps the agent from running any hook.
    #[must_use]
    pub fn switched_off(&self) -> Option<String> {
        self.hooks.switched_off(self.text()?)
    }

    /// Whether the entries of this executable are there.
    ///
    /// # Errors
    /// If the settings make no sense.
    pub fn standing(&self, exe: &str) -> Result<Standing, Failure> {
        self.hooks.status(self.text(), exe).map_err(|why| self.refused(&why))
    }

    /// What putting our entries in makes of them.
    ///
    /// # Errors
    /// If the settings make no sense, or could not be made as they were again.
    pub fn install(&self, exe: &str) -> Result<Change, Failure> {
        let made = self.hooks.install(self.text(), exe).map_err(|why| self.refused(&why))?;
        self.changed(made.map_or(Change::Same, Change::Text))
    }

    /// What taking our entries out makes of them.
    ///
    /// # Errors
    /// If the settings make no sense.
    pub fn uninstall(&self) -> Result<Change, Failure> {
        let Some(text) = self.text() else { return Ok(Change::Same) };
        let left = self.hooks.uninstall(text).map_err(|why| self.refused(&why))?;
        self.changed(match left {
            Left::Same => Change::Same,
            Left::Text(text) => Change::Text(text),
            // Whoever made the link wants a file there.
            Left::Nothing if self.file.is_linked() => Change::Text("{}\n".to_owned()),
            Left::Nothing => Change::Nothing,
        })
    }

    /// Writes a change, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written, or somebody else changed the file since it was read.
    pub fn write(&self, change: &Change) -> Result<(), Failure> {
        let heard = Signals::heeded(&[signal::HUP, signal::INT, signal::TERM]);
        // What ends this program comes when the file is whole.
        let _until_then = heard.map_err(|error| Failure::io("hear", &"signals", &error))?;
        let written = match change {
            Change::Same => Ok(true),
            Change::Text(text) => self.file.replace(text.as_bytes()),
            Change::Nothing => self.file.remove(),
        };
        match written {
            Ok(true) => Ok(()),
            Ok(false) => {
                let path = self.named.display();
                let says =
                    format!("{path} was changed by another while this looked at it; nothing was written");
                Err(Failure::new(Code::Busy, says).hint("try again"))
            }
            Err(error) => Err(unwritten("write", &self.named, &error)),
        }
    }

    /// A change that could not be written is none.
    fn changed(&self, change: Change) -> Result<Change, Failure> {
        if change != Change::Same {
            self.file.may_replace().map_err(|error| unwritten("write", &self.named, &error))?;
        }
        Ok(change)
    }

    fn refused(&self, why: &Why) -> Failure {
        match why {
            Why::Nonsense(_) | Why::Shape(_) | Why::NotKept => {
                senseless(self.agent(), &self.named, &why.says())
            }
            Why::Name(_) => {
                Failure::new(Code::Usage, why.says()).hint("give the executable a name with `abide` in it")
            }
        }
    }
}

fn senseless(agent: &str, path: &Path, says: &str) -> Failure {
    let message = format!("the settings of {agent} are not changed: {}: {says}", path.display());
    Failure::new(Code::BadSettings, message).hint("mend the file, or move it away, and try again")
}

/// What cannot be written lies elsewhere than the home, so what helps the home is no way out.
fn unwritten(act: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::io(act, &path.display(), error)
        .hint("nothing was written: see who may write to that file and its directory")
}
