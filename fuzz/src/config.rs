//! Any text as the config file: what is written in it has the form that its key wants, and what is wrong with it is told
//! with its line. Compiled into the binary's tests and into the fuzz target, each beside `config` itself.

use std::path::PathBuf;

use crate::config::Config;
use crate::config::key::Key;

/// Any input.
pub(crate) fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let config = Config::of(PathBuf::from("config.toml"), &text);
    let lines = text.split('\n').count();
    for fault in config.faults() {
        assert!(fault.line.is_none_or(|line| (1..=lines).contains(&line)), "{fault:?}");
        assert!(!config.tell(fault).is_empty() && !fault.hint.is_empty(), "{fault:?}");
    }
    for key in Key::ALL {
        let value = config.text(*key);
        assert!(value == key.built_in() || key.form().allows(value), "{} = {value}", key.name());
    }
    let _ = (config.failure(), config.colours(None));
}
