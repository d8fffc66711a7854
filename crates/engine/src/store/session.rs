//! One session's directory: its files by their purposes. Every reader and writer of a session comes through here.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Found, body_from_line, body_to_line, encode};
use abide_core::evidence::{Fact, Role, Witness};
use abide_core::id::SessionId;
use abide_sys::disk::{self, PrivateDir, Untrusted};
use abide_sys::sock;

use super::{ALIVE, EVIDENCE, KEYFRAMES, NOTIFY, OUTCOME, RECORDING, Reading, SOCKET, VIEW, Writer, log};
use crate::host::View;
use crate::notify::Told;
use crate::recording::file::RecordingFile;
use crate::recording::packed::{Packed, pack};
use log::Kept;

const NEXT: &str = "next";
const RESULT: &str = "result.toml";
const PACKED: &str = "recording.packed";
/// A packed recording that is not whole yet.
const PACKING: &str = ".recording.packed";
const CHECKPOINTS: &str = "checkpoints";
const INDEX: &str = "index";
const INDEX_LINES: &str = "index-lines";
/// A longer view is none.
const LONGEST_VIEW: u64 = 64 * 1024;

/// The directory of one session.
#[derive(Debug)]
pub struct SessionDir {
    pub(super) dir: PrivateDir,
    pub(super) kept: Kept,
    /// Whose it is, where that is known by its name.
    pub(super) id: Option<SessionId>,
}

impl SessionDir {
    /// Reads the evidence. What cannot be read is damage in it, never an error.
    #[must_use]
    pub fn read(&self) -> Reading<'_> {
        Reading::new(self, self.evidence())
    }

    /// The evidence as it was at an instant of wall time.
    #[must_use]
    pub fn past(&self, wall: i64) -> Evidence {
        log::past(self, self.evidence(), wall)
    }

    /// Gives all that is in the log, in order.
    pub(crate) fn each_fact(&self, take: &mut impl FnMut(Found)) -> std::io::Result<()> {
        log::scan(&self.evidence()?, &mut |_, found| take(found)).map(|_| ())
    }

    /// Opens the evidence for a witness to add to.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, role: Role, boot: u32) -> std::io::Result<Writer> {
        let file = self.kept.or(self.dir.append(EVIDENCE))?;
        let witness = Witness { role, pid: std::process::id(), boot };
        Ok(Writer::new(file, witness, 0))
    }

    /// Writes the guard's word on the end into the slot.
    ///
    /// # Errors
    /// If the disk itself fails.
    pub fn fill_slot(&self, facts: &[Fact]) -> std::io::Result<()> {
        let frames = facts.iter().map(encode).collect::<Result<Vec<_>, _>>()?;
        self.dir.open_slot(OUTCOME)?.fill(&frames.concat())
    }

    /// The name of the file that holds the recording, and how much room it takes; none if there is none to read.
    pub(crate) fn recording_file(&self) -> Option<(&'static str, u64)> {
        let length = |name: &'static str| Some((name, room(&self.dir.read(name).ok()?.metadata().ok()?)));
        length(RECORDING).or_else(|| length(PACKED))
    }

    /// Waits until the facts are on the disk, and the names that lead to them.
    ///
    /// # Errors
    /// If the disk fails.
    pub(crate) fn flush(&self) -> std::io::Result<()> {
        for name in [EVIDENCE, OUTCOME] {
            self.dir.read(name)?.sync_all()?;
        }
        self.dir.flush()?;
        let around =
            self.dir.open_below("..").map_err(|untrusted| std::io::Error::other(untrusted.says()))?;
        around.flush()
    }

    /// Removes everything but the evidence and the slot.
    pub(crate) fn remove_bulk(&self) -> std::io::Result<()> {
        for name in self.dir.names()? {
            if name != EVIDENCE && name != OUTCOME {
                self.dir.remove_tree(&name)?;
            }
        }
        Ok(())
    }

    /// How much room the session takes.
    pub(crate) fn bytes(&self) -> u64 {
        let of = |dir: &PrivateDir| -> u64 {
            let names = dir.names().unwrap_or_default();
            let sizes = names.iter().filter_map(|name| dir.read(name.to_str()?).ok()?.metadata().ok());
            sizes.map(|meta| room(&meta)).sum()
        };
        of(&self.dir) + self.checkpoints().map_or(0, |dir| of(&dir))
    }

    /// The directory of copies, for one who only reads.
    pub(crate) fn checkpoints(&self) -> Result<PrivateDir, Untrusted> {
        self.dir.open_below(CHECKPOINTS)
    }

    /// The same, made if there is none.
    pub(crate) fn ensure_checkpoints(&self) -> Result<PrivateDir, Untrusted> {
        self.dir.ensure_below(CHECKPOINTS)
    }

    /// The executable that the guard is to become. Taken away: an order is carried out once, or withdrawn.
    pub(crate) fn take_next_image(&self) -> Option<String> {
        let path = self.dir.link_text(NEXT).ok().flatten();
        self.dir.remove(NEXT).ok().and(path)
    }

    /// Names the executable that the guard is to become.
    pub(crate) fn set_next_image(&self, path: &str) -> std::io::Result<()> {
        self.dir.set_link_text(NEXT, path)
    }

    /// Where one of our links leads; none if there is no such link.
    pub(crate) fn link(&self, name: &str) -> std::io::Result<Option<String>> {
        self.dir.link_text(name)
    }

    /// Has one of our links lead elsewhere, at once.
    pub(crate) fn set_link(&self, name: &str, path: &str) -> std::io::Result<()> {
        self.dir.set_link_text(name, path)
    }

    /// The text of the result that the program left; none if it left none.
    ///
    /// # Errors
    /// If it cannot be read, is no text or has more than so many bytes.
    pub(crate) fn result(&self, longest: u64) -> std::io::Result<Option<String>> {
        let file = match self.dir.read(RESULT) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut text = String::new();
        file.take(longest + 1).read_to_string(&mut text)?;
        if text.len() as u64 > longest {
            return Err(std::io::Error::other(format!("it is longer than {longest} bytes")));
        }
        Ok(Some(text))
    }

    /// Listens for clients.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn listen(&self) -> std::io::Result<OwnedFd> {
        sock::listen_below(&self.dir, SOCKET)
    }

    /// Whether there is a name to connect to. It is missed only where it is known to be gone.
    pub(crate) fn has_socket(&self) -> bool {
        self.dir.names().map_or(true, |names| names.iter().any(|name| name == SOCKET))
    }

    /// Connects to whoever serves the session, or will.
    ///
    /// # Errors
    /// If nobody does.
    pub(crate) fn connect(&self) -> std::io::Result<OwnedFd> {
        let gone = "its socket is gone; `abide upgrade` has its guard listen anew";
        sock::connect_below(&self.dir, SOCKET).map_err(|error| {
            let kind = error.kind();
            if kind == std::io::ErrorKind::NotFound { std::io::Error::new(kind, gone) } else { error }
        })
    }

    /// The FIFO to wait on.
    ///
    /// # Errors
    /// If there is none.
    pub fn waiting(&self) -> std::io::Result<File> {
        self.dir.wait_on_fifo(ALIVE)
    }

    /// Holds the FIFO that waiters wait on.
    ///
    /// # Errors
    /// If there is none.
    pub fn hold(&self) -> std::io::Result<File> {
        self.dir.hold_fifo(ALIVE)
    }

    /// Makes the recording.
    ///
    /// # Errors
    /// If there is one, or no room for one.
    pub fn create_recording(&self) -> std::io::Result<File> {
        self.dir.create_log(RECORDING, 0)
    }

    /// The recording, to go on writing.
    ///
    /// # Errors
    /// If there is none that may be written.
    pub(crate) fn append_recording(&self) -> std::io::Result<File> {
        self.dir.append(RECORDING)
    }

    /// The recording, to let go of some of it.
    pub(crate) fn sheddable_recording(&self) -> std::io::Result<File> {
        self.dir.change(RECORDING)
    }

    /// The recording, to read while it grows.
    pub(crate) fn growing_recording(&self) -> std::io::Result<File> {
        self.dir.read(RECORDING)
    }

    /// The recording, to read, packed or not.
    ///
    /// # Errors
    /// If there is none that may be read.
    pub fn recording(&self) -> std::io::Result<RecordingFile> {
        match self.dir.read(RECORDING) {
            Ok(file) => Ok(file.into()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // Packed in the instant between the two, or before.
                Ok(RecordingFile::Packed(Packed::open(self.dir.read(PACKED)?)?))
            }
            Err(error) => Err(error),
        }
    }

    /// How much room a recording takes that is not packed; none if there is none.
    pub(crate) fn unpacked_bytes(&self) -> Option<u64> {
        Some(room(&self.dir.read(RECORDING).ok()?.metadata().ok()?)).filter(|bytes| *bytes > 0)
    }

    /// Packs the recording, which nobody may add to any more. Gives how long it was, and how long the packed one is;
    /// none if there is nothing to pack.
    pub(crate) fn pack_recording(&self) -> std::io::Result<Option<(u64, u64)>> {
        let recording = match self.dir.read(RECORDING) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            recording => recording?,
        };
        let before = room(&recording.metadata()?);
        if before == 0 {
            return Ok(None);
        }
        // What another left half done, or did and could not remove what it was made of.
        for name in [PACKING, PACKED] {
            let _ = self.dir.remove(name);
        }
        let packing = self.dir.create_log(PACKING, 0)?;
        let packed = pack(&recording, &packing).and_then(|()| packing.sync_all());
        let published = packed.and_then(|()| self.dir.publish(PACKING, PACKED));
        if !published.inspect_err(|_| drop(self.dir.remove(PACKING)))? {
            return Ok(None);
        }
        self.dir.flush()?;
        self.dir.remove(RECORDING)?;
        Ok(Some((before, packing.metadata()?.len())))
    }

    /// What the last host published; none if it cannot be read.
    pub(crate) fn view(&self) -> Option<View> {
        let mut bytes = Vec::new();
        self.dir.read(VIEW).ok()?.take(LONGEST_VIEW).read_to_end(&mut bytes).ok()?;
        body_from_line(&bytes).ok()
    }

    /// Publishes what only a host knows.
    pub(crate) fn replace_view(&self, view: &View) -> std::io::Result<()> {
        self.dir.replace(VIEW, &body_to_line(view)?)
    }

    /// Who is to be told of the session; none if nobody is.
    pub(crate) fn told(&self) -> Option<Told> {
        let mut bytes = Vec::new();
        self.dir.read(NOTIFY).ok()?.take(LONGEST_VIEW).read_to_end(&mut bytes).ok()?;
        body_from_line(&bytes).ok()
    }

    /// Keeps who is to be told of the session.
    pub(crate) fn set_told(&self, told: &Told) -> std::io::Result<()> {
        self.dir.replace(NOTIFY, &body_to_line(told)?)
    }

    /// The keyframes, to read.
    pub(crate) fn keyframes(&self) -> std::io::Result<File> {
        self.dir.read(KEYFRAMES)
    }

    /// The keyframes, to add to; made if there are none.
    pub(crate) fn append_keyframes(&self) -> std::io::Result<File> {
        self.dir.ensure_log(KEYFRAMES)
    }

    /// Keeps these keyframes in the place of the others.
    pub(crate) fn replace_keyframes(&self, kept: &mut impl Read) -> std::io::Result<()> {
        self.dir.replace_with(KEYFRAMES, kept)
    }

    /// Forgets the keyframes; whoever needs a screen replays the recording.
    pub(crate) fn remove_keyframes(&self) -> std::io::Result<()> {
        match self.dir.remove(KEYFRAMES) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// How far the index goes, to read.
    pub(crate) fn index(&self) -> std::io::Result<File> {
        self.dir.read(INDEX)
    }

    /// Tells how far the index goes.
    pub(crate) fn replace_index(&self, bytes: &[u8]) -> std::io::Result<()> {
        self.dir.replace(INDEX, bytes)
    }

    /// The lines of the index, to read.
    pub(crate) fn index_lines(&self) -> std::io::Result<File> {
        self.dir.read(INDEX_LINES)
    }

    /// The lines of the index, to add to; made if there are none.
    pub(crate) fn append_index_lines(&self) -> std::io::Result<File> {
        self.dir.ensure_log(INDEX_LINES)
    }

    /// The open directory, to hand to a guard.
    pub(crate) const fn dir(&self) -> &PrivateDir {
        &self.dir
    }

    /// A session's directory that our launcher made and trusted.
    pub(crate) const fn from_trusted(dir: PrivateDir) -> Self {
        Self { dir, kept: Kept::NOTHING, id: None }
    }

    /// What the slot holds.
    pub(crate) fn slot<'a>(&self, room: &'a mut [u8; disk::Slot::SIZE]) -> std::io::Result<&'a [u8]> {
        // A regular file gives all it has.
        let length = self.dir.read(OUTCOME)?.read(room)?;
        Ok(&room[..length])
    }
}

/// How much room a file takes: what was let go of it takes none.
fn room(file: &Metadata) -> u64 {
    const BLOCK: u64 = 512;
    match file.blocks() {
        // It stands where its name does.
        0 => file.len(),
        blocks => file.len().min(blocks * BLOCK),
    }
}
