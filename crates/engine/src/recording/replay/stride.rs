//! What an attempt to go on in a recording came to, before anyone is told of it.

use super::Gap;

/// What an attempt to go on came to.
pub(super) enum Taken {
    Entry,
    /// Behind what was let go, this is the screen.
    Screen,
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
    Screen,
    Gap(Gap),
    LetGo,
    CaughtUp,
    /// The recording ends before the span begins.
    Short,
    End,
}
