//! As what a client attaches: two bytes, of which hosts of before the second knew only the first.

/// As what a client attaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attendance {
    /// It looks and does not type.
    pub read_only: bool,
    /// It was attached before, to a host that is gone, and shows the scrollback already.
    pub again: bool,
    /// It is the driver: the session takes its size.
    pub drives: bool,
}

impl Attendance {
    /// As one attaches for the first time.
    #[must_use]
    pub const fn first(read_only: bool) -> Self {
        Self { read_only, again: false, drives: !read_only }
    }

    pub(super) const fn pack(self) -> [u8; 2] {
        [self.read_only as u8, self.again as u8 | (self.drives as u8) << 1]
    }

    /// Clients of before the second byte knew only the first.
    pub(super) const fn unpack(body: &[u8]) -> Option<Self> {
        match body {
            [] => None,
            [read_only] => Some(Self::first(*read_only != 0)),
            [read_only, flags, ..] => {
                Some(Self { read_only: *read_only != 0, again: *flags & 1 != 0, drives: *flags & 2 != 0 })
            }
        }
    }
}
