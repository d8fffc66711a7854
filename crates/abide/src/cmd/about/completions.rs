//! `abide completions`: scripts that make a shell ask abide what fits at the cursor.
//! The scripts know nothing of the verbs, so one that was installed long ago knows the verbs of today.

use std::ffi::OsString;

use abide_core::failure::Failure;
use schemars::JsonSchema;
use serde::Serialize;

use super::candidates::{self, Candidate, Fits};
use crate::cmd::{Faulty, Front, Verb};

const EXAMPLES: &str = "Examples:
  abide completions bash >> ~/.bash_completion               for bash
  abide completions zsh > ~/.zfunc/_abide                    for zsh, in a directory of $fpath
  abide completions fish > ~/.config/fish/completions/abide.fish
  source <(abide completions bash)                           for this shell only";

/// Print the completions of a shell: verbs, flags, values and live sessions
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, override_usage = "abide completions [OPTIONS] <SHELL>")]
pub(crate) struct Args {
    /// The shell, which must be named
    #[arg(value_name = "SHELL", required_unless_present = "words")]
    shell: Option<Shell>,
    /// The words up to the cursor, the last of them unfinished: asks for what fits there
    #[arg(last = true, hide = true)]
    words: Vec<OsString>,
}

/// A shell whose completions there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// A script, or what fits at a cursor.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Completions")]
pub(crate) enum CompletionsView {
    Script {
        script: &'static str,
    },
    Candidates {
        /// Each fits where the cursor is.
        candidates: Vec<CandidateView>,
        /// What the shell itself can list there.
        #[schemars(extend("enum" = ["files", "directories", "commands", null]))]
        shell_lists: Option<&'static str>,
    },
}

/// One word that fits.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Candidate")]
pub(crate) struct CandidateView {
    word: String,
    says: String,
}

impl Verb for Args {
    type Data = CompletionsView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let data = match self.shell {
            Some(shell) => CompletionsView::Script { script: shell.script() },
            None => CompletionsView::at(front, &self.words),
        };
        front.output.show(&data, |page| match &data {
            CompletionsView::Script { script } => page.own_lines(script.trim_end()),
            CompletionsView::Candidates { candidates, shell_lists } => {
                shell_lists.iter().for_each(|what| page.own_lines(&format!(":{what}")));
                for candidate in candidates {
                    // The tab is the page's own; what the session is called is not.
                    page.plain(&candidate.word).tab().plain(&candidate.says).end();
                }
            }
        })?;
        Ok(0)
    }
}

impl Shell {
    const fn script(self) -> &'static str {
        match self {
            Self::Bash => include_str!("completions/abide.bash"),
            Self::Zsh => include_str!("completions/abide.zsh"),
            Self::Fish => include_str!("completions/abide.fish"),
        }
    }
}

impl CompletionsView {
    fn at(front: &mut Front, words: &[OsString]) -> Self {
        let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let cursor = candidates::at(&words);
        let (found, shell_lists) = match cursor.fits {
            Fits::Words(found) => (found, None),
            Fits::Files => (Vec::new(), Some("files")),
            Fits::Directories => (Vec::new(), Some("directories")),
            Fits::Commands => (Vec::new(), Some("commands")),
            Fits::Sessions { verb } => {
                if let Some(home) = cursor.home {
                    front.home = Some(home);
                }
                // A home that cannot be read has nothing to offer; the verb will say why.
                let listed = front.sessions().and_then(|sessions| sessions.list()).unwrap_or_default();
                (candidates::sessions(listed, verb, &cursor.begun), None)
            }
        };
        let fitting = found.into_iter().filter(|candidate| candidate.word.starts_with(&cursor.begun));
        let view = |Candidate { word, says }| CandidateView { word: cursor.before.clone() + &word, says };
        Self::Candidates { candidates: fitting.map(view).collect(), shell_lists }
    }
}
