//! What was typed: the root of the command line. `refused` tells what makes no sense, `nearest` what was meant.

#[cfg(test)]
mod documented;
pub(crate) mod nearest;
mod refused;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser};

pub(crate) use refused::Refused;

use crate::cmd::Command;
use crate::config::form::Colours;
use crate::output::NO_BREAK;
use crate::show::page::Page;
use crate::show::wrap::wrap;

const EXAMPLES: &str = "Examples:
  abide run -- claude         run a program in a session; ctrl-\\ twice detaches
  abide run -d -- make        the same, and return at once with its ID
  abide wait @last            wait for its end and exit with its code
  abide ls                    the sessions that are not over
  abide why nightly           the proof of what abide says of a session
  abide inspect @last --json  everything about the latest session, for programs
  abide doctor --fix          look at machine and home, mend what is safe";

/// Sessions that outlive their terminal, and the truth about them
#[derive(Debug, Parser)]
#[command(name = "abide", version, before_help = EXAMPLES, max_term_width = 100)]
#[command(
    after_help = "A session is meant by its ID, its name, a unique prefix of either, or @last. HUP, INT and TERM \
    end a command, never a session; the help of each command that lasts says how."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) everywhere: Everywhere,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The flags that every verb takes.
#[derive(Debug, Args)]
pub(crate) struct Everywhere {
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
}

/// Reads the arguments.
pub(crate) fn parse(argv: impl Iterator<Item = OsString>) -> Result<Cli, Refused> {
    let argv: Vec<OsString> = argv.collect();
    if let Some(cli) = parse_alone(&argv) {
        return Ok(cli);
    }
    Cli::try_parse_from(&argv).map_err(|error| Refused::new(with_whole_examples(error, &argv), &argv))
}

/// The same, knowing only the verb that seems to be meant: telling clap of all of them takes longer than many of them do.
/// What makes no sense so is read again.
fn parse_alone(argv: &[OsString]) -> Option<Cli> {
    let verb = argv.iter().skip(1).filter_map(|word| word.to_str()).find_map(Command::known)?;
    let root = Everywhere::augment_args(clap::Command::new("abide")).subcommand(Command::alone(verb)?);
    Cli::from_arg_matches(&root.try_get_matches_from(argv).ok()?).ok()
}

/// Help whose examples keep their lines, however narrow the terminal is.
fn with_whole_examples(error: clap::Error, argv: &[OsString]) -> clap::Error {
    if error.exit_code() != 0 && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return error;
    }
    let unbroken = unbroken(root());
    unbroken.try_get_matches_from(argv).err().unwrap_or(error)
}

/// The root of the command line, with its verbs in groups. All that is told of a verb stands behind its options, also what
/// signals do to it: where it does not say so itself, they do what they do to any program.
pub(crate) fn root() -> clap::Command {
    const NAMED: &str = "HUP, INT and TERM";
    let root = Cli::command().mut_subcommands(|verb| {
        let more = verb.get_long_about().map(ToString::to_string).unwrap_or_default();
        let more = more.split_once("\n\n").map(|(_, more)| format!("{}\n\n", more.trim_end()));
        let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        let ends = match help.contains(NAMED) {
            true => String::new(),
            false => format!(" {NAMED} end this command only, as they end any program."),
        };
        let help = format!("{help}{ends}");
        let help = format!("{}{}", more.unwrap_or_default(), help.trim_start());
        verb.after_help(help).long_about(clap::builder::Resettable::Reset)
    });
    let groups = groups(&root);
    root.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{}\n{{options}}{{after-help}}",
        heading("Options")
    ))
}

/// So wide is help at most.
const WIDEST: usize = 100;

/// What there is to do, by what it is for, with a line for each verb.
fn groups(root: &clap::Command) -> String {
    let column = Command::NAMES.iter().map(|name| name.len()).max().unwrap_or(0) + 4;
    let width = width().unwrap_or(WIDEST);
    let styles = clap::builder::Styles::styled();
    let literal = styles.get_literal();
    let line = |name: &str| {
        let about = root.find_subcommand(name).and_then(clap::Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        let room = width.saturating_sub(column);
        let lines = wrap(&about, room, room).join(&format!("\n{}", " ".repeat(column)));
        format!("  {literal}{name}{literal:#}{:1$}{lines}\n", "", column - 2 - name.len())
    };
    let group = |(what, names): &(&str, &[&str])| {
        let lines: String = names.iter().map(|name| line(name)).collect();
        format!("{}\n{lines}\n", heading(what))
    };
    Command::GROUPS.iter().map(group).collect()
}

/// As clap writes its own.
fn heading(what: &str) -> String {
    let style = clap::builder::Styles::styled();
    let style = style.get_header();
    format!("{style}{what}:{style:#}")
}

/// How wide help may be, if somebody looks.
fn width() -> Option<usize> {
    Page::for_standard_output(Colours::Never).width().map(|width| width.min(WIDEST))
}

/// The same command with examples that fit, and with blanks in them at which no line is broken. `Output::help` makes them
/// plain again.
fn unbroken(command: clap::Command) -> clap::Command {
    let examples = command.get_before_help().map(|text| {
        let lines = text.to_string();
        let lines =
            lines.lines().map(|line| width().map_or_else(|| line.to_owned(), |width| fitted(line, width)));
        lines.collect::<Vec<_>>().join("\n").replace(' ', NO_BREAK)
    });
    let command = command.mut_subcommands(unbroken);
    match examples {
        Some(examples) => command.before_help(examples),
        None => command,
    }
}

/// A line of examples: what is said of a command goes on below itself where it is too long, or below the command.
fn fitted(line: &str, width: usize) -> String {
    const INDENT: usize = 2;
    const BELOW: usize = 6;
    const READABLE: usize = 24;
    let indent = line.len() - line.trim_start().len();
    let gap = || Some(INDENT + line.get(INDENT..)?.find("  ")?);
    let begins = if indent > INDENT { Some(0) } else { gap() };
    let Some((command, says)) = begins.filter(|_| line.chars().count() > width).map(|at| line.split_at(at))
    else {
        return line.to_owned();
    };
    let (column, says) = (line.len() - says.trim_start().len(), says.trim_start());
    let beside = width.saturating_sub(column) >= READABLE;
    let column = if beside { column } else { BELOW };
    let room = width.saturating_sub(column);
    let blanks = " ".repeat(column);
    let lines = wrap(says, room, room).join(&format!("\n{blanks}"));
    match (beside, command.trim_end()) {
        (true, command) => format!("{command:column$}{lines}"),
        (false, "") => format!("{blanks}{lines}"),
        (false, command) => format!("{command}\n{blanks}{lines}"),
    }
}

#[cfg(test)]
mod tests {
    use super::fitted;

    #[test]
    fn what_is_said_of_an_example_fits_beside_it_or_below_it() {
        let line = "  abide ls -a   also those that are over, and agents";
        assert_eq!(fitted(line, 60), line);
        let beside = "  abide ls -a   also those that are over,\n                and agents";
        assert_eq!(fitted(line, 42), beside);
        assert_eq!(fitted(line, 30), "  abide ls -a\n      also those that are\n      over, and agents");
        let more = "                and it goes on and on";
        assert_eq!(fitted(more, 30), "      and it goes on and on");
        assert_eq!(fitted("  abide keys menu Down Down", 20), "  abide keys menu Down Down");
    }
}
