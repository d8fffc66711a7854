//! Whether JSON fits a JSON Schema. It knows the words that our schemas use, and takes no other: what it cannot judge
//! fails, and is never passed over.

use serde_json::{Map, Value};

/// A schema, with what its references lead to.
#[derive(Debug)]
pub struct Schema {
    whole: Value,
    /// No object may have a field that its schema does not name.
    strict: bool,
}

type Fits = Result<(), String>;

impl Schema {
    /// Of this text.
    ///
    /// # Panics
    /// If it is no JSON.
    #[must_use]
    pub fn read(text: &str, strict: bool) -> Self {
        Self { whole: serde_json::from_str(text).expect("a schema is JSON"), strict }
    }

    /// Whether a value fits.
    ///
    /// # Errors
    /// Where it does not, and why.
    pub fn check(&self, value: &Value) -> Fits {
        self.fits(&self.whole, value, "")
    }

    fn fits(&self, schema: &Value, value: &Value, at: &str) -> Fits {
        let Value::Object(words) = schema else {
            return if schema == true { Ok(()) } else { Err(format!("{at}: nothing may stand here")) };
        };
        for (word, says) in words {
            let fits = match word.as_str() {
                "$ref" => self.fits(self.referred(says), value, at),
                "anyOf" => self.of_many(says, value, at, |fitting| fitting > 0),
                "oneOf" => self.of_many(says, value, at, |fitting| fitting == 1),
                "properties" | "additionalProperties" => self.fields(words, value, at),
                "items" => self.items(says, value, at),
                "type" | "const" | "enum" | "format" | "minimum" | "maximum" | "minItems" | "maxItems"
                | "required" => {
                    if holds(word, says, value) {
                        Ok(())
                    } else {
                        Err(format!("{at}: not {word} {says}: {value}"))
                    }
                }
                // These say nothing of the value.
                "$defs" | "$schema" | "title" | "description" | "contentEncoding" => Ok(()),
                _ => Err(format!("{at}: who checks {word:?}?")),
            };
            fits?;
        }
        Ok(())
    }

    fn referred(&self, to: &Value) -> &Value {
        let found = to.as_str().and_then(|to| self.whole.pointer(to.strip_prefix('#')?));
        found.unwrap_or(&Value::Bool(false))
    }

    fn of_many(&self, schemas: &Value, value: &Value, at: &str, enough: impl Fn(usize) -> bool) -> Fits {
        let all = schemas.as_array().into_iter().flatten();
        let unfit: Vec<Fits> = all.map(|schema| self.fits(schema, value, at)).collect();
        let fitting = unfit.iter().filter(|fits| fits.is_ok()).count();
        let whys =
            || unfit.iter().filter_map(|fits| fits.as_ref().err()).cloned().collect::<Vec<_>>().join("; ");
        if enough(fitting) {
            Ok(())
        } else {
            Err(format!("{at}: fits {fitting} of {}: {}", unfit.len(), whys()))
        }
    }

    fn fields(&self, words: &Map<String, Value>, value: &Value, at: &str) -> Fits {
        let (named, others) = (words.get("properties"), words.get("additionalProperties"));
        let others = others.unwrap_or(&Value::Bool(!self.strict)).clone();
        for (name, field) in value.as_object().into_iter().flatten() {
            let schema = named.and_then(|named| named.get(name)).unwrap_or(&others);
            self.fits(schema, field, &format!("{at}/{name}"))?;
        }
        Ok(())
    }

    fn items(&self, schema: &Value, value: &Value, at: &str) -> Fits {
        let mut items = value.as_array().into_iter().flatten().enumerate();
        items.try_for_each(|(number, item)| self.fits(schema, item, &format!("{at}/{number}")))
    }
}

/// Whether a value is as one word wants it that needs no other.
fn holds(word: &str, says: &Value, value: &Value) -> bool {
    let length = || value.as_array().map(|items| items.len() as u64);
    match word {
        "type" => match says.as_array() {
            Some(many) => many.iter().any(|one| holds(word, one, value)),
            None => says.as_str().is_some_and(|kind| is_of(kind, value)),
        },
        "const" => says == value,
        "enum" => says.as_array().is_some_and(|all| all.contains(value)),
        "format" => says.as_str().is_some_and(|format| value.is_null() || is_formed(format, value)),
        "minimum" => value.as_f64().zip(says.as_f64()).is_none_or(|(value, least)| value >= least),
        "maximum" => value.as_f64().zip(says.as_f64()).is_none_or(|(value, most)| value <= most),
        "minItems" => length().zip(says.as_u64()).is_none_or(|(length, least)| length >= least),
        "maxItems" => length().zip(says.as_u64()).is_none_or(|(length, most)| length <= most),
        _ => says.as_array().is_some_and(|names| {
            let has = |name: &Value| name.as_str().is_some_and(|name| value.get(name).is_some());
            !value.is_object() || names.iter().all(has)
        }),
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => false,
    }
}

/// Whether a value is in the range of an integer, or a time as `2026-01-31T23:59:59.000Z`.
fn is_formed(format: &str, value: &Value) -> bool {
    let within = |most: u64| value.as_u64().is_some_and(|value| value <= most);
    match format {
        "uint8" => within(u8::MAX.into()),
        "uint16" => within(u16::MAX.into()),
        "uint32" => within(u32::MAX.into()),
        "uint" | "uint64" => within(u64::MAX),
        "int32" => value.as_i64().is_some_and(|value| i32::try_from(value).is_ok()),
        "int64" => value.is_i64(),
        "date-time" => value.as_str().is_some_and(is_time),
        _ => false,
    }
}

fn is_time(text: &str) -> bool {
    let shape: String =
        text.chars().map(|one| if one.is_ascii_digit() { '0' } else { one }).collect::<String>();
    let (seconds, rest) = shape.split_at_checked("0000-00-00T00:00:00".len()).unwrap_or_default();
    let fraction = rest.strip_prefix('.').map_or(rest, |digits| digits.trim_start_matches('0'));
    seconds == "0000-00-00T00:00:00" && fraction == "Z"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_does_not_fit_is_found_whatever_is_wrong_with_it() {
        let fields = json!({"n": {"type": ["integer", "null"], "format": "uint8", "minimum": 1, "maximum": 9},
            "list": {"type": "array", "items": {"$ref": "#/$defs/Word"}, "minItems": 1, "maxItems": 2},
            "one": {"oneOf": [{"const": 1}, {"type": "integer"}]}, "any": {"anyOf": [{"type": "null"}, {"type": "boolean"}]},
            "at": {"type": "string", "format": "date-time"}, "map": {"type": "object", "additionalProperties": {"type": "string"}}});
        let whole = json!({"type": "object", "properties": fields, "required": ["n"], "$defs": {"Word": {"enum": ["a", "b"]}}});
        let check = |strict, value: Value| Schema { whole: whole.clone(), strict }.check(&value).is_ok();
        let fit = [
            json!({"n": 9}),
            json!({"n": null, "one": 2, "any": null, "list": ["a", "b"]}),
            json!({"n": 1, "at": "2026-01-31T23:59:59.123Z"}),
        ];
        fit.into_iter().for_each(|fit| assert!(check(true, fit.clone()), "{fit}"));
        let unfit = [
            json!([]),
            json!({}),
            json!({"n": 0}),
            json!({"n": 10}),
            json!({"n": 1.5}),
            json!({"n": -1}),
            json!({"n": "1"}),
            json!({"n": 1, "list": []}),
            json!({"n": 1, "list": ["a", "a", "a"]}),
            json!({"n": 1, "list": ["c"]}),
            json!({"n": 1, "one": 1}),
            json!({"n": 1, "any": 1}),
            json!({"n": 1, "map": {"a": 1}}),
            json!({"n": 1, "at": "2026-01-31 23:59:59Z"}),
        ];
        unfit.into_iter().for_each(|unfit| assert!(!check(false, unfit.clone()), "{unfit}"));
        assert!(check(false, json!({"n": 1, "more": 1})) && !check(true, json!({"n": 1, "more": 1})));
    }

    #[test]
    fn what_cannot_be_judged_does_not_fit() {
        for schema in [
            r#"{"pattern":"a"}"#,
            r#"{"type":"word"}"#,
            r#"{"format":"uri"}"#,
            r##"{"$ref":"#/$defs/None"}"##,
        ] {
            assert!(Schema::read(schema, false).check(&json!("a")).is_err(), "{schema}");
        }
    }
}
