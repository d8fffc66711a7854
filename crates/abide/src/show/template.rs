//! `--format`: text with placeholders such as `{{.id}}` or `{{.outcome.code}}`, over the fields of the JSON.

use abide_core::failure::{Code, Failure};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use super::safe;

/// A template whose fields all exist.
#[derive(Debug)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Text(String),
    Field(Vec<String>),
}

impl Template {
    /// Reads a template for values of the type `T`.
    ///
    /// # Errors
    /// If it is not closed, or names a field that `T` does not have.
    pub(crate) fn parse<T: JsonSchema>(text: &str, made: SchemaGenerator) -> Result<Self, Failure> {
        let schema = made.into_root_schema_for::<T>().to_value();
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("{{") {
            let (field, behind) = behind
                .split_once("}}")
                .ok_or_else(|| Failure::new(Code::Usage, "a `{{` in the format has no `}}`").hint(EXAMPLE))?;
            pieces.push(Piece::Text(unescape(before)));
            pieces.push(Piece::Field(path(field.trim(), &schema)?));
            rest = behind;
        }
        pieces.push(Piece::Text(unescape(rest)));
        Ok(Self(pieces))
    }

    /// The line that it makes of a value; null is empty.
    pub(crate) fn fill(&self, value: &impl Serialize) -> String {
        let value = serde_json::to_value(value).unwrap_or_default();
        let mut line = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => line.push_str(text),
                Piece::Field(path) => line.push_str(&safe::line(&word(look(&value, path)))),
            }
        }
        line
    }
}

const EXAMPLE: &str = "for instance --format '{{.id}} {{.status}} {{.outcome.code}}'";

fn unescape(text: &str) -> String {
    text.replace("\\t", "\t").replace("\\n", "\n")
}

fn look<'a>(value: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(value, |value, name| value.get(name).unwrap_or(&Value::Null))
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// The names of a placeholder's field, from the outermost in.
fn path(field: &str, schema: &Value) -> Result<Vec<String>, Failure> {
    let unknown = |known: &[String]| {
        let hint =
            if known.is_empty() { EXAMPLE.to_owned() } else { format!("there are: {}", known.join(" ")) };
        Failure::new(Code::Usage, format!("no field `{field}` to format")).hint(hint)
    };
    let names = field.strip_prefix('.').ok_or_else(|| unknown(&[]))?;
    let mut at = vec![schema];
    for name in names.split('.') {
        let fields: Vec<(String, &Value)> = at.iter().flat_map(|at| fields(at, schema)).collect();
        let named = fields.iter().filter(|(known, _)| known == name || known == ANY).map(|(_, at)| *at);
        let named: Vec<&Value> = named.collect();
        if named.is_empty() {
            return Err(unknown(&fields.into_iter().map(|(known, _)| known).collect::<Vec<_>>()));
        }
        at = named;
    }
    Ok(names.split('.').map(str::to_owned).collect())
}

/// Stands for the fields of a map, which can have any name.
const ANY: &str = "*";

/// The fields that values of a schema can have.
fn fields<'a>(at: &'a Value, root: &'a Value) -> Vec<(String, &'a Value)> {
    let refers = at.get("$ref").and_then(Value::as_str).and_then(|to| root.pointer(to.strip_prefix('#')?));
    let one_of = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| at.get(key)?.as_array()).flatten();
    let mut found: Vec<_> = refers.into_iter().chain(one_of).flat_map(|inner| fields(inner, root)).collect();
    let own = at.get("properties").and_then(Value::as_object).into_iter().flatten();
    found.extend(own.map(|(name, schema)| (name.clone(), schema)));
    let any = at.get("additionalProperties").filter(|schema| schema.is_object());
    found.extend(any.map(|schema| (ANY.to_owned(), schema)));
    found
}
