//! A recording without what looks like a secret, whatever is made of it: the steps are held until a line is over, so that of a
//! token that came letter by letter not the first one is shown, also where a span begins or ends within it. The screens that
//! follow are made of what is left.

use std::io::{self, Write};

use abide_core::instant::Instant;
use abide_core::passage::Passage;
use abide_core::recording::redact::stream::{Redactor, Side};
use abide_core::recording::redact::{self, secrets, starred};
use abide_core::recording::veil::Tag;
use abide_core::recording::{Entry, Kind, parse_resize, typed};
use abide_core::screen::Screen;
use abide_engine::{Gap, Step, What};

use super::{Characters, Ending, Export};

/// So much of what comes behind a span is looked at for the rest of what began in it.
const BEHIND: usize = 1 << 20;

/// Makes something of what may be seen.
pub(crate) struct Redacted {
    made: Box<dyn Export>,
    redactor: Redactor<Held>,
    passage: Passage,
    typed: Characters,
    /// As it is with what may be seen; none before the beginning.
    screen: Option<Screen>,
    /// Where the recording is.
    at: Instant,
    /// How much came behind the span.
    behind: usize,
}

/// A step whose text waits with the redactor.
#[derive(Debug)]
struct Held {
    at: Instant,
    until: Option<u64>,
    what: HeldWhat,
}

#[derive(Debug)]
enum HeldWhat {
    /// A screen that is there at once, but for what turns out to be secret: with what is missing before it where the span
    /// begins, else behind what was let go.
    Screen(Box<Screen>, Option<Vec<Gap>>),
    Entry {
        kind: Kind,
        number: u32,
        time: u64,
        position: u64,
        /// What stands before the text.
        head: Vec<u8>,
    },
    /// An entry that has no text.
    Bytes {
        kind: Kind,
        number: u32,
        time: u64,
        position: u64,
        payload: Vec<u8>,
    },
    Gap(Gap),
    LetGo,
    CaughtUp,
    /// Nothing of it is shown.
    Behind,
}

impl Redacted {
    pub(crate) fn new(made: Box<dyn Export>) -> Self {
        let (passage, typed) = (Passage::default(), Characters::default());
        let (redactor, at) = (Redactor::default(), Instant::default());
        Self { made, redactor, passage, typed, screen: None, at, behind: 0 }
    }

    /// Begins with a screen that is there at once: where the span does, or behind what was let go.
    fn begin(&mut self, step: &Step<'_>, gaps: Option<Vec<Gap>>) {
        self.passage = Passage::default();
        // What is not whole comes with its rest.
        let _ = self.passage.pass(&step.screen.unfinished());
        let masked = redact::screen(step.screen);
        let screen = Box::new(masked.as_ref().unwrap_or(step.screen).at_rest());
        let held = Held { at: step.at, until: step.until, what: HeldWhat::Screen(screen, gaps) };
        self.redactor.go_on(held, step.screen);
    }

    /// What an entry becomes, on which side its text stands, and that text.
    fn held(&mut self, entry: &Entry<'_>) -> (HeldWhat, Side, String) {
        let Entry { kind, number, time, position, payload } = *entry;
        let text = |head: &[u8]| HeldWhat::Entry { kind, number, time, position, head: head.to_vec() };
        match kind {
            Kind::Output | Kind::Errors => {
                let passed = self.passage.pass(payload);
                let shown = String::from_utf8_lossy(&passed.without_clipboard()).into_owned();
                (text(&[]), Side::Shown, shown)
            }
            Kind::Input => {
                let head = &payload[..payload.len() - typed(payload).len()];
                (text(head), Side::Typed, self.typed.whole(typed(payload)))
            }
            // As if somebody had typed it.
            Kind::Exec => {
                let head = payload[..payload.len() - typed(payload).len()].to_vec();
                let keys = Tag::of(payload).map(|tag| tag.keys()).unwrap_or_default();
                let what = HeldWhat::Entry { kind: Kind::Input, number, time, position, head };
                (what, Side::Typed, self.typed.whole(&keys))
            }
            Kind::Mark => {
                let name = String::from_utf8_lossy(payload);
                (text(&[]), Side::Other, starred(&name, &secrets(&name)))
            }
            Kind::Start
            | Kind::Hidden
            | Kind::Answer
            | Kind::Lines
            | Kind::Resize
            | Kind::Cut
            | Kind::Shed
            | Kind::Screen => {
                if let Some(size) = parse_resize(payload).filter(|_| kind == Kind::Resize) {
                    self.redactor.resize(size);
                }
                let bytes = HeldWhat::Bytes { kind, number, time, position, payload: payload.to_vec() };
                (bytes, Side::Other, String::new())
            }
        }
    }

    fn push(&mut self, held: Held, side: Side, text: String, out: &mut dyn Write) -> io::Result<()> {
        let mut settled = Vec::new();
        let waits = matches!(held.what, HeldWhat::CaughtUp);
        self.redactor.push(held, side, text, &mut |held, text| settled.push((held, text)));
        if waits {
            self.redactor.catch_up(&mut |held, text| settled.push((held, text)));
        }
        self.give(settled, out)
    }

    /// Takes what is not whole as it is: the span ends.
    fn take_rest(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let rest = String::from_utf8_lossy(self.passage.held()).into_owned();
        if !rest.is_empty() {
            let Instant { position, .. } = self.at;
            let what = HeldWhat::Entry { kind: Kind::Output, number: 0, time: 0, position, head: Vec::new() };
            self.push(Held { at: self.at, until: None, what }, Side::Shown, rest, out)?;
        }
        Ok(())
    }

    /// Gives what is held back: nothing more belongs to it.
    fn settle(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.behind == 0 {
            self.take_rest(out)?;
        }
        self.passage = Passage::default();
        let mut settled = Vec::new();
        std::mem::take(&mut self.redactor).finish(&mut |held, text| settled.push((held, text)));
        self.give(settled, out)
    }

    fn give(&mut self, settled: Vec<(Held, String)>, out: &mut dyn Write) -> io::Result<()> {
        for (Held { at, until, what }, text) in settled {
            let (bytes, gaps);
            let what = match what {
                HeldWhat::Screen(mut screen, before) => {
                    screen.star(&text);
                    self.screen = Some(*screen);
                    gaps = before;
                    gaps.as_deref().map_or(What::Screen, What::Begin)
                }
                HeldWhat::Gap(gap) => What::Gap(gap),
                HeldWhat::LetGo => What::LetGo,
                HeldWhat::CaughtUp => What::CaughtUp,
                HeldWhat::Behind => continue,
                HeldWhat::Entry { kind, number, time, position, mut head } => {
                    head.extend_from_slice(text.as_bytes());
                    bytes = head;
                    What::Entry(Entry { kind, number, time, position, payload: &bytes }, &[])
                }
                HeldWhat::Bytes { kind, number, time, position, payload } => {
                    bytes = payload;
                    What::Entry(Entry { kind, number, time, position, payload: &bytes }, &[])
                }
            };
            // Every span begins with one.
            let Some(screen) = &mut self.screen else { continue };
            match &what {
                What::Entry(entry, _) if self.made.needs_screen() => show(screen, entry),
                What::LetGo => screen.let_go(),
                What::Entry(..) | What::Begin(_) | What::Screen | What::Gap(_) | What::CaughtUp => {}
            }
            self.made.take(&Step { at, screen, until, what }, out)?;
        }
        Ok(())
    }
}

/// What an entry does to a screen.
fn show(screen: &mut Screen, entry: &Entry<'_>) {
    screen.elapse(entry.time);
    match entry.kind {
        // Nobody is told anything beside the screen.
        Kind::Output | Kind::Errors => drop(screen.feed(entry.payload)),
        Kind::Resize => {
            if let Some(size) = parse_resize(entry.payload) {
                screen.resize(size);
            }
        }
        Kind::Start
        | Kind::Input
        | Kind::Hidden
        | Kind::Answer
        | Kind::Lines
        | Kind::Mark
        | Kind::Exec
        | Kind::Cut
        | Kind::Shed
        | Kind::Screen => {}
    }
}

impl Export for Redacted {
    fn take(&mut self, step: &Step<'_>, out: &mut dyn Write) -> io::Result<()> {
        if matches!(step.what, What::Screen) {
            self.settle(out)?;
        }
        self.at = step.at;
        let (what, side, text) = match &step.what {
            What::Begin(gaps) => {
                self.begin(step, Some(gaps.to_vec()));
                return Ok(());
            }
            What::Screen => {
                self.begin(step, None);
                return Ok(());
            }
            What::Gap(gap) => (HeldWhat::Gap(gap.clone()), Side::Other, String::new()),
            What::LetGo => (HeldWhat::LetGo, Side::Other, String::new()),
            What::CaughtUp => (HeldWhat::CaughtUp, Side::Other, String::new()),
            What::Entry(entry, _) => self.held(entry),
        };
        self.push(Held { at: step.at, until: step.until, what }, side, text, out)
    }

    fn take_behind(&mut self, step: &Step<'_>, out: &mut dyn Write) -> io::Result<bool> {
        let What::Entry(entry, _) = &step.what else { return Ok(!matches!(step.what, What::Screen)) };
        if self.behind == 0 {
            self.take_rest(out)?;
        }
        self.behind += entry.payload.len().max(1);
        let (_, side, text) = self.held(entry);
        self.push(Held { at: step.at, until: None, what: HeldWhat::Behind }, side, text, out)?;
        Ok(self.behind < BEHIND)
    }

    fn end(&mut self, _screen: &Screen, out: &mut dyn Write) -> io::Result<()> {
        self.settle(out)?;
        self.screen.as_ref().map_or(Ok(()), |screen| self.made.end(screen, out))
    }

    fn finish(&mut self, ending: Ending, out: &mut dyn Write) -> io::Result<()> {
        self.made.finish(ending, out)
    }

    fn needs_screen(&self) -> bool {
        false
    }
}
