//! Notice: what a program told its terminal that is not on the screen. The caller decides what becomes of it;
//! on a replay it will let most of it drop.

/// One thing told, and where in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How many bytes the screen had been fed when the sequence was complete.
    pub at: u64,
    pub what: Told,
}

/// What a program told its terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// The program asked, and these bytes answer it.
    Answer(Vec<u8>),
    Bell,
    /// The window's title is another.
    Title(String),
    /// OSC 52: which selection, and its new contents in base64; `None` where the program asks for them.
    Clipboard {
        selection: String,
        base64: Option<String>,
    },
    /// OSC 9 and OSC 777.
    Notification {
        title: String,
        body: String,
    },
    /// OSC 9;4.
    Progress(Progress),
    /// OSC 7: a `file:` URI.
    Directory(String),
    /// OSC 133.
    Mark(ShellMark),
}

/// How far the program says it is, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Gone,
    At(u8),
    Failed(u8),
    Unclear,
    Paused(u8),
}

/// Where a shell stands between two commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellMark {
    PromptStart,
    CommandStart,
    OutputStart,
    CommandEnd { exit_code: Option<i32> },
}
