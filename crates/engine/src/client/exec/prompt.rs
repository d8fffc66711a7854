//! The shell that a line is run in: it must be in front, and wait at its prompt. What the kernel tells of how it waits is
//! compared with how it waited at a prompt that surely was one, where we may know that.

use abide_core::failure::Failure;
use abide_core::identity::Identity;
use abide_core::keys::shell::{Prompt, Shell, Waiting};
use abide_core::verdict::program_of;
use abide_sys::{clock, poll, tty};

use super::super::drive::Driver;

/// How long a shell that is not at its prompt is given to come there, and how often it is looked at.
pub(super) const SHELL_MS: u64 = 3_000;
/// The same where something else is in front that its prompt may have started.
const OTHER_MS: u64 = 1_000;
/// The same where it seems to wait for something else than a line.
const MORE_MS: u64 = 250;
const LOOK_MS: u64 = 5;
/// How long a shell is looked for whose line is over.
const AGAIN_MS: u64 = 100;
/// The link that says how a shell waits at its prompt.
const FOOTING: &str = "prompt";

/// A shell that waits at its prompt.
pub(super) struct AtPrompt {
    pub(super) shell: Shell,
    pub(super) pid: u32,
    /// This very process, if enough is known of it.
    pub(super) who: Option<Identity>,
    /// Who it is, and how it sleeps there, if we may know that.
    footing: Option<Footing>,
}

impl AtPrompt {
    /// Whether the same process has become another shell since then.
    pub(super) fn is_another_than(&self, before: &Self) -> bool {
        let image = |at: &Self| at.who.and_then(|who| who.exe);
        let whose = |at: &Self| at.footing.as_ref().map(|footing| footing.whose);
        let differ = image(self).zip(image(before)).is_some_and(|(now, then)| now != then);
        differ || whose(self).zip(whose(before)).is_some_and(|(now, then)| now != then)
    }

    /// Whether it sleeps as it did then, if the kernel tells: elsewhere it waits for something else.
    pub(super) fn sleeps_as(&self, before: &Self) -> Option<bool> {
        let (now, then) = self.footing.as_ref().zip(before.footing.as_ref())?;
        (now.whose == then.whose && now.call == then.call).then_some(now.depth == then.depth)
    }
}

/// How one process sleeps: who it is, with its birth and its image, and in which call how deep.
#[derive(PartialEq, Eq)]
struct Footing {
    whose: (u32, u64, u64),
    call: u64,
    depth: u64,
}

impl Footing {
    fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<u64> = text.split('-').map_while(|number| number.parse().ok()).collect();
        let [pid, born, top, call, depth] = numbers[..] else { return None };
        Some(Self { whose: (u32::try_from(pid).ok()?, born, top), call, depth })
    }

    fn text(&self) -> String {
        let (pid, born, top) = self.whose;
        format!("{pid}-{born}-{top}-{}-{}", self.call, self.depth)
    }
}

impl Driver<'_> {
    /// The shell that waits for a line, once it does.
    pub(super) fn await_shell(&self) -> Result<AtPrompt, Failure> {
        self.look_until(|patience| patience)
    }

    /// The shell of this number, if it waits for a line now.
    pub(super) fn at_prompt(&self, pid: u32) -> Option<AtPrompt> {
        self.look_until(|_| 0).ok().filter(|found| found.pid == pid)
    }

    /// Looks for it for as long as may be worth it, of which so much is granted.
    fn look_until(&self, granted: impl Fn(u64) -> u64) -> Result<AtPrompt, Failure> {
        // Its number may be another's where it cannot be seen.
        let program = program_of(&self.session().evidence).and_then(|program| self.truth().pid_here(program));
        let program = program.ok_or_else(|| self.no_shell("nobody can tell from here what runs there"))?;
        let began = clock::now().boot;
        loop {
            match self.look_for_shell(program) {
                Ok(found) => return Ok(found),
                Err((patience, failure)) => {
                    if clock::now().boot >= began.saturating_add(granted(patience)) {
                        return Err(failure);
                    }
                }
            }
            let _ = poll::readable(&[], Some(LOOK_MS));
        }
    }

    /// The shell that waits; else how long it may be worth waiting for one, and why there is none.
    fn look_for_shell(&self, program: u32) -> Result<AtPrompt, (u64, Failure)> {
        let front = self.truth().foreground(program);
        let alone = front.iter().filter(|one| !one.is_zombie).count() == 1;
        let Some(leader) = front.into_iter().find(|one| one.leads) else {
            return Err((OTHER_MS, self.no_shell("nobody can tell what runs there")));
        };
        let what = leader.process.command.join(" ");
        let what = if what.is_empty() { leader.process.name.clone() } else { what };
        if Shell::is_restricted(&leader.image, &leader.process.command) {
            let why = format!("`{what}` is a restricted shell, which may not read what exec gives it");
            return Err((0, self.no_shell(&why)));
        }
        let Some(shell) = Shell::of(&leader.image, &leader.process.command) else {
            // A prompt may start programs of its own.
            let first = self.truth().process(program);
            let below = first.is_some_and(|first| {
                leader.process.pid != program && Shell::of(&first.name, &first.command).is_some()
            });
            let patience = if below { OTHER_MS } else { 0 };
            return Err((patience, self.no_shell(&format!("`{what}` runs there"))));
        };
        if !leader.is_as_we_are {
            let why = format!("`{what}` is a shell of another user, who may not read what exec gives it");
            return Err((0, self.no_shell(&why)));
        }
        if leader.is_stopped {
            return Err((OTHER_MS, self.shell_stopped(&what, leader.process.pid, program)));
        }
        let terminal = self.truth().terminal(leader.process.pid);
        let waiting = Waiting {
            whole_lines: terminal.is_some_and(tty::reads_lines),
            takes_returns: terminal.is_some_and(tty::takes_returns),
            holds_signals: leader.holds_signals,
            sleeps_in: leader.sleeps.then_some(leader.place.as_str()),
            wants: leader.sleep.and_then(|sleep| sleep.wants),
        };
        // Where it sleeps tells it from one that waits for what it started; else nobody may be beside it.
        let certain = alone || !leader.place.is_empty();
        match shell.prompt(waiting) {
            Prompt::Waits if certain => {}
            Prompt::Waits | Prompt::Busy => {
                let why = format!("`{what}` is a shell, and does not wait for a line");
                return Err((SHELL_MS, self.no_shell(&why)));
            }
            Prompt::Unedited => {
                let why = format!(
                    "`{what}` reads whole lines: for its own `read`, or without its line editor, which exec needs"
                );
                return Err((SHELL_MS, self.no_shell(&why)));
            }
        }
        let pid = leader.process.pid;
        let footing = leader.sleep.map(|sleep| {
            let whose = (pid, sleep.born, sleep.top);
            Footing { whose, call: sleep.call, depth: sleep.depth }
        });
        if let (Some(known), Some(now)) = (self.known_footing(), &footing)
            && known.whose == now.whose
            && known.call == now.call
            && known.depth != now.depth
        {
            return Err((MORE_MS, self.in_the_middle(&what)));
        }
        Ok(AtPrompt { shell, pid, who: self.truth().identify(pid).ok(), footing })
    }

    /// How a shell was seen to wait at its prompt.
    fn known_footing(&self) -> Option<Footing> {
        Footing::parse(&self.dir().ok()?.link(FOOTING).ok()??)
    }

    /// Remembers how the shell waits that has just run a line, if nobody knows that yet: as it did before, for a line that it ran,
    /// and as it does again. What it was given meanwhile may have it wait for something else.
    pub(super) fn learn_footing(&self, at: &AtPrompt) {
        let Some(before) = &at.footing else { return };
        if self.known_footing().is_some_and(|known| known.whose == before.whose) {
            return;
        }
        let found = self.look_until(|patience| patience.min(AGAIN_MS)).ok().and_then(|found| found.footing);
        if let Some(footing) = found.filter(|found| found == before) {
            // Who cannot remember it knows less the next time.
            let _ = self.dir().map(|dir| dir.set_link(FOOTING, &footing.text()));
        }
    }
}
