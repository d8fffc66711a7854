//! What an agent's hooks tell, and when: a script stands before abide in its settings and writes down what goes through.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use abide_agents::hooks::{What, hear, hooks};
use abide_sys::clock;

use super::run::At;
use crate::real::place::Place;

/// The name of this source.
pub(super) const HOOK: &str = "hook";

/// An agent whose hooks are overheard.
#[derive(Debug)]
pub(super) struct Hooked {
    agent: &'static str,
    log: PathBuf,
}

impl Hooked {
    /// Puts our hooks into the settings of an agent, and the script before them. None if it runs no hooks.
    pub(super) fn install(place: &Place) -> Result<Option<Self>, String> {
        let agent = place.kind.name;
        if hooks(agent).is_none() {
            return Ok(None);
        }
        let told = place.json(&["hooks", "install", agent])?;
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let (abide, settings) = (text(&told["executable"]), text(&told["agents"][0]["path"]));
        let log = place.around().join("hooks.log");
        let script = format!(
            "#!/bin/sh\nat=$(date +%s%3N)\ntold=$(cat)\nsaid=$(printf %s \"$told\" | tr '\\n' ' ')\n\
             printf '%s %s %s\\n' \"$at\" \"$3\" \"$said\" >>'{}'\nprintf %s \"$told\" | exec '{abide}' \"$@\"\n",
            log.display()
        );
        let overhears = place.around().join("abide-overheard");
        let written = write(&overhears, &script)
            .and_then(|()| fs::set_permissions(&overhears, Permissions::from_mode(0o755)))
            .and_then(|()| fs::read_to_string(&settings))
            .and_then(|before| {
                write(&PathBuf::from(&settings), &before.replace(&abide, &overhears.display().to_string()))
            });
        written.map_err(|error| format!("cannot overhear its hooks: {error}"))?;
        Ok(Some(Self { agent, log }))
    }

    /// What they have told so far, and when: ms of boot time.
    pub(super) fn told(&self) -> Result<Vec<(u64, At)>, String> {
        let now = clock::now();
        let log = fs::read_to_string(&self.log).map_err(|error| format!("no hook was run: {error}"))?;
        let said = log.lines().filter_map(|line| {
            let (at, rest) = line.split_once(' ')?;
            let (occasion, told) = rest.split_once(' ')?;
            let ago = now.wall - at.parse::<i64>().ok()?;
            let at = now.boot.checked_add_signed(-ago)?;
            Some((at, self.means(occasion, told)?))
        });
        let mut said: Vec<(u64, At)> = said.collect();
        said.sort_by_key(|(at, _)| *at);
        Ok(said)
    }

    fn means(&self, occasion: &str, told: &str) -> Option<At> {
        match hear(self.agent, occasion, told.as_bytes())?.what {
            What::TurnOpened { .. } | What::ToolEnded { .. } => Some(At::Working),
            What::Attention { .. } => Some(At::Waiting),
            What::TurnClosed { .. } => Some(At::Done),
            What::SessionBegan | What::ToolBegan { .. } | What::SessionEnded { .. } => None,
        }
    }
}

fn write(path: &PathBuf, text: &str) -> std::io::Result<()> {
    File::create(path)?.write_all(text.as_bytes())
}
