//! What the program runs: one that executes another program stays the same process, and both images are on record.

use std::io::Read;
use std::path::{Path, PathBuf};

use abide_core::evidence::ImageChanged;
use abide_core::evidence::fold::Evidence;
use abide_core::identity::Identity;
use abide_core::verdict::program_of;
use abide_sys::disk;

use crate::truth::Truth;

/// What the kernel adds to the path of an executable that was removed or replaced.
const DELETED: &str = " (deleted)";

/// What the program was last known to run.
pub(super) struct Imaging {
    program: Option<Identity>,
    known: Option<PathBuf>,
}

impl Imaging {
    pub(super) fn new(evidence: &Evidence) -> Self {
        let beginning = &evidence.beginning;
        let became = beginning.image.as_ref().map(|told| PathBuf::from(&told.body.image));
        let started = beginning.started.as_ref().map(|told| PathBuf::from(&told.body.image));
        // A script is run by another image from its start: what that is shows at the first look.
        let known = became.or_else(|| started.filter(|image| is_binary(image)));
        Self { program: program_of(evidence).copied(), known }
    }

    /// What the program has become since the last look, if it has.
    pub(super) fn look(&mut self, truth: &Truth) -> Option<ImageChanged> {
        let image = truth.image_of(self.program.as_ref()?)?;
        let image = image.to_string_lossy();
        let image = image.strip_suffix(DELETED).unwrap_or(&image);
        let known = self.known.replace(PathBuf::from(image));
        let changed = known.is_some_and(|known| known != Path::new(image));
        changed.then(|| ImageChanged { image: image.to_owned() })
    }
}

fn is_binary(image: &Path) -> bool {
    let mut start = [0; 4];
    let read = disk::open_foreign(image).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *b"\x7fELF"
}
