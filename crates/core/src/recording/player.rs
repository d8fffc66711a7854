//! Player: a recording shown again in a terminal: when what is shown, and what keys do about it. Decides only; whoever loops
//! takes the steps, paints and waits. Times are microseconds; now is an argument, of any clock that only goes on.

use crate::keys::{self, Sent, Stroke};

/// Nobody sees more pictures than this far apart.
const PAINT_US: u64 = 33_000;
/// How long the line with time and speed stays after a key.
const TOLD_US: u64 = 2_000_000;
/// How far the arrow keys go.
const JUMP_US: u64 = 5_000_000;
/// Going back within this of a mark means the one before it.
const NEAR_US: u64 = 1_000_000;
/// What speeds there are.
pub const SLOWEST: f64 = 1.0 / 16.0;
pub const FASTEST: f64 = 256.0;

/// What happens to a player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The replay has come here, and goes on at that time of the recording; none behind the last entry. Whether there is
    /// anything new to be seen.
    Step {
        at: u64,
        until: Option<u64>,
        shown: bool,
    },
    Key(Key),
    /// It is later.
    Woke,
    /// The terminal has another size.
    Resized,
}

/// What can be asked of a player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Pause,
    Forward,
    Back,
    Faster,
    Slower,
    /// The next entry, and wait there.
    Single,
    NextMark,
    LastMark,
    Start,
    End,
    Quit,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Take the next step.
    Next,
    /// Begin again at this time of the recording.
    Seek(u64),
    /// Paint the screen, and the line below if there is one.
    Paint,
    Quit,
}

/// Shows a recording again.
#[derive(Debug, Clone)]
pub struct Player {
    speed: f64,
    idle_limit: Option<u64>,
    /// The times of the marks, in order.
    marks: Vec<u64>,
    end: u64,
    /// Where the replay is, and when it goes on.
    at: u64,
    until: Option<u64>,
    /// When something new was to be seen last, in the recording.
    shown: u64,
    going: Going,
    painted: u64,
    told_until: u64,
    stale: bool,
}

/// Whether time passes in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Going {
    /// What is shown was due then.
    On { since: u64 },
    /// So much of the time up to the next entry has passed.
    Paused { passed: u64 },
}

impl Player {
    /// A player of a recording that is so long and has marks at these times.
    #[must_use]
    pub fn new(now: u64, end: u64, marks: Vec<u64>, speed: f64, idle_limit: Option<u64>) -> Self {
        let speed = speed.clamp(SLOWEST, FASTEST);
        let going = Going::On { since: now };
        Self {
            speed,
            idle_limit,
            marks,
            end,
            at: 0,
            until: None,
            shown: 0,
            going,
            painted: 0,
            told_until: 0,
            stale: true,
        }
    }

    /// What to do now that this happened.
    #[must_use = "effects are orders"]
    pub fn handle(&mut self, now: u64, input: Input) -> Vec<Effect> {
        match input {
            Input::Step { at, until, shown } => {
                let due = self.due();
                self.shown = if shown { at } else { self.shown };
                self.step(now, due, (at, until))
            }
            Input::Key(key) => self.key(now, key),
            Input::Woke => self.go_on(now),
            Input::Resized => {
                self.stale = true;
                self.paint(now)
            }
        }
    }

    /// When to come back; none if nothing happens by itself.
    #[must_use]
    pub fn wake_at(&self) -> Option<u64> {
        let told = Some(self.told_until).filter(|told| *told > 0);
        let painted = self.stale.then_some(self.painted + PAINT_US);
        [self.due(), told, painted].into_iter().flatten().min()
    }

    /// The line for whoever pressed a key, or waits: where it is, how fast it goes.
    #[must_use]
    pub fn says(&self, now: u64) -> Option<String> {
        let paused = matches!(self.going, Going::Paused { .. });
        if !paused && now >= self.told_until {
            return None;
        }
        let sign = if paused { "paused" } else { "playing" };
        let speed = factor(self.speed);
        Some(format!(
            " {sign} {} / {}  {speed}x   space pause  left/right 5s  +/- speed  [ ] marks  . step  q quit ",
            clock(self.position(now)),
            clock(self.end)
        ))
    }

    /// The replay has come to what was due then.
    fn step(&mut self, now: u64, due: Option<u64>, (at, until): (u64, Option<u64>)) -> Vec<Effect> {
        (self.at, self.until, self.stale) = (at, until, true);
        self.going = match self.going {
            // What was due a little earlier shifts nothing; what is far behind is not caught up with.
            Going::On { .. } => Going::On { since: due.filter(|due| due + JUMP_US > now).unwrap_or(now) },
            Going::Paused { .. } => Going::Paused { passed: 0 },
        };
        self.go_on(now)
    }

    /// Goes on if it is time to, and paints what stays.
    fn go_on(&mut self, now: u64) -> Vec<Effect> {
        if self.told_until > 0 && now >= self.told_until {
            self.told_until = 0;
            self.stale = true;
        }
        let on = matches!(self.going, Going::On { .. });
        let mut effects = Vec::new();
        let over = on && self.until.is_none();
        let next = on && self.due().is_some_and(|due| due <= now);
        if self.stale && (!next || now >= self.painted + PAINT_US) {
            effects.extend(self.paint(now));
        }
        if over {
            effects.push(Effect::Quit);
        } else if next {
            effects.push(Effect::Next);
        }
        effects
    }

    fn paint(&mut self, now: u64) -> Vec<Effect> {
        (self.stale, self.painted) = (false, now);
        vec![Effect::Paint]
    }

    fn key(&mut self, now: u64, key: Key) -> Vec<Effect> {
        self.told_until = now + TOLD_US;
        // Whatever it does, it is painted by this, or once the replay has come there.
        self.stale = false;
        let here = self.position(now);
        let seek = |to: u64| vec![Effect::Seek(to)];
        match key {
            Key::Quit => return vec![Effect::Quit],
            Key::Pause if self.is_paused() && self.until.is_none() => {
                // At the end it begins again.
                self.going = Going::On { since: now };
                return seek(0);
            }
            Key::Pause => {
                self.going = match self.going {
                    Going::On { .. } => Going::Paused { passed: here - self.at.min(here) },
                    Going::Paused { passed } => Going::On { since: now.saturating_sub(self.wall(passed)) },
                };
            }
            Key::Faster | Key::Slower => {
                let passed = here.saturating_sub(self.at);
                let factor = if key == Key::Faster { 2.0 } else { 0.5 };
                self.speed = (self.speed * factor).clamp(SLOWEST, FASTEST);
                if let Going::On { since } = &mut self.going {
                    *since = now.saturating_sub((passed as f64 / self.speed) as u64);
                }
            }
            Key::Single => {
                self.going = Going::Paused { passed: 0 };
                return if self.until.is_some() { vec![Effect::Next] } else { self.paint(now) };
            }
            Key::Forward => return seek(here.saturating_add(JUMP_US).min(self.end)),
            Key::Back => return seek(here.saturating_sub(JUMP_US)),
            Key::Start => return seek(0),
            Key::End => {
                self.going = Going::Paused { passed: 0 };
                return seek(self.end);
            }
            Key::NextMark => {
                if let Some(mark) = self.marks.iter().find(|mark| **mark > here) {
                    return seek(*mark);
                }
            }
            Key::LastMark => {
                let before = here.saturating_sub(NEAR_US);
                let mark = self.marks.iter().rev().find(|mark| **mark < before);
                return seek(mark.copied().unwrap_or(0));
            }
        }
        self.paint(now)
    }

    /// The replay begins again somewhere else: what was due is not.
    pub fn sought(&mut self, now: u64) {
        self.until = None;
        if let Going::On { since } = &mut self.going {
            *since = now;
        }
    }

    const fn is_paused(&self) -> bool {
        matches!(self.going, Going::Paused { .. })
    }

    /// How long it takes to show so much of the recording.
    fn wall(&self, recorded: u64) -> u64 {
        (recorded as f64 / self.speed) as u64
    }

    /// When the next entry is due.
    fn due(&self) -> Option<u64> {
        let Going::On { since } = self.going else { return None };
        // Idle is the time in which nothing new is to be seen, whatever else happened in it.
        let idle = |at: u64| at.saturating_sub(self.shown).min(self.idle_limit.unwrap_or(u64::MAX));
        let pause = idle(self.until?).saturating_sub(idle(self.at));
        Some(since.saturating_add(self.wall(pause)))
    }

    /// Where in the recording it is.
    fn position(&self, now: u64) -> u64 {
        let passed = match self.going {
            Going::On { since } => (now.saturating_sub(since) as f64 * self.speed) as u64,
            Going::Paused { passed } => passed,
        };
        self.at.saturating_add(passed).min(self.until.unwrap_or(self.at))
    }
}

/// What keys mean, and how many bytes were no whole key yet.
#[must_use]
pub fn keys(mut bytes: &[u8]) -> Vec<Key> {
    let mut found = Vec::new();
    while let Some((sent, length)) = keys::first(bytes).filter(|_| !bytes.is_empty()) {
        let (sequence, rest) = bytes.split_at(length.clamp(1, bytes.len()));
        found.extend(match sent {
            Sent::Key(stroke) => meaning(stroke),
            Sent::Other => arrow(sequence),
            Sent::Aside | Sent::PasteBegins | Sent::PasteEnds => None,
        });
        bytes = rest;
    }
    found
}

const fn meaning(stroke: Stroke) -> Option<Key> {
    match stroke {
        Stroke { ctrl: true, ch: 'c' | 'd', .. } => Some(Key::Quit),
        Stroke { ctrl: false, alt: false, ch, .. } => match ch {
            ' ' | 'p' => Some(Key::Pause),
            'q' => Some(Key::Quit),
            '+' | '=' | '>' => Some(Key::Faster),
            '-' | '<' => Some(Key::Slower),
            '.' => Some(Key::Single),
            ']' => Some(Key::NextMark),
            '[' => Some(Key::LastMark),
            'l' => Some(Key::Forward),
            'h' => Some(Key::Back),
            'g' | '0' => Some(Key::Start),
            'G' | '$' => Some(Key::End),
            _ => None,
        },
        Stroke { .. } => None,
    }
}

fn arrow(sequence: &[u8]) -> Option<Key> {
    match sequence {
        [0x1b, b'[' | b'O', .., b'C'] => Some(Key::Forward),
        [0x1b, b'[' | b'O', .., b'D'] => Some(Key::Back),
        [0x1b, b'[' | b'O', .., b'A'] => Some(Key::Faster),
        [0x1b, b'[' | b'O', .., b'B'] => Some(Key::Slower),
        [0x1b, b'[' | b'O', .., b'H'] | b"\x1b[1~" => Some(Key::Start),
        [0x1b, b'[' | b'O', .., b'F'] | b"\x1b[4~" => Some(Key::End),
        _ => None,
    }
}

/// A speed as people say it.
fn factor(speed: f64) -> String {
    let slower = (1.0 / speed).round();
    if speed < 1.0 && (slower * speed - 1.0).abs() < 1e-9 {
        return format!("1/{slower}");
    }
    format!("{speed:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Minutes and seconds.
fn clock(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000;

    fn player(speed: f64, idle_limit: Option<u64>) -> Player {
        Player::new(0, 60 * S, vec![10 * S, 30 * S], speed, idle_limit)
    }

    fn step(at: u64, until: u64) -> Input {
        Input::Step { at, until: Some(until), shown: true }
    }

    #[test]
    fn what_came_later_is_shown_later_by_the_speed_and_no_pause_is_too_long() {
        for (speed, limit, due) in
            [(1.0, None, 8 * S), (2.0, None, 4 * S), (1.0, Some(S), S), (0.5, None, 16 * S)]
        {
            let mut player = player(speed, limit);
            assert_eq!(player.handle(0, step(2 * S, 10 * S)), [Effect::Paint]);
            assert_eq!(player.wake_at(), Some(due), "{speed} {limit:?}");
            assert_eq!(player.handle(due - 1, Input::Woke), []);
            assert_eq!(player.handle(due, Input::Woke), [Effect::Next]);
        }
    }

    #[test]
    fn a_pause_in_which_somebody_types_is_no_longer_than_any_other() {
        let mut player = player(1.0, Some(S));
        let unseen = |at, until| Input::Step { at, until: Some(until), shown: false };
        let _ = player.handle(0, step(2 * S, 2 * S + 400_000));
        assert_eq!(player.wake_at(), Some(400_000));
        let _ = player.handle(400_000, unseen(2 * S + 400_000, 9 * S));
        assert_eq!(player.wake_at(), Some(S), "what is left of it");
        assert!(player.handle(S, unseen(9 * S, 20 * S)).contains(&Effect::Next), "nothing is");
        let _ = player.handle(S, step(20 * S, 30 * S));
        assert_eq!(player.wake_at(), Some(2 * S));
    }

    #[test]
    fn being_late_shifts_nothing_and_a_flood_is_painted_now_and_then() {
        let mut player = player(1.0, None);
        let _ = player.handle(0, step(0, S));
        // Woken late: the entry after is due as if it had been in time.
        assert_eq!(player.handle(S + 500, Input::Woke), [Effect::Next]);
        assert_eq!(player.handle(S + 500, step(S, 2 * S)), [Effect::Paint]);
        assert_eq!(player.wake_at(), Some(2 * S));
        let mut paints = 0;
        for n in 1..1_000 {
            let now = 2 * S + n * 100;
            let effects = player.handle(now, step(2 * S + n, 2 * S + n + 1));
            assert!(effects.contains(&Effect::Next));
            paints += usize::from(effects.contains(&Effect::Paint));
        }
        assert!((2..=5).contains(&paints), "{paints}");
    }

    #[test]
    fn it_ends_at_the_end_without_keys() {
        let mut player = player(1.0, None);
        assert_eq!(
            player.handle(0, Input::Step { at: S, until: None, shown: true }),
            [Effect::Paint, Effect::Quit]
        );
    }

    #[test]
    fn a_pause_keeps_its_place_until_it_is_over() {
        let mut player = player(1.0, None);
        let _ = player.handle(0, step(0, 10 * S));
        assert_eq!(player.handle(4 * S, Input::Key(Key::Pause)), [Effect::Paint]);
        assert!(player.says(5 * S).is_some_and(|line| line.contains("paused 0:04 / 1:00")));
        assert_eq!(player.handle(50 * S, Input::Woke), [Effect::Paint]);
        assert_eq!(player.handle(60 * S, Input::Key(Key::Pause)), [Effect::Paint]);
        assert_eq!(
            player.handle(66 * S, Input::Woke),
            [Effect::Paint, Effect::Next],
            "six seconds were left"
        );
        let _ = player.handle(66 * S, Input::Key(Key::Single));
        assert_eq!(player.handle(66 * S, step(10 * S, 11 * S)), [Effect::Paint], "one entry, and it waits");
    }

    #[test]
    fn keys_go_back_and_forth_to_marks_and_to_the_ends() {
        let mut player = player(1.0, None);
        let _ = player.handle(0, step(12 * S, 40 * S));
        let now = 3 * S;
        for (key, to) in [
            (Key::Forward, 20 * S),
            (Key::Back, 10 * S),
            (Key::NextMark, 30 * S),
            (Key::LastMark, 10 * S),
            (Key::Start, 0),
            (Key::End, 60 * S),
        ] {
            assert_eq!(player.clone().handle(now, Input::Key(key)), [Effect::Seek(to)], "{key:?}");
        }
        let _ = player.handle(now, Input::Key(Key::End));
        player.sought(now);
        assert_eq!(
            player.handle(now, Input::Step { at: 60 * S, until: None, shown: true }),
            [Effect::Paint],
            "it waits there"
        );
        assert_eq!(player.handle(now, Input::Key(Key::Quit)), [Effect::Quit]);
    }

    #[test]
    fn another_speed_keeps_the_place() {
        let mut player = player(1.0, None);
        let _ = player.handle(0, step(0, 10 * S));
        let _ = player.handle(4 * S, Input::Key(Key::Faster));
        assert!(player.says(4 * S).is_some_and(|line| line.contains("0:04 / 1:00  2x")));
        assert_eq!(player.handle(7 * S, Input::Woke), [Effect::Paint, Effect::Next], "six seconds in three");
        let _ = player.handle(7 * S, Input::Key(Key::Slower));
        let _ = player.handle(7 * S, Input::Key(Key::Slower));
        assert!(player.says(7 * S).is_some_and(|line| line.contains("1/2x")));
    }

    #[test]
    fn a_speed_is_said_as_people_say_it() {
        for (speed, said) in [
            (0.5, "1/2"),
            (0.3, "0.3"),
            (1.0 / 16.0, "1/16"),
            (1.0, "1"),
            (1.1, "1.1"),
            (256.0, "256"),
            (2.0 / 3.0, "0.667"),
        ] {
            assert_eq!(factor(speed), said);
        }
    }

    #[test]
    fn keys_are_known_in_each_of_their_forms() {
        assert_eq!(
            keys(b" \x1b[C\x1bOD\x1b[A+q\x03\x1b[1;2Cx\x1b[<0;1;1M"),
            [
                Key::Pause,
                Key::Forward,
                Key::Back,
                Key::Faster,
                Key::Faster,
                Key::Quit,
                Key::Quit,
                Key::Forward
            ]
        );
        assert_eq!(keys(b""), []);
    }
}
