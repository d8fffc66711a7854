//! The place of a run: which abide is measured, which peers are there, and how much is done.

use std::io;
use std::path::PathBuf;

use abide_testkit::bench::{Bench, built};
use abide_testkit::{Abide, ScratchHome};

use crate::options::Options;
use crate::peer::Peers;

#[derive(Debug)]
pub struct Place {
    pub options: Options,
    pub abide: PathBuf,
    pub peers: Peers,
}

impl Place {
    pub fn new(options: Options) -> io::Result<Self> {
        let abide = options.binary.clone().map_or_else(built, Ok)?;
        Ok(Self { options, abide, peers: Peers::find() })
    }

    /// abide in a home of its own; what it started is stopped with this value.
    pub fn bench(&self) -> Bench {
        let home = ScratchHome::new();
        let abide = Abide::new(&self.abide, &home);
        Bench { home, abide }
    }

    /// So many, or a tenth of it where only a look is wanted.
    pub fn of(&self, many: usize) -> usize {
        if self.options.quick { many.div_ceil(10) } else { many }
    }
}
