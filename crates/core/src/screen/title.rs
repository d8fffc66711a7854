//! Titles: the names of window and icon, and the stack that XTWINOPS keeps of them.

/// Longer titles are cut.
const LONGEST: usize = 4096;
const DEEPEST: usize = 16;

/// Which of the two names a sequence is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Both,
    Icon,
    Window,
}

impl Which {
    /// As the first number of OSC and the second of `CSI 22 t` have it.
    pub(crate) const fn from_number(number: u16) -> Option<Self> {
        match number {
            0 => Some(Self::Both),
            1 => Some(Self::Icon),
            2 => Some(Self::Window),
            _ => None,
        }
    }

    const fn icon(self) -> bool {
        match self {
            Self::Both | Self::Icon => true,
            Self::Window => false,
        }
    }

    pub(crate) const fn window(self) -> bool {
        match self {
            Self::Both | Self::Window => true,
            Self::Icon => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Names {
    pub icon: String,
    pub window: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Titles {
    pub current: Names,
    pub stack: Vec<Names>,
}

impl Titles {
    pub(crate) fn set(&mut self, which: Which, text: &str) {
        let text: String = text.chars().filter(|ch| !ch.is_control()).collect();
        let end = (0..=text.len().min(LONGEST)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        if which.icon() {
            text[..end].clone_into(&mut self.current.icon);
        }
        if which.window() {
            text[..end].clone_into(&mut self.current.window);
        }
    }

    /// xterm saves both names, whichever was meant.
    pub(crate) fn push(&mut self) {
        if self.stack.len() == DEEPEST {
            self.stack.remove(0);
        }
        self.stack.push(self.current.clone());
    }

    pub(crate) fn pop(&mut self, which: Which) {
        let Some(names) = self.stack.pop() else { return };
        if which.icon() {
            self.current.icon = names.icon;
        }
        if which.window() {
            self.current.window = names.window;
        }
    }

    /// `None` for what no program can have set.
    pub(crate) fn restore(current: Names, stack: Vec<Names>) -> Option<Self> {
        let short = |names: &Names| names.icon.len() <= LONGEST && names.window.len() <= LONGEST;
        let sound = stack.len() <= DEEPEST && short(&current) && stack.iter().all(short);
        sound.then_some(Self { current, stack })
    }
}
