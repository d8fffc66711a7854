//! Shells at their prompts: which program is one, whether it waits for a line, and how it is made to run a line so that
//! nothing else of it stays: what is typed, and what stands in the files that this reads.

mod script;

pub use script::{Case, Step, echoed, files, keys};

/// A shell that `exec` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
    /// dash, and every other sh without a line editor of its own.
    Dash,
}

/// What one must type, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keys {
    /// A key, by the name that `keys` has for it.
    Press(&'static str),
    /// Characters, key by key.
    Type(String),
    /// Characters at once, where the shell takes them so.
    Paste(String),
}

/// Whether a shell waits for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompt {
    /// It does.
    Waits,
    /// It may do so soon.
    Busy,
    /// It reads whole lines from its terminal, where it would edit them itself: for its own `read`, or because its line
    /// editor is off.
    Unedited,
}

/// How a shell in front waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting<'a> {
    /// Its terminal gives it whole lines.
    pub whole_lines: bool,
    /// Its terminal gives a line feed where Enter was pressed.
    pub takes_returns: bool,
    /// It lets the signals of its children wait.
    pub holds_signals: bool,
    /// Where in the kernel it sleeps, if it does; empty if that is not told.
    pub sleeps_in: Option<&'a str>,
    /// How much it wants to read, if that is told.
    pub wants: Option<u64>,
}

impl Shell {
    /// The shell that an image of this name is, if it reads lines from its terminal and no script.
    #[must_use]
    pub fn of(image: &str, arguments: &[String]) -> Option<Self> {
        let name = image.strip_suffix(" (deleted)").unwrap_or(image);
        let own = arguments.first().map_or("", |own| own.trim_start_matches('-'));
        let own = own.rsplit('/').next().unwrap_or(own);
        let shell = match (name, own) {
            ("bash", _) => Self::Bash,
            ("zsh" | "zsh5", _) => Self::Zsh,
            ("fish", _) => Self::Fish,
            ("dash" | "sh" | "ash", _) | ("busybox", "sh" | "ash") => Self::Dash,
            (versioned, _) if versioned.starts_with("zsh-") => Self::Zsh,
            _ => return None,
        };
        shell.reads_terminal(arguments.get(1..).unwrap_or_default()).then_some(shell)
    }

    /// Whether a shell was started so that it may not read what `exec` gives it: by its name, or by an option.
    #[must_use]
    pub fn is_restricted(image: &str, arguments: &[String]) -> bool {
        let own = arguments.first().map_or("", |own| own.trim_start_matches('-'));
        let own = own.rsplit('/').next().unwrap_or(own);
        let named = ["rbash", "rzsh"].iter().any(|restricted| [image, own].contains(restricted));
        let flag = |argument: &String| {
            let letters = argument.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            argument == "--restricted" || letters.is_some_and(|letters| letters.contains('r'))
        };
        let known = ["bash", "zsh"].iter().any(|known| image.starts_with(known));
        named || known && arguments.iter().skip(1).take_while(|word| word.starts_with('-')).any(flag)
    }

    /// By its arguments: neither a command nor a script.
    fn reads_terminal(self, arguments: &[String]) -> bool {
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let letters = argument.strip_prefix('-').or_else(|| argument.strip_prefix('+'));
            let Some(letters) = letters else { return false };
            if let Some(name) = letters.strip_prefix('-') {
                match name {
                    "" => return rest.next().is_none(),
                    "command" => return false,
                    "rcfile" | "init-file" | "init-command" | "emulate" | "features" => drop(rest.next()),
                    _ if name.starts_with("command=") => return false,
                    _ => {}
                }
                continue;
            }
            if letters.contains('c') {
                return false;
            }
            // What is read from standard input, which is the terminal, may have arguments of its own.
            if letters.contains('s') && self != Self::Fish {
                return true;
            }
            let takes_value = match self {
                Self::Bash => letters.ends_with(['o', 'O']),
                Self::Zsh | Self::Dash => letters.ends_with('o'),
                Self::Fish => letters.ends_with(['C', 'd', 'f', 'D', 'o']),
            };
            if takes_value {
                let _ = rest.next();
            }
        }
        true
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
            Self::Dash => "sh",
        }
    }

    /// Whether it waits for a line, if it is the one in front: by its terminal, which gives it whole lines or single keys,
    /// and by how it sleeps. What its own `read` waits for is no line where that can be told.
    #[must_use]
    pub fn prompt(self, waiting: Waiting<'_>) -> Prompt {
        let reads = waiting.sleeps_in.is_some_and(|place| {
            let known = ["wait_woken", "n_tty_read", "poll", "select", "tty_read"];
            place.is_empty() || known.iter().any(|known| place.contains(known))
        });
        if !reads {
            return Prompt::Busy;
        }
        let own = match (self, waiting.whole_lines) {
            // Their editors tell Enter from a line feed, `read -n` does not.
            (Self::Bash | Self::Fish, false) => !waiting.takes_returns,
            // `read` and `vared` keep the signals of children waiting.
            (Self::Zsh, false) => !waiting.holds_signals,
            // `read` takes byte by byte.
            (Self::Dash, whole) => whole && waiting.wants != Some(1),
            // Nothing that the kernel tells is the same in every version of them for a `read` and for a line.
            (Self::Bash | Self::Zsh, true) if waiting.sleeps_in != Some("") => return Prompt::Unedited,
            (Self::Bash | Self::Zsh | Self::Fish, true) => false,
        };
        if own { Prompt::Waits } else { Prompt::Busy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Option<Shell> {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let image = arguments[0].trim_start_matches('-').rsplit('/').next().unwrap_or_default().to_owned();
        Shell::of(&image, &arguments)
    }

    #[test]
    fn a_shell_that_reads_its_terminal_is_told_from_one_that_runs_something() {
        for (line, known) in [
            ("bash", Some(Shell::Bash)),
            ("-bash", Some(Shell::Bash)),
            ("/bin/bash --norc -i", Some(Shell::Bash)),
            ("bash --rcfile x -o vi", Some(Shell::Bash)),
            ("bash -lc ls", None),
            ("bash build.sh", None),
            ("bash -x build.sh", None),
            ("zsh -f", Some(Shell::Zsh)),
            ("zsh -o vi", Some(Shell::Zsh)),
            ("fish -C ls", Some(Shell::Fish)),
            ("fish --command=ls", None),
            ("fish -c ls", None),
            ("dash", Some(Shell::Dash)),
            ("sh -s a b", Some(Shell::Dash)),
            ("sh -", Some(Shell::Dash)),
            ("python3", None),
            ("busybox", None),
        ] {
            assert_eq!(shell(line), known, "{line}");
        }
        for (line, restricted) in [
            ("rbash", true),
            ("/usr/bin/rbash -i", true),
            ("bash -r", true),
            ("bash --norc --restricted", true),
            ("zsh -fr", true),
            ("bash --norc", false),
            ("bash --rcfile x", false),
            ("dash -r", false),
        ] {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let name = arguments[0].rsplit('/').next().unwrap_or_default();
            let image = if name == "rbash" { "bash" } else { name };
            assert_eq!(Shell::is_restricted(image, &arguments), restricted, "{line}");
        }
        let busy = ["sh".to_owned()];
        assert_eq!(Shell::of("busybox", &busy), Some(Shell::Dash));
        assert_eq!(Shell::of("bash (deleted)", &busy), Some(Shell::Bash));
    }

    #[test]
    fn a_prompt_is_known_by_the_terminal_and_by_how_the_shell_sleeps() {
        let editor = Waiting {
            whole_lines: false,
            takes_returns: false,
            holds_signals: false,
            sleeps_in: Some("poll_schedule_timeout.constprop.0"),
            wants: None,
        };
        let lines = Waiting { whole_lines: true, takes_returns: true, ..editor };
        assert_eq!(Shell::Bash.prompt(editor), Prompt::Waits);
        assert_eq!(Shell::Zsh.prompt(Waiting { sleeps_in: Some(""), ..editor }), Prompt::Waits, "not told");
        assert_eq!(Shell::Zsh.prompt(Waiting { takes_returns: true, ..editor }), Prompt::Waits);
        assert_eq!(Shell::Dash.prompt(Waiting { wants: Some(8192), ..lines }), Prompt::Waits);
        for (shell, wants) in [(Shell::Bash, None), (Shell::Bash, Some(4096)), (Shell::Zsh, Some(1))] {
            assert_eq!(shell.prompt(Waiting { wants, ..lines }), Prompt::Unedited, "nobody can tell");
        }
        for (shell, waiting) in [
            (Shell::Bash, Waiting { takes_returns: true, ..editor }),
            (Shell::Zsh, Waiting { holds_signals: true, ..editor }),
            (Shell::Dash, Waiting { wants: Some(1), ..lines }),
        ] {
            assert_eq!(shell.prompt(waiting), Prompt::Busy, "its own `read` waits: {waiting:?}");
        }
        assert_eq!(Shell::Fish.prompt(Waiting { sleeps_in: Some("do_wait"), ..editor }), Prompt::Busy);
        assert_eq!(Shell::Fish.prompt(Waiting { sleeps_in: None, ..editor }), Prompt::Busy, "it works");
    }
}
