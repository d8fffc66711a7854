//! What an attempt to go on in a recording came to, before anyone is told of it.

use abide_core::recording::{Entry, Kind, cut_says};

use super::Gap;

/// What an attempt to go on came to.
pub(super) enum Taken {
    Entry,
    Gap(Gap),
    LetGo,
    /// The next entry is behind the limit.
    Beyond,
    /// There is nothing more to read for now.
    Nothing,
}

/// What a step came to.
pub(super) enum Stepped {
    Begun,
    Entry,
    /// What the veil kept back up to the end.
    Unveiled,
    Gap(Gap),
    LetGo,
    CaughtUp,
    /// The recording ends before the span begins.
    Short,
    End,
}

/// What an entry that was taken in is.
pub(super) fn taken(entry: &Entry<'_>) -> Taken {
    match entry.kind {
        Kind::Cut => Taken::Gap(Gap::Cut(cut_says(entry.payload))),
        Kind::Start
        | Kind::Output
        | Kind::Errors
        | Kind::Input
        | Kind::Hidden
        | Kind::Answer
        | Kind::Resize
        | Kind::Mark
        | Kind::Exec => Taken::Entry,
    }
}
