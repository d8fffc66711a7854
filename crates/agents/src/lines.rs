//! A file of lines, read as it grows. A line that is not finished is waited for; a file that was replaced or became
//! shorter is read anew.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::story::{Reader, Story};

/// A longer line is passed over.
const LONGEST: usize = 64 << 20;
const PIECE: usize = 64 << 10;
/// A file that is none is not waited for: `O_NONBLOCK`.
const AT_ONCE: i32 = 0o4000;

/// What lines become.
pub(crate) trait Fold: Default {
    /// Takes the next line. False if it makes no sense.
    fn line(&mut self, line: &[u8]) -> bool;

    /// What all lines so far say.
    fn story(&self) -> Story;
}

/// Reads a file of lines into a story.
#[derive(Debug)]
pub(crate) struct Lines<F> {
    tail: Tail,
    fold: F,
    unreadable: u64,
    story: Story,
}

impl<F: Fold> Lines<F> {
    pub(crate) fn new(path: &Path) -> Self {
        let tail = Tail { path: path.to_owned(), file: None, offset: 0, rest: Vec::new() };
        Self { tail, fold: F::default(), unreadable: 0, story: Story::default() }
    }
}

impl<F: Fold> Reader for Lines<F> {
    fn read_on(&mut self) -> io::Result<bool> {
        let is_another = self.tail.is_another()?;
        if is_another {
            (self.fold, self.unreadable) = (F::default(), 0);
        }
        let (fold, unreadable) = (&mut self.fold, &mut self.unreadable);
        let lines = self.tail.read_on(&mut |line| {
            *unreadable += u64::from(!line.is_empty() && !fold.line(line));
        })?;
        if lines == 0 && !is_another {
            return Ok(false);
        }
        let story = Story { unreadable: self.unreadable, ..self.fold.story() };
        let changed = story != self.story;
        self.story = story;
        Ok(changed)
    }

    fn story(&self) -> &Story {
        &self.story
    }
}

#[derive(Debug)]
struct Tail {
    path: PathBuf,
    /// The file that was read, by device and inode.
    file: Option<(u64, u64)>,
    offset: u64,
    /// The line that is not finished.
    rest: Vec<u8>,
}

impl Tail {
    /// Whether it is not the file that was read so far, or a shorter one. Then it is read from its beginning.
    fn is_another(&mut self) -> io::Result<bool> {
        let metadata = std::fs::metadata(&self.path)?;
        let file = Some((metadata.dev(), metadata.ino()));
        let another = self.file != file || metadata.len() < self.offset;
        if another {
            (self.file, self.offset) = (file, 0);
            self.rest.clear();
        }
        Ok(another)
    }

    /// Gives the lines that were finished since; how many there were.
    fn read_on(&mut self, each: &mut dyn FnMut(&[u8])) -> io::Result<u64> {
        let (mut file, metadata) = open(&self.path)?;
        // It was replaced just now: the next time reads the other one.
        if self.file != Some((metadata.dev(), metadata.ino())) {
            return Ok(0);
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let mut piece = vec![0; PIECE];
        let mut lines = 0;
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                return Ok(lines);
            }
            self.offset += read as u64;
            let mut fresh = &piece[..read];
            while let Some(end) = fresh.iter().position(|byte| *byte == b'\n') {
                self.rest.extend_from_slice(&fresh[..end]);
                each(&self.rest);
                self.rest.clear();
                lines += 1;
                fresh = &fresh[end + 1..];
            }
            if self.rest.len() + fresh.len() <= LONGEST {
                self.rest.extend_from_slice(fresh);
            }
        }
    }
}

/// Opens a file of an agent's for reading; what is none is refused, and never waited for.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let file = OpenOptions::new().read(true).custom_flags(AT_ONCE).open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok((file, metadata)) } else { Err(io::Error::other("it is no file")) }
}

/// The beginning of a file, up to so many bytes.
pub(crate) fn beginning(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.0.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The end of a file, so many bytes of it at most.
pub(crate) fn end(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (mut file, metadata) = open(path)?;
    file.seek(SeekFrom::Start(metadata.len().saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// When a file was last written to, in ms of wall time.
pub(crate) fn written(path: &Path) -> i64 {
    std::fs::metadata(path).as_ref().map_or(0, modified)
}

fn modified(metadata: &Metadata) -> i64 {
    metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000
}

/// The files of a directory that end so, the one written to last first, each with when: ms of wall time.
pub(crate) fn newest(directory: &Path, ending: &str) -> Vec<(i64, PathBuf)> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<(i64, PathBuf)> = entries
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(ending))
        .filter_map(|entry| {
            let metadata = entry.metadata().ok().filter(Metadata::is_file)?;
            Some((modified(&metadata), entry.path()))
        })
        .collect();
    found.sort_by(|one, other| other.cmp(one));
    found
}
