//! The line of `/proc/PID/stat`: what it says of a process. Parses; proves nothing.

use super::Qualifier;

/// What `/proc/PID/stat` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub letter: u8,
    pub parent: u32,
    /// Its controlling terminal; 0 for none.
    pub terminal: u32,
    pub threads: u64,
    pub start_ticks: u64,
}

impl Stat {
    /// Parses the line from the last `)`: the name before it can hold anything.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let close = line.iter().rposition(|&b| b == b')')?;
        let text = std::str::from_utf8(line.get(close + 1..)?).ok()?;
        let mut fields = text.split_ascii_whitespace();
        let letter = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        let terminal = fields.nth(2)?.parse::<i32>().ok()?.cast_unsigned();
        let threads = fields.nth(12)?.parse().ok()?;
        let start_ticks = fields.nth(1)?.parse().ok()?;
        // A number is whole only if something stands behind it.
        fields.next()?;
        Some(Self { letter, parent, terminal, threads, start_ticks })
    }

    /// The name in such a line: all between the first `(` and the last `)`.
    #[must_use]
    pub fn name(line: &[u8]) -> Option<&[u8]> {
        let open = line.iter().position(|&b| b == b'(')?;
        line.get(open + 1..line.iter().rposition(|&b| b == b')')?)
    }

    /// Zombie or being removed, with no other thread left. Only for kernels without pidfds.
    pub(super) const fn is_corpse(self) -> bool {
        matches!(self.letter, b'Z' | b'X' | b'x') && self.threads <= 1
    }

    pub(super) const fn qualifier(self) -> Option<Qualifier> {
        match self.letter {
            b'T' => Some(Qualifier::Stopped),
            b't' => Some(Qualifier::Traced),
            _ => None,
        }
    }
}

impl Qualifier {
    /// How a living process stands, as `/proc/PID/status` has it; none if nothing is special about it.
    #[must_use]
    pub fn of_status(status: &[u8]) -> Option<Self> {
        let field = |name: &[u8]| {
            let mut lines = status.split(|&b| b == b'\n');
            lines.find_map(|line| Some(line.strip_prefix(name)?.trim_ascii()))
        };
        match field(b"State:")?.first()? {
            b'T' => Some(Self::Stopped),
            b't' => Some(Self::Traced),
            _ => field(b"TracerPid:").filter(|tracer| *tracer != b"0").map(|_| Self::Traced),
        }
    }
}

/// Which process group a process belongs to, and which one its terminal does, as `/proc/PID/stat` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Belonging {
    pub letter: u8,
    pub group: i32,
    /// -1 where there is no terminal.
    pub foreground: i32,
}

impl Belonging {
    /// Parses the line from the last `)`: the name before it can hold anything.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let close = line.iter().rposition(|&b| b == b')')?;
        let mut fields = std::str::from_utf8(line.get(close + 1..)?).ok()?.split_ascii_whitespace();
        let letter = *fields.next()?.as_bytes().first()?;
        let group = fields.nth(1)?.parse().ok()?;
        let foreground = fields.nth(2)?.parse().ok()?;
        // A number is whole only if something stands behind it.
        fields.next()?;
        Some(Self { letter, group, foreground })
    }
}

/// What a process has used until now, as `/proc/PID/stat` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Clock ticks on a processor.
    pub ticks: u64,
    /// The same of those below it that are over and were waited for.
    pub ticks_of_dead: u64,
    /// Pages of memory that it holds now.
    pub pages: u64,
}

impl Spent {
    /// Parses the line from the last `)`: the name before it can hold anything.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let close = line.iter().rposition(|&b| b == b')')?;
        let mut fields = std::str::from_utf8(line.get(close + 1..)?).ok()?.split_ascii_whitespace();
        let mut number = |behind: usize| fields.nth(behind)?.parse::<u64>().ok();
        let ticks = number(11)?.saturating_add(number(0)?);
        let ticks_of_dead = number(0)?.saturating_add(number(0)?);
        let pages = number(6)?;
        // A number is whole only if something stands behind it.
        fields.next()?;
        Some(Self { ticks, ticks_of_dead, pages })
    }
}
