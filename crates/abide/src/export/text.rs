//! Plain text: the lines that a session showed, as they were seen on its screen, once; what was cleared away with all of it included.

use std::borrow::Cow;
use std::io::{self, Write};

use abide_core::recording::redact::{Redact, scrolled_away, starred};
use abide_core::recording::scroll::Scroll;
use abide_core::recording::{Kind, parse_resize};
use abide_core::screen::Screen;
use abide_engine::{Step, What};

use super::{Ending, Export, Wanted};

/// Writes lines.
#[derive(Debug)]
pub(crate) struct Text {
    scroll: Option<Scroll>,
    redact: Option<Redact>,
}

impl Text {
    pub(crate) fn new(wanted: &Wanted) -> Self {
        Self { scroll: None, redact: wanted.redact.then(Redact::default) }
    }

    /// Behind what was let go: what stands there now is no later form of what stood there before.
    fn go_on(&mut self, screen: &Screen, out: &mut dyn Write) -> io::Result<()> {
        self.end_scroll(out)?;
        self.begin(screen);
        Ok(())
    }

    fn begin(&mut self, screen: &Screen) {
        self.scroll = Some(Scroll::new(screen.clone()));
        self.redact = self.redact.take().map(|_| scrolled_away(screen).0);
    }

    fn end_scroll(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut failed = Ok(());
        if let Some(scroll) = self.scroll.take() {
            scroll.finish(&mut writer(&mut self.redact, out, &mut failed));
        }
        failed
    }
}

/// Gives lines on, and remembers what went wrong.
fn writer<'a>(
    redact: &'a mut Option<Redact>,
    out: &'a mut dyn Write,
    failed: &'a mut io::Result<()>,
) -> impl FnMut(&str) + 'a {
    move |line: &str| {
        let line = match redact {
            Some(redact) => Cow::Owned(starred(line, &redact.line(line))),
            None => Cow::Borrowed(line),
        };
        if failed.is_ok() {
            *failed = writeln!(out, "{}", line.trim_end());
        }
    }
}

impl Export for Text {
    fn take(&mut self, step: &Step<'_>, out: &mut dyn Write) -> io::Result<()> {
        let entry = match &step.what {
            What::Begin(_) => {
                self.begin(step.screen);
                return Ok(());
            }
            What::Screen => return self.go_on(step.screen, out),
            What::CaughtUp => return out.flush(),
            What::Gap(_) | What::LetGo => return Ok(()),
            What::Entry(entry, _) => entry,
        };
        let Some(scroll) = &mut self.scroll else { return Ok(()) };
        let mut failed = Ok(());
        let mut line = writer(&mut self.redact, out, &mut failed);
        match entry.kind {
            Kind::Output | Kind::Errors => scroll.feed(entry.payload, &mut line),
            Kind::Resize => {
                if let Some(size) = parse_resize(entry.payload) {
                    scroll.resize(size, &mut line);
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
        drop(line);
        failed
    }

    fn finish(&mut self, _: Ending, out: &mut dyn Write) -> io::Result<()> {
        self.end_scroll(out).and_then(|()| out.flush())
    }

    fn needs_screen(&self) -> bool {
        false
    }
}
