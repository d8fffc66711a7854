//! `abide hooks`: what agents run of ours when something happens in them, put into their settings and taken out again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use abide_core::failure::{Failure, Kind};
use abide_engine::agents::hooks::{self, Change, Place, Settings, Standing};
use abide_engine::doctor::{Check, Health};
use clap::builder::PossibleValuesParser;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::{Faulty, Front, Verb};
use crate::environment::Variable;
use crate::show::page::{Page, Tone};
use crate::show::unified::unified;

const EXAMPLES: &str = "Examples:
  abide hooks install claude codex       their settings call abide; prints what it changes
  abide hooks install claude --dry-run   only prints it
  abide hooks status                     where hooks are installed, of every agent that runs hooks
  abide hooks uninstall claude           takes out exactly what was put in";

/// Have agents tell abide of their turns, or no longer
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(after_help = concat!("Hooks are commands that an agent runs when something happens in it: `abide hook AGENT \
    OCCASION`, by the whole path of this executable, ended by the agent after three to five seconds. They are put into the agent's \
    own settings: claude settings.json, codex hooks.json, gemini settings.json, qwen settings.json, copilot \
    hooks/abide.json. Everything else in there stays as it is, to the byte; taking them out again gives the file that \
    was, and removes one that was not. A link is followed, and what it leads to is replaced whole. Settings that make no \
    sense are refused with 2 (`bad_settings`), and then nothing is written anywhere. codex runs hooks only once a person \
    has trusted them: it asks when it is started next, or with `/hooks`; again whenever they change.",
    signals_end_this!("a file that is being written is finished first.")))]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// Put the hooks into agents' settings
    Install(Changing),
    /// Say where they are installed
    Status(Looking),
    /// Take them out again
    Uninstall(Changing),
}

#[derive(Debug, clap::Args)]
struct Changing {
    /// The agents that are meant
    #[arg(value_name = "AGENT", required = true, value_parser = PossibleValuesParser::new(hooks::agents()))]
    agents: Vec<String>,
    /// Only say what would be changed
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
struct Looking {
    /// The agents that are meant [default: all that run hooks]
    #[arg(value_name = "AGENT", value_parser = PossibleValuesParser::new(hooks::agents()))]
    agents: Vec<String>,
}

/// Hooks in agents' settings.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Hooks")]
pub(crate) struct HooksView {
    /// Whether nothing was written, only said.
    dry_run: bool,
    /// What agents are to call.
    executable: String,
    agents: Vec<AgentView>,
}

/// The hooks of one agent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentHooks")]
struct AgentView {
    agent: String,
    path: String,
    /// `installed`; `partly`: some are missing; `outdated`: they call another abide, or are of another form; `absent`;
    /// `unreadable`: the settings make no sense, or cannot be read. After a change, unless it is a dry run.
    #[schemars(extend("enum" = ["installed", "partly", "outdated", "absent", "unreadable"]))]
    standing: &'static str,
    /// What is missing or wrong.
    detail: Option<String>,
    /// What keeps the agent from running any hook.
    switched_off: Option<String>,
    /// What a person must do before the agent runs them.
    trust: Option<&'static str>,
    /// The change, as a patch; null if there is none.
    patch: Option<String>,
}

impl Verb for Args {
    type Data = HooksView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let (place, executable) = (place(), executable()?);
        let (dry_run, agents) = match self.act {
            Act::Status(looking) => {
                let all = || hooks::agents().into_iter().map(str::to_owned).collect();
                let named = if looking.agents.is_empty() { all() } else { looking.agents };
                (
                    true,
                    named.iter().map(|agent| looked(agent, &place, &executable)).collect::<Result<_, _>>()?,
                )
            }
            Act::Install(to) => {
                (to.dry_run, changed(&to, &place, &executable, |settings| settings.install(&executable))?)
            }
            Act::Uninstall(to) => (to.dry_run, changed(&to, &place, &executable, Settings::uninstall)?),
        };
        let data = HooksView { dry_run, executable, agents };
        front.output.show(&data, |page| data.agents.iter().for_each(|view| view.put(page, dry_run)))?;
        let is_unreadable = data.agents.iter().any(|view| view.standing == "unreadable");
        Ok(if is_unreadable { Kind::Usage.exit_code() } else { 0 })
    }
}

/// The path by which agents are to call us.
fn executable() -> Result<String, Failure> {
    let searched = Variable::Searched.value().unwrap_or_default();
    let searched: Vec<PathBuf> = std::env::split_paths(&searched).collect();
    Ok(hooks::executable(&searched)?.display().to_string())
}

/// What is wrong with hooks that were installed: none for an agent without.
pub(crate) fn check() -> Vec<Check> {
    let (Ok(executable), place) = (executable(), place()) else { return Vec::new() };
    let check = |agent: &str| {
        let standing = Settings::read(agent, &place).and_then(|settings| settings.standing(&executable));
        let (health, detail) = match standing {
            Ok(Standing::Absent) => return None,
            Ok(Standing::Installed) => (Health::Good, format!("{agent} tells abide of its turns")),
            Ok(Standing::Partly(missing)) => {
                (Health::Weak, format!("{agent} has some of them only: not on {}", missing.join(", ")))
            }
            Ok(Standing::Outdated(by)) => {
                (Health::Weak, format!("those of {agent} call {by}, not this abide"))
            }
            Err(failure) => (Health::Weak, failure.message),
        };
        let fix = (health != Health::Good).then(|| format!("abide hooks install {agent}"));
        Some(Check { name: "hooks", health, detail, fix, session: None, code: None })
    };
    hooks::agents().into_iter().filter_map(check).collect()
}

/// Where agents have their settings.
fn place() -> Place {
    let heeded = Variable::ALL.iter().filter(|variable| {
        **variable == Variable::UserHome || hooks::variables().any(|name| name == variable.name())
    });
    let said = heeded.filter_map(|variable| {
        Some((variable.name().to_owned(), variable.value()?.to_string_lossy().into_owned()))
    });
    Place { variables: said.collect(), ..Place::default() }
}

fn looked(agent: &str, place: &Place, executable: &str) -> Result<AgentView, Failure> {
    let path = hooks::file(agent, place)?;
    // Settings that cannot be read hide none of the others.
    Ok(match Settings::read(agent, place) {
        Ok(settings) => AgentView::new(&settings, executable, None),
        Err(failure) => AgentView::unreadable(agent, &path, failure),
    })
}

/// Looks at all before anything is written, so that one that cannot be changed keeps all as they are.
fn changed(
    to: &Changing,
    place: &Place,
    executable: &str,
    change: impl Fn(&Settings) -> Result<Change, Failure>,
) -> Result<Vec<AgentView>, Failure> {
    let agents: BTreeSet<&String> = to.agents.iter().collect();
    let read = |agent: &String| -> Result<(Settings, Change), Failure> {
        let settings = Settings::read(agent, place)?;
        let made = change(&settings)?;
        Ok((settings, made))
    };
    let made = agents.iter().map(|agent| read(agent)).collect::<Result<Vec<_>, Failure>>()?;
    let mut views: Vec<AgentView> = Vec::new();
    for (settings, change) in &made {
        let becomes = match change {
            Change::Same => None,
            Change::Text(text) => Some(Some(text.as_str())),
            Change::Nothing => Some(None),
        };
        let path = settings.path().display().to_string();
        let patch = becomes.map(|text| unified(&path, settings.text(), text));
        if !to.dry_run {
            settings.write(change).map_err(|failure| after(failure, &views))?;
        }
        let now = if to.dry_run { None } else { Some(Settings::read(settings.agent(), place)?) };
        views.push(AgentView::new(now.as_ref().unwrap_or(settings), executable, patch));
    }
    Ok(views)
}

/// What failed, with what was done before it.
fn after(mut failure: Failure, done: &[AgentView]) -> Failure {
    let changed = done.iter().filter(|view| view.patch.is_some()).map(|view| view.agent.as_str());
    let changed: Vec<&str> = changed.collect();
    if !changed.is_empty() {
        failure.message.push_str(&format!("; changed before that: {}", changed.join(", ")));
    }
    failure
}

impl AgentView {
    fn unreadable(agent: &str, path: &Path, failure: Failure) -> Self {
        Self {
            agent: agent.to_owned(),
            path: path.display().to_string(),
            standing: "unreadable",
            detail: Some(failure.message),
            switched_off: None,
            trust: None,
            patch: None,
        }
    }

    fn new(settings: &Settings, executable: &str, patch: Option<String>) -> Self {
        let (standing, detail) = match settings.standing(executable) {
            Ok(Standing::Installed) => ("installed", None),
            Ok(Standing::Partly(missing)) => ("partly", Some(format!("not on {}", missing.join(", ")))),
            Ok(Standing::Outdated(by)) => ("outdated", Some(format!("they call {by}"))),
            Ok(Standing::Absent) => ("absent", None),
            Err(failure) => ("unreadable", Some(failure.message)),
        };
        let is_there = !matches!(standing, "absent" | "unreadable");
        Self {
            agent: settings.agent().to_owned(),
            path: settings.path().display().to_string(),
            standing,
            detail,
            switched_off: settings.switched_off(),
            trust: settings.trust().filter(|_| is_there),
            patch,
        }
    }

    fn put(&self, page: &mut Page, dry_run: bool) {
        let says = match (&self.patch, dry_run) {
            (Some(_), true) => "would change".to_owned(),
            (Some(_), false) => format!("{}, changed", self.standing),
            (None, _) => self.standing.to_owned(),
        };
        page.put(Tone::Strong, &self.agent).plain(&format!(": {says} {}", self.path)).end();
        for line in self.detail.iter().chain(&self.switched_off) {
            page.plain(&format!("  {line}")).end();
        }
        for line in self.trust.iter().filter(|_| self.standing == "installed") {
            page.plain(&format!("  {line}")).end();
        }
        for line in self.patch.iter().flat_map(|patch| patch.lines()) {
            let tone = match line.as_bytes().first() {
                Some(b'+') => Tone::Good,
                Some(b'-') => Tone::Bad,
                Some(_) | None => Tone::Faint,
            };
            page.put(tone, line.trim_end_matches('\r')).end();
        }
    }
}
