//! What was typed: the root of the command line, and refusals of what makes no sense.

use std::ffi::OsString;
use std::path::PathBuf;

use abide_core::failure::{Code, Failure};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cmd::{Command, NO_CODE};
use crate::config::Config;
use crate::config::form::Colours;
use crate::output::Output;

const EXAMPLES: &str = "Examples:
  abide run -- claude         run a program in a session; ctrl-\\ twice detaches
  abide run -d -- make        the same, and return at once with its ID
  abide wait @last            wait for its end and exit with its code
  abide ls                    the sessions that are not over
  abide why nightly           the proof of what abide says of a session
  abide inspect @last --json  everything about the latest session, for programs
  abide doctor --fix          look at the machine and the home, mend what is safe to mend";

/// Sessions that outlive their terminal, and the truth about them
#[derive(Debug, Parser)]
#[command(name = "abide", version, before_help = EXAMPLES, max_term_width = 100)]
#[command(
    after_help = "A session is meant by its ID, its name, a unique prefix of either, or @last. HUP, INT and TERM \
    end a command, never a session; the help of each command that lasts says how."
)]
pub(crate) struct Cli {
    /// Answer with one JSON object on standard output
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) json: bool,
    /// Where the sessions are [default: $ABIDE_HOME, `home` of the config file, $XDG_STATE_HOME/abide or
    /// ~/.local/state/abide]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    pub(crate) home: Option<PathBuf>,
    /// When text has colours [default: auto, or `color` of the config file; NO_COLOR is heeded]
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        help_heading = "Everywhere",
        hide_possible_values = true
    )]
    pub(crate) color: Option<Colours>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What was typed is not a command, or asks for help.
#[derive(Debug)]
pub(crate) struct Refused {
    error: clap::Error,
    command: &'static str,
    json: bool,
    color: Option<Colours>,
    /// The command would have exited with a program's code.
    passes_on: bool,
}

/// Reads the arguments.
pub(crate) fn parse(argv: impl Iterator<Item = OsString>) -> Result<Cli, Refused> {
    let argv: Vec<OsString> = argv.collect();
    Cli::try_parse_from(&argv).map_err(|error| {
        let ours: Vec<&OsString> = argv.iter().skip(1).take_while(|arg| *arg != "--").collect();
        let json = ours.iter().any(|arg| *arg == "--json");
        let verb = ours.iter().find_map(|arg| Command::known(arg.to_str()?));
        let detached = ours.iter().any(|arg| *arg == "-d" || *arg == "--detach");
        let passes_on = verb.is_some_and(|verb| Command::passes_on_a_code(verb, detached));
        Refused { error, command: verb.unwrap_or("abide"), json, color: color(&ours), passes_on }
    })
}

/// The colours that were asked for, in arguments that could not be read whole.
fn color(arguments: &[&OsString]) -> Option<Colours> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let at = words.iter().position(|word| word.starts_with("--color"))?;
    let value = match words[at].strip_prefix("--color")? {
        "" => words.get(at + 1)?,
        value => value.strip_prefix('=')?,
    };
    Colours::parse(value)
}

impl Refused {
    /// Prints help or the refusal, and gives the exit code.
    pub(crate) fn tell(self) -> u8 {
        let (colours, _) = Config::load().colours(self.color);
        let mut output = Output::new(self.command, self.json, colours);
        let help = self.error.exit_code() == 0;
        let failure = Failure::new(Code::Usage, self.message()).hint(self.hint());
        match (help, self.json) {
            (true, _) => output.help(&self.error.render()),
            (false, true) => output.fail(&failure),
            (false, false) => output.complain(&self.error.render().to_string()),
        }
        match (help, self.passes_on) {
            (true, _) => 0,
            (false, true) => NO_CODE,
            (false, false) => failure.code.kind().exit_code(),
        }
    }

    /// clap's own words, without what surrounds them.
    fn message(&self) -> String {
        if self.error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return "a command or an argument is missing".to_owned();
        }
        let text = self.error.render().to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        let words = first.strip_prefix("error: ").unwrap_or(first).split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    }

    fn hint(&self) -> String {
        let suggested =
            [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
        let words: Vec<String> = suggested.into_iter().flat_map(|kind| words(self.error.get(kind))).collect();
        let verb = Some(self.command).filter(|command| Command::known(command).is_some());
        let help = verb.map_or("abide --help".to_owned(), |verb| format!("abide {verb} --help"));
        if words.is_empty() {
            format!("`{help}` shows examples")
        } else {
            format!("did you mean {}? `{help}` shows examples", words.join(" or "))
        }
    }
}

fn words(value: Option<&ContextValue>) -> Vec<String> {
    let quoted = |word: &String| format!("`{word}`");
    if let Some(ContextValue::String(word)) = value {
        vec![quoted(word)]
    } else if let Some(ContextValue::Strings(words)) = value {
        words.iter().map(quoted).collect()
    } else {
        Vec::new()
    }
}
