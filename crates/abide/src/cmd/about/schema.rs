//! `abide schema`: the JSON Schemas of what is printed, derived from the very types that are printed.

use abide_core::failure::Failure;
use clap::builder::PossibleValuesParser;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::cmd::notify::NotificationView;
use crate::cmd::{Command, Faulty, Front, Verb, data_schemas};
use crate::output::{Refusal, SCHEMA};

/// What is no command's answer, and told all the same.
const NOTIFICATION: &str = "notification";

const EXAMPLES: &str = "Examples:
  abide schema           the schemas of all commands in one document
  abide schema inspect   the schema of what one command prints";

/// Print the JSON Schemas of the JSON forms
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// The command whose output is meant, or `notification` for what `abide notify` tells
    #[arg(value_name = "COMMAND", value_parser = PossibleValuesParser::new(Command::NAMES.iter().copied().chain([NOTIFICATION])))]
    name: Option<String>,
}

impl Verb for Args {
    type Data = Map<String, Value>;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let document = document(self.name.as_deref());
        front.output.show(&document, |page| page.own_lines(&format!("{document:#}")))?;
        Ok(0)
    }
}

/// Makes schemas of what is written, not of what would be read: every field that is always there is required.
pub(crate) fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}

/// One document: a definition for each command, and those that they share.
fn document(only: Option<&str>) -> Value {
    let mut made = generator();
    let failure = made.subschema_for::<Refusal<'_>>();
    let wanted = data_schemas().into_iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
    let mut commands = Map::new();
    for (name, data) in wanted {
        let answer = json!({
            "type": "object",
            "properties": {
                "schema": { "const": SCHEMA },
                "ok": { "const": true },
                "command": { "const": name },
                "data": data(&mut made),
                "warnings": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["schema", "ok", "command", "data"],
        });
        commands.insert(name.to_owned(), json!({ "oneOf": [answer, failure] }));
    }
    if only == Some(NOTIFICATION) {
        let message = json!({
            "type": "object",
            "properties": {
                "schema": { "const": SCHEMA },
                "notification": made.subschema_for::<NotificationView<'_>>(),
            },
            "required": ["schema", "notification"],
        });
        commands.insert(NOTIFICATION.to_owned(), message);
    }
    let refer = |name: &String| json!({ "$ref": format!("#/$defs/{name}") });
    let any: Vec<Value> = commands.keys().map(refer).collect();
    let mut definitions = made.take_definitions(true);
    definitions.extend(commands);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": only.map_or(SCHEMA.to_owned(), |name| format!("{SCHEMA} {name}")),
        "anyOf": any,
        "$defs": definitions,
    })
}
