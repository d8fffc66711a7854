//! What a session's directory keeps for each `exec`: a directory that its shell reads from and leaves signs in.

use std::io::Read;

use abide_sys::disk::{PrivateDir, Untrusted};

use super::SessionDir;

/// How the names begin of what is kept for `exec`.
const EXEC: &str = "exec-";
/// What says there that a line began.
const EXEC_BEGAN: &str = "r";
/// What says that one began that is not to tell its end any more.
const EXEC_SILENT: &str = "s";
/// What says that a line's end was told.
const EXEC_TOLD: &str = "e";
/// The number of the shell that reads it.
const EXEC_SHELL: &str = "p";
/// No number of a process is longer.
const LONGEST_NUMBER: u64 = 20;

fn exec_name(nonce: &str) -> String {
    format!("{EXEC}{nonce}")
}

impl SessionDir {
    /// Keeps what a shell reads for one `exec`. As long as what this gives is held, nobody takes it for left behind.
    pub(crate) fn add_exec(
        &self,
        nonce: &str,
        shell: u32,
        files: &[(&str, String)],
    ) -> std::io::Result<PrivateDir> {
        let (name, draft) = (exec_name(nonce), format!(".{nonce}"));
        let made = self.dir.ensure_below(&draft);
        let dir = made.map_err(|untrusted| std::io::Error::other(untrusted.says()))?;
        // Where there are no such locks, nobody clears anything.
        let _ = dir.hold();
        let shell = (EXEC_SHELL, shell.to_string());
        let mut files = files.iter().chain([&shell]);
        let kept = files.try_for_each(|(file, text)| dir.replace(file, text.as_bytes()));
        if let Err(error) = kept.and_then(|()| self.dir.publish(&draft, &name)) {
            let _ = self.dir.remove_tree(&draft);
            return Err(error);
        }
        Ok(dir)
    }

    /// Removes what nobody holds or needs any more: of lines that never began, and of those of a shell that was at its
    /// prompt since. One that runs below another still needs its own; the host clears up behind all that tell their end.
    pub(crate) fn clear_execs(&self, shell: u32) {
        let names = self.dir.names().unwrap_or_default();
        for name in names.iter().filter_map(|name| name.to_str()).filter(|name| name.starts_with(EXEC)) {
            let Ok(dir) = self.dir.open_below(name) else { continue };
            let began = [EXEC_BEGAN, EXEC_SILENT].into_iter().any(|file| dir.read(file).is_ok());
            let reader =
                dir.read(EXEC_SHELL).and_then(|file| std::io::read_to_string(file.take(LONGEST_NUMBER)));
            let is_over = !began || reader.is_ok_and(|reader| reader.parse() == Ok(shell));
            if is_over && dir.is_held() == Some(false) {
                let _ = self.dir.remove_tree(name);
            }
        }
    }

    /// Takes away what a shell reads first, without which it runs nothing.
    pub(crate) fn withdraw_exec(&self, nonce: &str) {
        let below = self.dir.open_below(&exec_name(nonce));
        let _ = below.map(|dir| dir.remove("a"));
    }

    /// Whether a line has begun to run, though it may not be on record. Of one that was told to be over nothing is left.
    pub(crate) fn has_begun_exec(&self, nonce: &str) -> bool {
        match self.dir.open_below(&exec_name(nonce)) {
            Ok(dir) => dir.read(EXEC_BEGAN).is_ok(),
            Err(why) => matches!(why, Untrusted::NotThere),
        }
    }

    /// Whether its shell has told the end of a line, though it may not be on record yet.
    pub(crate) fn has_told_exec(&self, nonce: &str) -> bool {
        self.dir.open_below(&exec_name(nonce)).is_ok_and(|dir| dir.read(EXEC_TOLD).is_ok())
    }

    /// Has a line that another one began below not tell its end: nobody could tell it from what that one writes.
    pub(crate) fn silence_exec(&self, nonce: &str) {
        let below = self.dir.open_below(&exec_name(nonce));
        let _ = below.map(|dir| dir.publish(EXEC_BEGAN, EXEC_SILENT));
    }

    /// Removes it. What is not there need not be removed.
    pub(crate) fn remove_exec(&self, nonce: &str) {
        let _ = self.dir.remove_tree(exec_name(nonce));
    }
}
