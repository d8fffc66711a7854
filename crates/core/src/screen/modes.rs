//! Modes: the switches a program sets on its terminal. One table says their numbers and defaults.

macro_rules! modes {
    ($($mode:ident $ansi:ident $number:literal $default:literal $doc:literal,)+) => {
        /// A switch with two positions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Mode { $(#[doc = $doc] $mode,)+ }

        impl Mode {
            pub(crate) const ALL: &[Self] = &[$(Self::$mode,)+];

            pub(crate) const fn number(self) -> u16 {
                match self { $(Self::$mode => $number,)+ }
            }

            /// Set with `CSI n h`, where the others want `CSI ? n h`.
            pub(crate) const fn is_ansi(self) -> bool {
                match self { $(Self::$mode => stringify!($ansi).len() == 4,)+ }
            }

            const fn default(self) -> bool {
                match self { $(Self::$mode => $default,)+ }
            }
        }
    };
}

modes! {
    AppCursor private 1 false "Arrow keys send SS3 sequences.",
    ReverseVideo private 5 false "The whole screen is inverse.",
    AutoWrap private 7 true "A character behind the last column goes to the next row.",
    CursorBlinks private 12 false "The cursor blinks.",
    CursorVisible private 25 true "The cursor is shown.",
    ColumnChange private 40 false "Another count of columns may be asked for, which clears the screen.",
    AppKeypad private 66 false "The keypad sends sequences.",
    Focus private 1004 false "Gaining and losing focus is reported.",
    AlternateScroll private 1007 false "On the alternate screen the wheel sends arrow keys.",
    BracketedPaste private 2004 false "Pasted text is put in brackets.",
    Synchronized private 2026 false "What is shown stays as it is until the program has drawn all.",
    Clusters private 2027 true "An emoji of several characters takes two columns.",
    ColorScheme private 2031 false "A change between dark and light is reported.",
    Insert ansi 4 false "Characters push the rest of the row to the right.",
    NewLine ansi 20 false "A line feed is a carriage return too, and Enter sends both.",
}

impl Mode {
    /// Whether it is about what is to be seen, and not about what keys, mouse and pasted text send or when anything is shown.
    pub(crate) const fn is_for_viewers(self) -> bool {
        match self {
            Self::ReverseVideo
            | Self::AutoWrap
            | Self::CursorBlinks
            | Self::CursorVisible
            | Self::ColumnChange
            | Self::Insert
            | Self::NewLine
            | Self::Clusters => true,
            Self::AppCursor
            | Self::AppKeypad
            | Self::Focus
            | Self::AlternateScroll
            | Self::BracketedPaste
            | Self::Synchronized
            | Self::ColorScheme => false,
        }
    }
}

/// The positions of all switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Switches(u16);

impl Default for Switches {
    fn default() -> Self {
        let mut switches = Self(0);
        for mode in Mode::ALL {
            switches.put(*mode, mode.default());
        }
        switches
    }
}

impl Switches {
    #[inline]
    pub(crate) const fn has(self, mode: Mode) -> bool {
        self.0 >> mode as u8 & 1 == 1
    }

    pub(crate) const fn put(&mut self, mode: Mode, on: bool) {
        let bit = 1 << mode as u8;
        self.0 = if on { self.0 | bit } else { self.0 & !bit };
    }

    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u16) -> Option<Self> {
        if bits >> Mode::ALL.len() == 0 { Some(Self(bits)) } else { None }
    }
}

/// Which mouse actions are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mouse {
    #[default]
    Off,
    /// Presses only, as in X10.
    Press,
    /// Presses and releases.
    Click,
    /// And motion with a button down.
    Drag,
    /// And all motion.
    Motion,
}

impl Mouse {
    pub(crate) const ALL: [Self; 5] = [Self::Off, Self::Press, Self::Click, Self::Drag, Self::Motion];

    /// The mode that asks for it; 0 for off.
    pub(crate) const fn number(self) -> u16 {
        match self {
            Self::Off => 0,
            Self::Press => 9,
            Self::Click => 1000,
            Self::Drag => 1002,
            Self::Motion => 1003,
        }
    }
}

/// How mouse reports are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MouseEncoding {
    #[default]
    Bytes,
    Utf8,
    Sgr,
    Urxvt,
    SgrPixels,
}

impl MouseEncoding {
    pub(crate) const ALL: [Self; 5] = [Self::Bytes, Self::Utf8, Self::Sgr, Self::Urxvt, Self::SgrPixels];

    /// The mode that asks for it; 0 for the first encoding.
    pub(crate) const fn number(self) -> u16 {
        match self {
            Self::Bytes => 0,
            Self::Utf8 => 1005,
            Self::Sgr => 1006,
            Self::Urxvt => 1015,
            Self::SgrPixels => 1016,
        }
    }
}

/// No program nests deeper; deeper pushes lose the oldest.
const DEEPEST: usize = 16;

/// The flags of the kitty keyboard protocol that one screen has set, the current ones last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyFlags(Vec<u8>);

impl Default for KeyFlags {
    fn default() -> Self {
        Self(vec![0])
    }
}

impl KeyFlags {
    const KNOWN: u8 = 0b1_1111;

    pub(crate) fn current(&self) -> u8 {
        self.0.last().copied().unwrap_or(0)
    }

    pub(crate) fn all(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn from_all(flags: &[u8]) -> Option<Self> {
        let known = flags.iter().all(|flags| flags & !Self::KNOWN == 0);
        (known && !flags.is_empty() && flags.len() <= DEEPEST).then(|| Self(flags.to_vec()))
    }

    pub(crate) fn push(&mut self, flags: u16) {
        if self.0.len() == DEEPEST {
            self.0.remove(0);
        }
        self.0.push(flags as u8 & Self::KNOWN);
    }

    pub(crate) fn pop(&mut self, count: u16) {
        let left = self.0.len().saturating_sub(usize::from(count));
        self.0.truncate(left);
        if self.0.is_empty() {
            self.0.push(0);
        }
    }

    /// `how`: 1 replaces, 2 adds, 3 takes away.
    pub(crate) fn set(&mut self, flags: u16, how: u16) {
        let flags = flags as u8 & Self::KNOWN;
        let Some(current) = self.0.last_mut() else { return };
        match how {
            1 => *current = flags,
            2 => *current |= flags,
            3 => *current &= !flags,
            _ => {}
        }
    }
}

/// Everything that decides what keys, mouse and pasted text send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputModes {
    pub app_cursor: bool,
    pub app_keypad: bool,
    pub bracketed_paste: bool,
    pub focus: bool,
    pub new_line: bool,
    pub alternate_scroll: bool,
    pub color_scheme: bool,
    pub mouse: Mouse,
    pub mouse_encoding: MouseEncoding,
    /// The flags of the kitty keyboard protocol, 0 for none.
    pub key_flags: u8,
    /// xterm's modifyOtherKeys, 0 for off.
    pub modify_other_keys: u8,
}

/// The modes of one terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Modes {
    pub switches: Switches,
    pub mouse: Mouse,
    pub encoding: MouseEncoding,
    pub modify_other_keys: u8,
    /// DECSCUSR, 0 to 6.
    pub cursor_style: u8,
    /// Of the main and of the alternate screen.
    pub keys: [KeyFlags; 2],
}

impl Modes {
    #[inline]
    pub(crate) const fn has(&self, mode: Mode) -> bool {
        self.switches.has(mode)
    }

    pub(crate) fn input(&self, alternate: bool) -> InputModes {
        InputModes {
            app_cursor: self.has(Mode::AppCursor),
            app_keypad: self.has(Mode::AppKeypad),
            bracketed_paste: self.has(Mode::BracketedPaste),
            focus: self.has(Mode::Focus),
            new_line: self.has(Mode::NewLine),
            alternate_scroll: alternate && self.has(Mode::AlternateScroll),
            color_scheme: self.has(Mode::ColorScheme),
            mouse: self.mouse,
            mouse_encoding: self.encoding,
            key_flags: self.keys[usize::from(alternate)].current(),
            modify_other_keys: self.modify_other_keys,
        }
    }
}
