//! `abide man`: the manual, from the same declarations as `--help`, the config file and the exit codes.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use abide_core::failure::{Failure, Kind};
use abide_core::verdict::{NOT_EXECUTABLE, NOT_FOUND};
use clap::Command as Declared;
use clap::builder::PossibleValuesParser;
use schemars::JsonSchema;
use serde::Serialize;

use super::roff::Roff;
use crate::args;
use crate::cmd::{Command, Faulty, Front, NO_CODE, Verb};
use crate::config::key::Key;
use crate::environment::Variable;

const EXAMPLES: &str = "Examples:
  abide man run | man -l -                        read the manual of one command
  abide man --out ~/.local/share/man/man1         install all pages for this user";

/// Print the manual, or write its pages into a directory
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// The command whose page is meant [default: abide's own, with --out all of them]
    #[arg(value_name = "COMMAND", value_parser = PossibleValuesParser::new(Command::NAMES))]
    verb: Option<String>,
    /// Write the pages as files such as abide-run.1 into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The pages of the manual.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Man")]
pub(crate) struct ManView {
    pages: Vec<PageView>,
}

/// One page.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ManPage")]
struct PageView {
    /// The name of its file.
    name: String,
    /// Where it was written.
    path: Option<String>,
    /// Its text, if it was not written anywhere.
    roff: Option<String>,
}

/// The files that abide reads and writes, for people.
const FILES: &[(&str, &str)] = &[
    ("~/.config/abide/config.toml", "Values for commands; see CONFIGURATION."),
    ("HOME/names/NAME", "The session of a name."),
    ("HOME/sessions/ID/evidence", "The facts about a session, one a line."),
    ("HOME/sessions/ID/outcome", "The guard's last word, in room reserved at launch."),
    ("HOME/sessions/ID/recording", "What its terminal showed and was told."),
    ("HOME/sessions/ID/keyframes", "The screen at instants of the recording: a cache."),
    ("HOME/sessions/ID/index", "How far its lines have been taken in for searches: a cache."),
    ("HOME/sessions/ID/index-lines", "The lines that it showed, to be searched: a cache."),
    ("HOME/sessions/ID/view", "What its living host knows of it: title and size."),
    (
        "HOME/sessions/ID/ssh-agent",
        "Leads to the ssh agent of whoever attached last, if there was one at the launch.",
    ),
    ("HOME/sessions/ID/alive", "What those who wait for its end wait on."),
    ("HOME/sessions/ID/socket", "Where clients reach its host."),
    ("HOME/sessions/ID/declared", "What `abide result set` declared last, kept beside the evidence too."),
    ("HOME/sessions/ID/result.toml", "The program's own word on its work, if it leaves one."),
];

/// The exit codes of commands that pass on a program's, where there is none to pass on.
const PASSED_ON: &[(u8, &str)] = &[
    (Kind::TimedOut.exit_code(), "the time was up and life could not be proved, or --strict was given"),
    (NO_CODE, "there is no code to pass on: lost, damaged, no such session, or abide itself failed"),
    (NOT_EXECUTABLE, "the program cannot be executed"),
    (NOT_FOUND, "the program was not found"),
];

impl Verb for Args {
    type Data = ManView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let mut root = args::root();
        root.build();
        let mut pages = match (&self.verb, &self.out) {
            (None, None) => vec![main_page(&root)],
            (None, Some(_)) => all_pages(&root),
            (Some(verb), _) => root.find_subcommand(verb).map(verb_page).into_iter().collect(),
        };
        if let Some(out) = &self.out {
            std::fs::create_dir_all(out).map_err(|e| Failure::io("make", &out.display(), &e))?;
            pages.iter_mut().try_for_each(|page| page.write(out))?;
        }
        let data = ManView { pages };
        front.output.show(&data, |page| {
            for view in &data.pages {
                view.roff.iter().for_each(|roff| page.own_lines(roff.trim_end()));
                view.path.iter().for_each(|path| {
                    page.plain(path).end();
                });
            }
        })?;
        Ok(0)
    }
}

impl PageView {
    fn write(&mut self, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(&self.name);
        let text = self.roff.take().unwrap_or_default();
        let written = File::create(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|e| Failure::io("write", &path.display(), &e))?;
        self.path = Some(path.display().to_string());
        Ok(())
    }
}

fn all_pages(root: &Declared) -> Vec<PageView> {
    std::iter::once(main_page(root)).chain(below(root).map(verb_page)).collect()
}

/// The commands below one, without clap's own `help`.
fn below(command: &Declared) -> impl Iterator<Item = &Declared> {
    command.get_subcommands().filter(|below| below.get_name() != "help")
}

fn verb_page(verb: &Declared) -> PageView {
    let name = format!("abide-{}", verb.get_name());
    let mut roff = Roff::page(&name, env!("CARGO_PKG_VERSION"));
    head(&mut roff, &name, verb);
    options(&mut roff, verb);
    for act in below(verb) {
        roff.section(&format!("{} {}", verb.get_name(), act.get_name()));
        roff.prose(&text(act.get_about()));
        arguments(&mut roff, act);
    }
    roff.section("Exit status").prose(
        "What this command exits with stands above where it is its own; all codes and the environment are in \
         `abide(1)`.",
    );
    roff.section("See also").prose("`abide(1)`");
    PageView { name: format!("{name}.1"), path: None, roff: Some(roff.finish()) }
}

fn main_page(root: &Declared) -> PageView {
    let mut roff = Roff::page("abide", env!("CARGO_PKG_VERSION"));
    head(&mut roff, "abide", root);
    options(&mut roff, root);
    roff.section("Commands");
    for (group, names) in Command::GROUPS {
        roff.subsection(group);
        for verb in names.iter().filter_map(|name| root.find_subcommand(name)) {
            roff.item(&format!("abide-{}(1)", verb.get_name()), &text(verb.get_about()));
        }
    }
    roff.section("Configuration").prose(&text(config_help(root)));
    for key in Key::ALL {
        let says = format!("{}; {}; built in: `{}`", key.says(), key.form().allowed(), key.built_in());
        roff.item(key.name(), &says);
    }
    roff.section("Environment");
    for variable in Variable::ALL {
        roff.item(variable.name(), variable.says());
    }
    roff.section("Files").prose("HOME is where the sessions are: `--home`, else `$ABIDE_HOME`, and so on.");
    for (path, says) in FILES {
        roff.item(path, says);
    }
    roff.section("Exit status").item("0", "done");
    for kind in Kind::ALL {
        roff.item(&kind.exit_code().to_string(), kind.says());
    }
    roff.prose(
        "`run` without -d and `wait` exit with the program's code, 128+signal if a signal ended it, and:",
    );
    for (code, says) in PASSED_ON {
        roff.item(&code.to_string(), says);
    }
    PageView { name: "abide.1".to_owned(), path: None, roff: Some(roff.finish()) }
}

/// How the file is found and what outranks it: the words of `abide config --help`.
fn config_help(root: &Declared) -> Option<&clap::builder::StyledStr> {
    root.find_subcommand("config")?.get_after_help()
}

fn head(roff: &mut Roff, name: &str, command: &Declared) {
    let usage = command.clone().render_usage().to_string();
    roff.section("Name").line(&format!("{name} - {}", text(command.get_about())));
    roff.section("Synopsis").literal(usage.trim_start_matches("Usage:").trim());
    let examples = text(command.get_before_help());
    roff.section("Examples").literal(examples.strip_prefix("Examples:\n").unwrap_or(&examples));
    roff.section("Description").prose(&text(command.get_about())).prose(&text(command.get_after_help()));
}

fn options(roff: &mut Roff, command: &Declared) {
    roff.section("Options");
    arguments(roff, command);
}

fn arguments(roff: &mut Roff, command: &Declared) {
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
        let short = argument.get_short().map(|short| format!("-{short}"));
        let long = argument.get_long().map(|long| format!("--{long}"));
        let names = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
        let values = argument.get_value_names().filter(|_| argument.get_action().takes_values());
        let values = values.map(|names| names.join(" ")).unwrap_or_default();
        let named: Vec<String> =
            argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
        let named = if named.is_empty() || !argument.get_action().takes_values() {
            String::new()
        } else {
            format!(" One of {}.", named.join(", "))
        };
        roff.item(format!("{names} {values}").trim(), &format!("{}{named}", text(argument.get_help())));
    }
}

fn text(styled: Option<&clap::builder::StyledStr>) -> String {
    styled.map(ToString::to_string).unwrap_or_default()
}
