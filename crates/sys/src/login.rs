//! What systemd's files say of logins: who lingers, and what logind does with what a login leaves behind.
//! All paths are below a root that the caller names, `/` but for tests.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use abide_core::place::read;

/// The directories of systemd's settings, those that count more first.
const SETTINGS: [&str; 4] = ["etc/systemd", "run/systemd", "usr/local/lib/systemd", "usr/lib/systemd"];

/// The name of a user.
#[must_use]
pub fn user_name(root: &Path, uid: u32) -> Option<String> {
    read::user_name(&fs::read_to_string(root.join("etc/passwd")).ok()?, uid)
}

/// Whether what a user's manager runs outlives the last logout; none if that cannot be told.
#[must_use]
pub fn lingers(root: &Path, user: &str) -> Option<bool> {
    fs::exists(root.join("var/lib/systemd/linger").join(user)).ok()
}

/// Whether logind kills what a login of this user leaves behind; none if that cannot be told.
#[must_use]
pub fn kills_left(root: &Path, user: &str) -> Option<bool> {
    let dirs = SETTINGS.map(|dir| root.join(dir));
    let main = dirs.iter().map(|dir| dir.join("logind.conf")).find(|file| file.exists());
    // Of files with one name the first directory's counts; all that count are read in the order of their names.
    let mut added: BTreeMap<OsString, PathBuf> = BTreeMap::new();
    for dir in dirs {
        for entry in fs::read_dir(dir.join("logind.conf.d")).into_iter().flatten().flatten() {
            added.entry(entry.file_name()).or_insert_with(|| entry.path());
        }
    }
    let is_conf = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "conf");
    let files = main.into_iter().chain(added.into_values().filter(is_conf));
    let texts: Vec<String> = files.filter_map(|file| fs::read_to_string(file).ok()).collect();
    read::kills_left(&texts, user)
}
