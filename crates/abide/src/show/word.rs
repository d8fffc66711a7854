//! The words of the core in JSON: each is printed by its name, and its schema lists all names.

use std::borrow::Cow;

use abide_core::evidence::{Cause, Observer};
use abide_core::failure::Code;
use abide_core::status::{Column, Status};
use abide_core::verdict::Rule;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

macro_rules! words {
    ($($(#[$doc:meta])* $twin:ident($word:ty) $title:literal $all:expr;)+) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) struct $twin(pub(crate) $word);

        impl Serialize for $twin {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.0.name())
            }
        }

        impl JsonSchema for $twin {
            fn schema_name() -> Cow<'static, str> {
                $title.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let names: Vec<&str> = $all;
                json_schema!({ "type": "string", "enum": names })
            }
        })+
    };
}

words! {
    /// Where a session stands.
    StatusName(Status) "Status" Status::ALL.iter().map(|status| status.name()).collect();
    /// The rule that decided.
    RuleName(Rule) "Rule" Rule::ALL.iter().map(|rule| rule.name()).collect();
    /// What went wrong.
    CodeName(Code) "Code" {
        let refusals = Column::ALL.iter().map(|column| Code::Column(*column).name());
        Code::ALL.iter().map(|code| code.name()).chain(refusals).collect()
    };
}

/// So many of a thing: `1 session`, `2 sessions`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// Who observed an outcome.
pub(crate) const fn observer(by: Observer) -> &'static str {
    match by {
        Observer::Guard => "guard",
        Observer::Host => "host",
        Observer::Pidfd => "pidfd",
        Observer::Procfs => "procfs",
        Observer::Sealed => "sealed",
        Observer::Other => "other",
    }
}

/// Why a program ended.
pub(crate) const fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Asked => "asked",
        Cause::Oom => "oom",
        Cause::Timeout => "timeout",
        Cause::Reboot => "reboot",
        Cause::HelpersDied => "helpers_died",
        Cause::LaunchBroke => "launch_broke",
        Cause::NotOurs => "not_ours",
        Cause::Other => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observers_and_causes_have_the_words_of_the_evidence() {
        for by in [Observer::Guard, Observer::Host, Observer::Pidfd, Observer::Procfs, Observer::Sealed] {
            assert_eq!(serde_json::to_value(by).unwrap(), observer(by));
        }
        for why in [Cause::Asked, Cause::Oom, Cause::Timeout, Cause::Reboot, Cause::HelpersDied] {
            assert_eq!(serde_json::to_value(why).unwrap(), cause(why));
        }
        for why in [Cause::LaunchBroke, Cause::NotOurs, Cause::Other] {
            assert_eq!(serde_json::to_value(why).unwrap(), cause(why));
        }
    }
}
