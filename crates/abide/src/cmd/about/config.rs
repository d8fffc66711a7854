//! `abide config`: each value, and where it comes from.

use abide_core::failure::{Failure, Kind};
use clap::builder::PossibleValuesParser;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::{Faulty, Front, Verb};
use crate::config::key::Key;
use crate::config::{Fault, Origin};
use crate::show::page::{Page, Tone};
use crate::show::table::{self, Cell};

const EXAMPLES: &str = "Examples:
  abide config                        each value, and where it comes from
  abide config grace                  one value alone
  ABIDE_CONFIG=my.toml abide config   what another file would say";

/// Show the values of the config file, and where each comes from
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(after_help = "The file is $ABIDE_CONFIG, else $XDG_CONFIG_HOME/abide/config.toml, else \
    ~/.config/abide/config.toml; none need exist. A flag outranks the environment, the environment the file, the \
    file what is built in. Exits with 2 if something is wrong with the file: commands that act refuse it, \
    commands that only read warn and go on with what can be read of it.")]
pub(crate) struct Args {
    /// The key whose value alone is meant
    #[arg(value_name = "KEY", value_parser = PossibleValuesParser::new(Key::NAMES))]
    key: Option<String>,
}

/// What the config file says and what holds.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Config")]
pub(crate) struct ConfigView<'a> {
    /// The file that is or would be read.
    path: Option<String>,
    found: bool,
    values: Vec<ValueView>,
    /// What is wrong with the file.
    faults: Vec<FaultView<'a>>,
}

/// One value.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConfigValue")]
struct ValueView {
    #[schemars(extend("enum" = Key::NAMES))]
    key: &'static str,
    /// Null if nothing names one.
    value: Option<String>,
    /// `flag`, `env NAME`, `file PATH:LINE` or `built-in`.
    origin: String,
    doc: &'static str,
}

/// One thing that is wrong.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConfigFault")]
struct FaultView<'a> {
    line: Option<usize>,
    key: Option<&'a str>,
    message: &'a str,
    hint: &'a str,
}

impl Verb for Args {
    type Data = ConfigView<'static>;

    fn with_faults(&self) -> Faulty {
        Faulty::Explain
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let only = self.key.as_deref().and_then(Key::parse);
        let wanted = Key::ALL.iter().copied().filter(|key| only.is_none_or(|only| only == *key));
        let data = ConfigView {
            path: front.config.path().map(|path| path.display().to_string()),
            found: front.config.is_found(),
            values: wanted.map(|key| front.valued(key)).collect(),
            faults: front.config.faults().iter().map(FaultView::new).collect(),
        };
        front.output.show(&data, |page| match only {
            Some(_) => data.values.iter().for_each(|view| {
                page.plain(view.shown()).end();
            }),
            None => put(page, &data),
        })?;
        for fault in front.config.faults() {
            front.output.remark(&format!("abide: {}\nhint: {}", front.config.tell(fault), fault.hint));
        }
        Ok(if data.faults.is_empty() { 0 } else { Kind::Usage.exit_code() })
    }
}

impl Front {
    /// The value that a command would work with.
    fn valued(&self, key: Key) -> ValueView {
        let (value, origin) = match key {
            Key::Home => match self.config.home(self.home.as_deref()) {
                Ok((home, origin)) => (Some(home.display().to_string()), origin),
                Err(_) => (None, Origin::BuiltIn),
            },
            Key::Color => {
                let (colours, origin) = self.config.colours(self.color);
                (Some(colours.name().to_owned()), origin)
            }
            Key::Grace
            | Key::NotifyCommand
            | Key::NotifyWebhook
            | Key::NotifyOn
            | Key::Size
            | Key::Detach
            | Key::RecordBytes
            | Key::RecordKeep
            | Key::CheckpointEvery
            | Key::Begin
            | Key::GcOlder
            | Key::GcKeep
            | Key::GcBytes
            | Key::GcPack => (Some(self.value(key, None)), self.config.origin(key)),
        };
        ValueView { key: key.name(), value, origin: origin.to_string(), doc: key.says() }
    }
}

impl ValueView {
    fn shown(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }
}

impl<'a> FaultView<'a> {
    fn new(fault: &'a Fault) -> Self {
        Self { line: fault.line, key: fault.key.as_deref(), message: &fault.says, hint: &fault.hint }
    }
}

fn put(page: &mut Page, data: &ConfigView<'_>) {
    let path = data.path.as_deref().unwrap_or("no file: neither ABIDE_CONFIG nor HOME is set");
    let found = if data.found || data.path.is_none() { "" } else { " (not there)" };
    page.plain(path).put(Tone::Faint, found).end().end();
    let head = ["KEY", "VALUE", "ORIGIN", "MEANING"].map(Cell::faint).to_vec();
    let rows = data.values.iter().map(|view| {
        vec![
            Cell::new(Tone::Strong, view.key),
            Cell::plain(view.shown()),
            Cell::plain(&view.origin),
            Cell::faint(view.doc),
        ]
    });
    table::put_flowing(page, 0, &std::iter::once(head).chain(rows).collect::<Vec<_>>());
}
