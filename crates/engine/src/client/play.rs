//! Playing: this terminal shows a recording again, until it ends or somebody leaves it. What is shown when is `core::player`'s
//! to decide; here steps are taken, pictures painted and keys read.

use std::io;
use std::os::fd::AsFd;

use abide_core::evidence::Body;
use abide_core::evidence::frame::Found;
use abide_core::failure::{Code, Failure};
use abide_core::instant::{At, Span};
use abide_core::recording::player::{Effect, Input, Player};
use abide_core::screen::{Screen, Size};
use abide_sys::clock;
use abide_sys::poll::{self, Interest};
use abide_sys::signal::{self, Signals};
use abide_sys::tty::{self, Raw};

use super::terminal::{Terminal, own_size, typed};
use crate::facts::{self, Wanted};
use crate::recording::replay::Replay;
use crate::store::Home;
use crate::truth::{Session, Truth};

/// How to play.
#[derive(Debug, Clone, PartialEq)]
pub struct Playing {
    pub from: Option<At>,
    pub speed: f64,
    /// No pause is longer, in microseconds.
    pub idle_limit: Option<u64>,
}

/// What a picture may have set.
const END: &str = "\x1b[?2026l\x1b[r\x1b[0m\x1b]8;;\x1b\\\x1b[?7h\x1b[?25h\x1b[0 q";

/// Plays it, and gives the signal that ended that, if one did.
pub(crate) fn play(
    truth: &Truth,
    home: &Home,
    session: &Session,
    how: &Playing,
) -> Result<Option<i32>, Failure> {
    let id = &session.id;
    if !tty::is_terminal(io::stdin()) || !tty::is_terminal(io::stdout()) {
        return Err(Failure::new(Code::Usage, "playing needs a terminal")
            .about(id.as_str())
            .hint(format!("`abide export --format html -o FILE {id}` makes a page that plays it")));
    }
    let failed = |e: io::Error| Failure::io("play session", id, &e).about(id.as_str());
    let source = Recorded { truth, home, session };
    let last = source.open(Some(At::Since(u64::MAX)))?;
    let (mut replay, marks) = (source.open(how.from.clone())?, source.marks(&last));
    let signals = Signals::of(&[signal::WINCH, signal::TERM, signal::HUP, signal::INT]).map_err(failed)?;
    let now = clock::boot_micros();
    let mut played = Played {
        player: Player::new(now, last.micros(), marks, how.speed, how.idle_limit),
        terminal: Terminal::new().map_err(failed)?,
        own: own_size(),
        signals,
    };
    let raw = Raw::standard_input().map_err(failed)?;
    // What stood there goes up, and is still there when this is left.
    played.terminal.add("\r\n".repeat(usize::from(played.own.rows)).as_bytes());
    let left = played.run(&source, &mut replay);
    played.leave(replay.replay.screen());
    drop(raw);
    left
}

/// The recording that is played.
struct Recorded<'a> {
    truth: &'a Truth,
    home: &'a Home,
    session: &'a Session,
}

/// A replay that has come somewhere.
struct Come<'a> {
    replay: Replay<'a>,
    at: u64,
    until: Option<u64>,
    /// Something new is to be seen there.
    shown: bool,
    /// The player does not know yet that it came there.
    untold: bool,
}

impl<'a> Recorded<'a> {
    /// A replay that has come to an instant; to the beginning if none is given.
    fn open(&self, from: Option<At>) -> Result<Come<'a>, Failure> {
        let span = Span { from, to: None };
        let mut replay = Replay::open(self.truth, self.home, self.session, &span, false)?;
        let (at, until) = replay.next()?.map_or((0, None), |step| (step.at.micros, step.until));
        Ok(Come { replay, at, until, shown: true, untold: true })
    }

    /// When marks were set. The evidence knows, a little late each.
    fn marks(&self, come: &Come<'_>) -> Vec<u64> {
        let mut marks = Vec::new();
        let wanted = Wanted::These(vec![self.session.id.clone()]);
        // Without them there is nowhere to jump to, and nothing else is missing.
        let _ = facts::recorded(self.home, &wanted, &mut |witnessed| {
            if let Found::Fact(fact) = witnessed.found
                && let Body::Marked(_) = fact.body
            {
                marks.push(come.replay.micros(fact.at.boot.saturating_mul(1000)));
            }
            true
        });
        marks
    }
}

impl Come<'_> {
    const fn micros(&self) -> u64 {
        self.at
    }

    /// What to tell the player, once.
    const fn input(&mut self) -> Input {
        self.untold = false;
        Input::Step { at: self.at, until: self.until, shown: self.shown }
    }

    fn step(&mut self) -> Result<(), Failure> {
        self.untold = true;
        match self.replay.next()? {
            Some(step) => {
                (self.at, self.until, self.shown) = (step.at.micros, step.until, step.is_seen());
            }
            None => self.until = None,
        }
        Ok(())
    }
}

struct Played {
    player: Player,
    terminal: Terminal,
    own: Size,
    signals: Signals,
}

impl Played {
    fn run<'a>(&mut self, source: &Recorded<'a>, come: &mut Come<'a>) -> Result<Option<i32>, Failure> {
        if self.handle(come.input(), source, come)? {
            return Ok(None);
        }
        loop {
            let now = clock::boot_micros();
            let wait = self.player.wake_at().map(|at| at.saturating_sub(now).div_ceil(1000));
            let wait = if come.untold && self.terminal.has_room() { Some(0) } else { wait };
            let (stdin, stdout) = (io::stdin(), self.terminal.interest());
            let ready = poll::wait(
                &[Interest::reading(self.signals.as_fd()), Interest::reading(stdin.as_fd()), stdout],
                wait,
            );
            let mut inputs = Vec::new();
            while let Some(caught) = self.signals.next() {
                if caught.number != signal::WINCH {
                    return Ok(Some(caught.number));
                }
                self.own = own_size();
                inputs.push(Input::Resized);
            }
            if ready[1].read {
                match typed() {
                    Some(keys) => inputs.extend(keys.into_iter().map(Input::Key)),
                    None => return Ok(None),
                }
            }
            if self.terminal.write().is_err() {
                return Ok(None);
            }
            inputs.push(Input::Woke);
            for input in inputs {
                // A key counts from where the one before it led to.
                let left = match (come.untold, input) {
                    (true, Input::Woke) => self.handle(come.input(), source, come)?,
                    (true, _) => {
                        self.handle(come.input(), source, come)? || self.handle(input, source, come)?
                    }
                    (false, _) => self.handle(input, source, come)?,
                };
                if left {
                    return Ok(None);
                }
            }
        }
    }

    /// Lets the player decide, and does it. True if that is to leave.
    fn handle<'a>(
        &mut self,
        input: Input,
        source: &Recorded<'a>,
        come: &mut Come<'a>,
    ) -> Result<bool, Failure> {
        for effect in self.player.handle(clock::boot_micros(), input) {
            match effect {
                Effect::Next => come.step()?,
                Effect::Seek(micros) => {
                    *come = source.open(Some(At::Since(micros)))?;
                    self.player.sought(clock::boot_micros());
                }
                Effect::Paint => {
                    let line = self.player.says(clock::boot_micros());
                    self.paint(come.replay.screen(), line.as_deref());
                }
                Effect::Quit => return Ok(true),
            }
        }
        Ok(false)
    }

    fn paint(&mut self, screen: &Screen, line: Option<&str>) {
        self.terminal.add(&screen.picture(self.own));
        if let Some(line) = line {
            let line: String = line.chars().take(usize::from(self.own.cols)).collect();
            let row = self.own.rows;
            self.terminal.add(format!("\x1b7\x1b[{row};1H\x1b[0;7m{line}\x1b[0m\x1b8").as_bytes());
        }
    }
}

impl Played {
    /// Gives the terminal back, with the last picture and the cursor below it.
    fn leave(&mut self, screen: &Screen) {
        self.paint(screen, None);
        let view = screen.view();
        let rows = self.own.rows.min(view.size().rows);
        let used = (0..rows).rev().find(|row| !view.row_text(*row).is_empty()).map_or(1, |row| row + 1);
        self.terminal.add(format!("{END}\x1b[{used};1H\r\n").as_bytes());
        self.terminal.drain();
    }
}
