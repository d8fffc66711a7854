//! The keys of the config file. One declaration yields the enum, the list, the forms, the built-in values and the
//! words for people, so that reading, `abide config`, help and manual cannot drift apart.
//! Nothing here may end a `wait` early: only an explicit `--cap` does.

use super::form::Form;

macro_rules! keys {
    ($($key:ident $name:literal $form:ident $built_in:literal $says:literal,)+) => {
        /// A value that the config file can set.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Key { $(#[doc = $says] $key,)+ }

        impl Key {
            /// Every key, in the order of the table.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$key,)+];
            /// Their names, in the same order.
            pub(crate) const NAMES: &'static [&'static str] = &[$($name,)+];

            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$key => $name,)+ }
            }

            pub(crate) const fn form(self) -> Form {
                match self { $(Self::$key => Form::$form,)+ }
            }

            /// What holds where nothing else is said.
            pub(crate) const fn built_in(self) -> &'static str {
                match self { $(Self::$key => $built_in,)+ }
            }

            /// What it is for, for people.
            pub(crate) const fn says(self) -> &'static str {
                match self { $(Self::$key => $says,)+ }
            }
        }
    };
}

keys! {
    Home      "home"         Directory "~/.local/state/abide" "where the sessions are",
    Grace     "grace"        Duration  "10s"     "the patience of `stop`, `rm --force` and `run --timeout` at each step",
    Size      "size"         Size      "80x24"   "the size of a session's terminal while none is attached",
    Detach    "detach_key"   Key       "ctrl-\\" "what detaches: a key that is typed twice within a second, or keys in turn",
    Color     "color"        Colours   "auto"    "when text has colours",
    RecordBytes "recording.max_bytes" Bytes "none" "how much room a recording takes at most; what is shown goes on",
    RecordKeep "recording.keep" End "first" "what is kept of a recording that is longer: what came first, or last",
    CheckpointEvery "checkpoint.every" Age "30s" "how often transcripts and named files of new sessions are saved while a turn is open",
    Begin     "agents.begin" Answer    "no"      "whether `run` chooses the conversation that an agent begins",
    GcOlder   "gc.older"     Age       "7d"      "`gc` without a limit removes what ended longer ago than this",
    GcKeep    "gc.keep"      Count     "none"    "`gc` without a limit keeps the latest so many",
    GcBytes   "gc.max_bytes" Bytes     "none"    "`gc` without a limit keeps no more than this",
    GcPack    "gc.pack"      Age       "1d"      "`gc` without a limit packs recordings of what ended longer ago than this",
    NotifyCommand "notify.command" Command "none" "what is run, without a shell, to be told of sessions",
    NotifyWebhook "notify.webhook" Address "none" "where what there is to tell of sessions is posted to",
    NotifyOn  "notify.on"    Matters   "attention,turn,end" "of what sessions tell",
}

impl Key {
    /// The key of this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|key| key.name() == name)
    }

    /// The help of a flag whose value is this key's where it is not given.
    pub(crate) fn help(self, says: &str) -> String {
        format!("{says} [default: {}, or `{}` of the config file]", self.built_in(), self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_has_the_form_of_its_key() {
        for key in Key::ALL {
            assert!(key.form().allows(key.built_in()), "{key:?}");
            assert_eq!(Key::parse(key.name()), Some(*key));
        }
    }

    #[test]
    fn no_key_can_cap_a_wait() {
        for key in Key::ALL {
            let words: Vec<&str> = key.name().split(['.', '_']).chain(key.says().split(' ')).collect();
            assert!(!words.iter().any(|word| ["cap", "wait", "`wait`", "timeout"].contains(word)), "{key:?}");
        }
    }
}
