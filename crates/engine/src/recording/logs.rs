//! What a session showed, in order: from the recording, and as it goes on with whoever serves it as the bell.

use abide_core::evidence::frame::body_from_line;
use abide_core::failure::Failure;
use abide_core::instant::Span;
use abide_core::recording::{Kind, Start, parse_resize};

use super::damage::Gap;
use super::replay::{Replay, Step, What};
use crate::store::Home;
use crate::truth::{Session, Truth};

/// One piece of what was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown<'a> {
    /// At this wall time, in ms, the program wrote this.
    Output { wall: i64, errors: bool, bytes: &'a [u8] },
    /// What follows is made for a terminal of so many columns; none for a pipe.
    Sized(Option<u16>),
    /// What follows goes on with this, which is not whole.
    Unfinished(&'a [u8]),
    /// Something is missing here.
    Gap(&'a Gap),
    /// All that was there when the question came has been shown; what follows is new.
    CaughtUp,
}

/// Gives what the session showed; with `follow`, goes on until the session is over.
pub(crate) fn logs(
    truth: &Truth,
    home: &Home,
    session: &Session,
    follow: bool,
    shown: &mut impl FnMut(Shown<'_>) -> bool,
) -> Result<(), Failure> {
    let mut replay = Replay::open(truth, home, session, &Span::default(), follow)?.without_screen();
    while let Some(Step { at, screen, what, .. }) = replay.next()? {
        let wanted = match what {
            What::Begin(gaps) => {
                let cols = session.has_terminal().then(|| screen.size().cols);
                shown(Shown::Sized(cols)) && gaps.iter().all(|gap| shown(Shown::Gap(gap)))
            }
            What::CaughtUp => shown(Shown::CaughtUp),
            What::Gap(gap) => shown(Shown::Gap(&gap)),
            What::LetGo => true,
            What::Screen => {
                shown(Shown::Sized(session.has_terminal().then(|| screen.size().cols)))
                    && shown(Shown::Unfinished(&screen.unfinished()))
            }
            What::Entry(entry, _) => match entry.kind {
                Kind::Output | Kind::Errors => {
                    let errors = entry.kind == Kind::Errors;
                    shown(Shown::Output { wall: at.wall, errors, bytes: entry.payload })
                }
                Kind::Start => {
                    let start = body_from_line::<Start>(entry.payload).ok();
                    start.is_none_or(|start| shown(Shown::Sized(start.size.map(|size| size.cols))))
                }
                Kind::Resize => {
                    parse_resize(entry.payload).is_none_or(|size| shown(Shown::Sized(Some(size.cols))))
                }
                Kind::Input
                | Kind::Hidden
                | Kind::Answer
                | Kind::Lines
                | Kind::Mark
                | Kind::Exec
                | Kind::Cut
                | Kind::Shed
                | Kind::Screen => true,
            },
        };
        if !wanted {
            return Ok(());
        }
    }
    Ok(())
}
