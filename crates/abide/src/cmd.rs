//! The verbs. A new one is a file below this folder, its `mod` line and its line in the table, in the group that it is for.

/// What signals do to a command that handles none itself, and what of its work goes on.
macro_rules! signals_end_this {
    ($rest:literal) => {
        concat!(" HUP, INT and TERM end this command only, as they end any program; ", $rest)
    };
}

mod about;
mod agent;
mod attach;
mod demo;

mod drive;
mod facts;
mod inspect;
mod keep;
mod logs;
mod ls;
mod recorded;
mod rm;
mod run;
mod search;
mod snapshot;
mod stop;
mod top;
mod upgrade;
mod wait;
mod why;

use std::borrow::Cow;
use std::marker::PhantomData;
use std::path::PathBuf;

use abide_core::failure::Failure;
use abide_core::instant::At;
use abide_core::screen::theme::Theme;
use abide_core::status::Column;
use abide_engine::notify::{Address, Told};
use abide_engine::{Session, Sessions, Snapshot, Source};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use about::{completions, config, man, schema, selftest, skill, version};
use agent::{adopt, agents, checkpoint, hook, hooks, result, resume};
pub(crate) use drive::batch::BatchView;
use drive::{batch, exec, keys, paste, prompt, resize, signal, type_text};
use keep::{doctor, gc, notify};
use recorded::{diff, export, mark, marks, play, screenshot};

use crate::args::{Cli, Everywhere};
use crate::config::Config;
use crate::config::form::{self, Colours};
use crate::config::key::Key;
use crate::output::Output;

/// What a command that passes on a program's code exits with when there is none.
pub(crate) const NO_CODE: u8 = 125;

/// What a command that a signal ended exits with, where it had something to tidy up first.
pub(crate) fn ended_by(signal: i32) -> u8 {
    u8::try_from(signal).map_or(NO_CODE, |number| number.saturating_add(128))
}

/// What of the environment is kept for the command that is told of a session.
const TOLD_WITH: [&str; 9] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
];

/// One verb of the command line, with its arguments.
pub(crate) trait Verb {
    /// What `data` of its JSON answer holds.
    type Data: JsonSchema;
    /// The column that decides which sessions it takes; none if it takes any.
    const TAKES: Option<Column> = None;

    /// Does it, and gives the exit code.
    ///
    /// # Errors
    /// Whatever keeps it from being done.
    fn run(self, front: &mut Front) -> Result<u8, Failure>;

    /// Looks, at this wall time, at what can be told to make no sense whatever the session is: a batch does so before its
    /// first step.
    ///
    /// # Errors
    /// What makes no sense.
    fn check(&self, _now: i64) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether it exits with a program's code, so that its own failures must keep out of the way.
    fn passes_on_a_code(&self) -> bool {
        false
    }

    /// What it does where something is wrong with the config file. Reading goes on; what acts must not act on
    /// values that were not meant.
    fn with_faults(&self) -> Faulty {
        Faulty::Refuse
    }
}

/// What a verb does about faults in the config file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Faulty {
    Refuse,
    /// Goes on, with a warning beside the answer.
    Warn,
    /// Tells them itself.
    Explain,
}

/// The data of a verb that answers in one of two forms.
#[derive(Debug)]
pub(crate) struct OneOf<A, B>(PhantomData<(A, B)>);

impl<A: JsonSchema, B: JsonSchema> JsonSchema for OneOf<A, B> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}Or{}", A::schema_name(), B::schema_name()).into()
    }

    fn json_schema(made: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [made.subschema_for::<A>(), made.subschema_for::<B>()] })
    }
}

/// What every verb works with.
#[derive(Debug)]
pub(crate) struct Front {
    home: Option<PathBuf>,
    color: Option<Colours>,
    pub(crate) config: Config,
    pub(crate) output: Output,
}

impl Front {
    /// The home that is meant.
    ///
    /// # Errors
    /// If none is named anywhere.
    pub(crate) fn home(&self) -> Result<PathBuf, Failure> {
        let (home, _) = self.config.home(self.home.as_deref())?;
        // A program that is started in it may be, or go, anywhere.
        std::path::absolute(&home).map_err(|e| Failure::io("find", &home.display(), &e))
    }

    /// The value of a key where no flag gives it: the config file's, else the built-in one.
    pub(crate) fn value(&self, key: Key, flag: Option<String>) -> String {
        flag.unwrap_or_else(|| self.config.text(key).to_owned())
    }

    /// Who is told of sessions that are made now; none if nobody is to be told.
    pub(crate) fn told(&self) -> Option<Told> {
        let text = |key| self.config.text(key);
        let command = form::limit(text(Key::NotifyCommand), form::command).flatten().unwrap_or_default();
        let webhook = text(Key::NotifyWebhook);
        let webhook = Address::parse(webhook).map(|_| webhook.to_owned());
        let on = form::matters(text(Key::NotifyOn)).unwrap_or_default();
        let variable = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
        let told = Told { command, webhook, on, env: TOLD_WITH.iter().filter_map(variable).collect() };
        (!told.command.is_empty() || told.webhook.is_some()).then_some(told)
    }

    /// The screen of a session, now or at an instant; what is odd about it is told beside the answer.
    ///
    /// # Errors
    /// If the recording cannot be read, or never came so far.
    pub(crate) fn snapshot(
        &mut self,
        sessions: &Sessions,
        session: &Session,
        at: Option<&At>,
    ) -> Result<Snapshot, Failure> {
        let snapshot = sessions.snapshot(session, at)?;
        if snapshot.source == Source::ReplayInstead {
            let instead = "the host did not answer within a second; this is replayed from the recording";
            self.output.warn(instead, None);
        }
        if snapshot.behind > 0 {
            let behind = crate::show::time::size(snapshot.behind);
            let lags = format!(
                "the program writes faster than its screen is drawn: {behind} of its recording are yet to come"
            );
            self.output.warn(&lags, None);
        }
        for gap in &snapshot.gaps {
            self.output.warn(&gap.says(), None);
        }
        Ok(snapshot)
    }

    /// The same for a command within this one, whose answer is kept.
    fn within(&self, command: &'static str) -> Self {
        let (home, color, config) = (self.home.clone(), self.color, self.config.clone());
        Self { home, color, config, output: self.output.within(command) }
    }

    /// The sessions of that home.
    ///
    /// # Errors
    /// If it is not to be trusted.
    pub(crate) fn sessions(&self) -> Result<Sessions, Failure> {
        Sessions::open(&self.home()?)
    }
}

/// The names of the themes, for flags.
pub(crate) fn themes() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(Theme::ALL.iter().map(|theme| theme.name))
}

/// Whether a session has all of these labels, each with its value if that is given: `KEY` or `KEY=VALUE`.
fn has_labels(session: &Session, labels: &[String]) -> bool {
    let launched = session.evidence.beginning.launched.as_ref();
    labels.iter().all(|label| {
        let (key, value) =
            label.split_once('=').map_or((label.as_str(), None), |(key, value)| (key, Some(value)));
        let has = launched.and_then(|told| told.body.labels.get(key));
        has.is_some_and(|has| value.is_none_or(|value| value == has))
    })
}

macro_rules! verbs {
    ($($group:literal { $($name:literal $verb:ident $variant:ident,)+ })+) => {
        /// What abide was asked to do.
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum Command { $($(#[command(name = $name)] $variant($verb::Args),)+)+ }

        impl Command {
            /// Every verb, in the order of the table.
            pub(crate) const NAMES: &'static [&'static str] = &[$($($name,)+)+];
            /// What they are for, each with its verbs.
            pub(crate) const GROUPS: &'static [(&'static str, &'static [&'static str])] =
                &[$(($group, &[$($name,)+]),)+];

            const fn name(&self) -> &'static str {
                match self { $($(Self::$variant(_) => $name,)+)+ }
            }

            fn run(self, front: &mut Front) -> u8 {
                match self { $($(Self::$variant(args) => run(args, front),)+)+ }
            }

            /// The verb of this name, for a command line that has no other.
            pub(crate) fn alone(name: &str) -> Option<clap::Command> {
                match name {
                    $($($name => Some(<$verb::Args as clap::Args>::augment_args(clap::Command::new($name))),)+)+
                    _ => None,
                }
            }

            /// Looks at what can be told to make no sense before anything is done.
            fn check(&self, now: i64) -> Result<(), Failure> {
                match self { $($(Self::$variant(args) => args.check(now),)+)+ }
            }
        }

        /// The column that decides which sessions the verb of this name takes.
        fn takes(name: &str) -> Option<Column> {
            match name { $($($name => <$verb::Args as Verb>::TAKES,)+)+ _ => None }
        }

        /// The schemas of what each verb answers.
        fn data_schemas() -> Vec<(&'static str, fn(&mut SchemaGenerator) -> Schema)> {
            vec![$($(($name, |made| made.subschema_for::<<$verb::Args as Verb>::Data>()),)+)+]
        }
    };
}

verbs! {
    "Life" {
        "run" run Run,
        "wait" wait Wait,
        "stop" stop Stop,
        "signal" signal Signal,
        "rm" rm Rm,
        "resume" resume Resume,
        "adopt" adopt Adopt,
        "upgrade" upgrade Upgrade,
    }
    "Look" {
        "ls" ls Ls,
        "top" top Top,
        "inspect" inspect Inspect,
        "why" why Why,
        "logs" logs Logs,
        "events" facts Facts,
        "snapshot" snapshot Snapshot,
        "screenshot" screenshot Screenshot,
        "diff" diff Diff,
        "marks" marks Marks,
        "search" search Search,
    }
    "Drive" {
        "attach" attach Attach,
        "type" type_text Type,
        "paste" paste Paste,
        "keys" keys Keys,
        "exec" exec Exec,
        "prompt" prompt Prompt,
        "batch" batch Batch,
        "mark" mark Mark,
        "resize" resize Resize,
    }
    "Record" {
        "play" play Play,
        "export" export Export,
    }
    "Agents" {
        "agents" agents Agents,
        "hooks" hooks Hooks,
        "hook" hook Hook,
        "result" result Declare,
        "checkpoint" checkpoint Checkpoint,
    }
    "Keep" {
        "gc" gc Gc,
        "doctor" doctor Doctor,
        "notify" notify Notify,
        "config" config Config,
    }
    "Learn" {
        "demo" demo Demo,
        "selftest" selftest Selftest,
        "skill" skill Skill,
        "man" man Man,
        "completions" completions Completions,
        "schema" schema Schema,
        "version" version Version,
    }
}

impl Command {
    /// Whether a verb that cannot even be parsed would have passed on a program's code.
    pub(crate) fn passes_on_a_code(verb: &str, detached: bool) -> bool {
        verb == "wait" || verb == "exec" || (verb == "run" && !detached)
    }

    /// The verb of this name.
    pub(crate) fn known(name: &str) -> Option<&'static str> {
        Self::NAMES.iter().copied().find(|known| *known == name)
    }
}

/// Does what was asked, tells a failure, and gives the exit code.
pub(crate) fn perform(cli: Cli) -> u8 {
    let Cli { everywhere: Everywhere { json, home, color }, command } = cli;
    let config = Config::load();
    let (colours, _) = config.colours(color);
    let output = Output::new(command.name(), json, colours).name_home(home.as_deref());
    command.run(&mut Front { home, color, config, output })
}

fn run<V: Verb>(verb: V, front: &mut Front) -> u8 {
    let passes_on = verb.passes_on_a_code();
    let sound = match (front.config.failure(), verb.with_faults()) {
        (Some(fault), Faulty::Refuse) => Err(fault),
        (Some(fault), Faulty::Warn) => {
            front.output.warn(&fault.message, fault.hint.as_deref());
            Ok(())
        }
        (Some(_), Faulty::Explain) | (None, _) => Ok(()),
    };
    sound.and_then(|()| verb.run(front)).unwrap_or_else(|failure| {
        front.output.fail(&failure);
        if passes_on { NO_CODE } else { failure.code.kind().exit_code() }
    })
}
