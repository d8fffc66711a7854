//! Files that can be trusted: private directories, one-write appends, reserved slots, publishing once.
//! Every path is one name below an open directory, and no link is ever followed.

mod foreign;
mod hold;
mod log;
mod room;
mod tree;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use abide_core::evidence::frame::SLOT_SIZE;
use abide_core::identity::FileId;
use rustix::fs::{
    Access, AtFlags, CWD, FallocateFlags, FileType, Mode, OFlags, RawDir, RenameFlags, fallocate, fstat,
    mkdirat, openat, renameat_with,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::clock;

pub use foreign::{Foreign, open_foreign, read_foreign};
pub use hold::reopen;
pub use log::{Room, append, append_some, length, make_room, read_pieces};
pub use room::{next_data, punch, room, room_for_files};

/// A directory that is ours and that nobody else may write to. We make them closed to everyone else.
#[derive(Debug)]
pub struct PrivateDir(OwnedFd);

/// Why a directory is not to be trusted.
#[derive(Debug)]
pub enum Untrusted {
    NotThere,
    /// A link or not a directory.
    NotADirectory,
    /// Owned by this uid.
    Foreign(u32),
    /// Others may write to it, with this mode.
    Open(u32),
    Io(io::Error),
}

impl Untrusted {
    #[must_use]
    pub fn says(&self) -> String {
        match self {
            Self::NotThere => "it does not exist".to_owned(),
            Self::NotADirectory => "it is a link or not a directory".to_owned(),
            Self::Foreign(uid) => format!("it belongs to uid {uid}"),
            Self::Open(mode) => format!("others may write to it (mode {mode:03o})"),
            Self::Io(error) => error.to_string(),
        }
    }
}

impl PrivateDir {
    /// Opens a directory by its path.
    ///
    /// # Errors
    /// If it is not a directory of ours that others cannot write to.
    pub fn open(path: &Path) -> Result<Self, Untrusted> {
        open_private(CWD, path)
    }

    /// Opens a directory below this one.
    ///
    /// # Errors
    /// If it is not a directory of ours that others cannot write to.
    pub fn open_below(&self, name: &str) -> Result<Self, Untrusted> {
        open_private(&self.0, Path::new(name))
    }

    /// Opens a directory below this one, making it if it is not there.
    ///
    /// # Errors
    /// If it can neither be made nor trusted.
    pub fn ensure_below(&self, name: &str) -> Result<Self, Untrusted> {
        make(&self.0, Path::new(name))?;
        self.open_below(name)
    }

    /// Opens a directory by its path, making it and its parents if they are not there.
    ///
    /// # Errors
    /// If it can neither be made nor trusted.
    pub fn ensure(path: &Path) -> Result<Self, Untrusted> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(Untrusted::Io)?;
        }
        make(CWD, path)?;
        Self::open(path)
    }

    /// Whether we may add to it, as the kernel says.
    ///
    /// # Errors
    /// Why not.
    pub fn may_add(&self) -> io::Result<()> {
        let wanted = Access::WRITE_OK | Access::EXEC_OK;
        Ok(rustix::fs::accessat(&self.0, ".", wanted, AtFlags::EACCESS)?)
    }

    /// The names in it, in no order.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        use std::os::unix::ffi::OsStringExt;
        let mut names = Vec::new();
        // Opened anew: where one reader is, is nothing to another.
        let dir = openat(&self.0, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let mut room = [MaybeUninit::uninit(); 32 * 1024];
        let mut entries = RawDir::new(&dir, &mut room);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name.to_vec()));
            }
        }
        Ok(names)
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// If it is not a regular file that may be read.
    pub fn read(&self, name: &str) -> io::Result<File> {
        self.file(name, OFlags::RDONLY)
    }

    /// Opens a file that is only ever appended to, and can be locked and read.
    ///
    /// # Errors
    /// If it is not a regular file that may be written.
    pub fn append(&self, name: &str) -> io::Result<File> {
        self.file(name, OFlags::RDWR | OFlags::APPEND)
    }

    /// Opens a file to change some of it where it stands.
    ///
    /// # Errors
    /// If it is not a regular file that may be written.
    pub fn change(&self, name: &str) -> io::Result<File> {
        self.file(name, OFlags::RDWR)
    }

    /// Makes a file that is only ever appended to, with `reserve` bytes of room kept for it.
    ///
    /// # Errors
    /// If it is there already or cannot be made.
    pub fn create_log(&self, name: &str, reserve: u64) -> io::Result<File> {
        let file = self.file(name, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL)?;
        if reserve == 0 {
            return Ok(file);
        }
        match fallocate(&file, FallocateFlags::KEEP_SIZE, 0, reserve) {
            // Some file systems cannot reserve; the slot is what the outcome relies on.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(file),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens a file that is only ever appended to, making it if it is not there.
    ///
    /// # Errors
    /// If it cannot be made or is not a regular file that may be written.
    pub fn ensure_log(&self, name: &str) -> io::Result<File> {
        self.file(name, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)
    }

    /// The text of a link, which is never followed. None if there is no such link.
    ///
    /// # Errors
    /// If it cannot be read, or is something else.
    pub fn link_text(&self, name: &str) -> io::Result<Option<String>> {
        match rustix::fs::readlinkat(&self.0, name, Vec::new()) {
            Ok(text) => Ok(text.into_string().ok()),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Puts a link with this text in the place of whatever has the name, at once: nobody finds neither.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn set_link_text(&self, name: &str, text: &str) -> io::Result<()> {
        let draft = format!(".{name}-{:016x}", u64::from_ne_bytes(clock::random_bytes()?));
        rustix::fs::symlinkat(text, &self.0, draft.as_str())?;
        let replaced = rustix::fs::renameat(&self.0, draft.as_str(), &self.0, name);
        if replaced.is_err() {
            let _ = rustix::fs::unlinkat(&self.0, draft.as_str(), AtFlags::empty());
        }
        Ok(replaced?)
    }

    /// Puts a file with these bytes in the place of whatever has the name: readers find the one before or this one, whole.
    ///
    /// # Errors
    /// If there is no room; then nothing has changed.
    pub fn replace(&self, name: &str, mut bytes: &[u8]) -> io::Result<()> {
        self.replace_with(name, &mut bytes)
    }

    /// The same with all that can be read of this, which is not held in memory.
    ///
    /// # Errors
    /// If there is no room, or it cannot be read; then nothing has changed.
    pub fn replace_with(&self, name: &str, from: &mut impl io::Read) -> io::Result<()> {
        let draft = format!(".{name}");
        // What one that was killed left, or somebody planted: a link, another name of some file, a FIFO.
        let _ = self.remove_tree(&draft);
        let mut file = self.file(&draft, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        let replaced = io::copy(from, &mut file)
            .and_then(|_| Ok(rustix::fs::renameat(&self.0, draft.as_str(), &self.0, name)?));
        // Nothing is left of what came to nothing.
        replaced.inspect_err(|_| drop(self.remove(&draft)))
    }

    /// Makes a slot: a file whose blocks are written now, so that writing into it later needs no room.
    ///
    /// # Errors
    /// If it is there already or there is no room.
    pub fn create_slot(&self, name: &str) -> io::Result<Slot> {
        let file = self.file(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)?;
        let reserved = fallocate(&file, FallocateFlags::empty(), 0, Slot::SIZE as u64);
        file.write_all_at(&[b'\n'; Slot::SIZE], 0)?;
        match reserved {
            Ok(()) => {}
            // Where blocks cannot be reserved, writing them out now is what makes them ours.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.sync_data()?,
            Err(errno) => return Err(errno.into()),
        }
        Ok(Slot(file))
    }

    /// Opens a slot that was made before.
    ///
    /// # Errors
    /// If it is not a regular file that may be written.
    pub fn open_slot(&self, name: &str) -> io::Result<Slot> {
        self.file(name, OFlags::RDWR).map(Slot)
    }

    /// Makes a FIFO: what waiters block on while somebody holds its other end.
    ///
    /// # Errors
    /// If it is there already or cannot be made.
    pub fn create_fifo(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mknodat(&self.0, name, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?)
    }

    /// Opens a FIFO to wait on, without waiting for anyone to hold it.
    ///
    /// # Errors
    /// If it is not a FIFO that may be read.
    pub fn wait_on_fifo(&self, name: &str) -> io::Result<File> {
        self.fifo(name, OFlags::RDONLY)
    }

    /// Holds a FIFO, so that those who wait on it go on waiting.
    ///
    /// # Errors
    /// If it is not a FIFO that may be written.
    pub fn hold_fifo(&self, name: &str) -> io::Result<File> {
        self.fifo(name, OFlags::RDWR)
    }

    /// Removes a file or an empty directory.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?),
            answer => Ok(answer?),
        }
    }

    /// Waits until the names in it are on the disk.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn flush(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.0) {
            // Some file systems keep directories in their own way and have nothing to wait for.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether the directory has not been removed.
    #[must_use]
    pub fn has_name(&self) -> bool {
        has_name(&self.0)
    }

    /// A directory that was opened and trusted by whoever started us.
    #[must_use]
    pub const fn from_trusted(dir: OwnedFd) -> Self {
        Self(dir)
    }

    /// Gives what stands under `from` the name `to`, unless that name is taken: then false, and nothing changes.
    ///
    /// # Errors
    /// If it can be given no name.
    pub fn publish(&self, from: &str, to: &str) -> io::Result<bool> {
        match renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            // A file system without it cannot tell which of two came first.
            Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::Unsupported.into()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn fifo(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat(&self.0, name, flags, Mode::empty())?;
        if kind(&file)? != FileType::Fifo {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a FIFO"));
        }
        Ok(file.into())
    }

    fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?;
        // A planted FIFO or device would block or answer anything.
        if kind(&file)? != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(file.into())
    }
}

impl AsFd for PrivateDir {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A file with blocks of its own, for the one thing that must be written when nothing else can be.
#[derive(Debug)]
pub struct Slot(File);

impl Slot {
    pub const SIZE: usize = SLOT_SIZE;

    /// Writes into the slot.
    ///
    /// # Errors
    /// If it does not fit, or the disk itself fails.
    pub fn fill(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > Self::SIZE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.write_all_at(bytes, 0)
    }
}

/// Whether we may add to a directory, as the kernel says.
///
/// # Errors
/// Why not.
pub fn may_add_to(dir: &Path) -> io::Result<()> {
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    Ok(rustix::fs::accessat(CWD, dir, wanted, AtFlags::EACCESS)?)
}

/// Whether some name leads to the file: it has not been removed.
#[must_use]
pub fn has_name(file: impl AsFd) -> bool {
    fstat(file).is_ok_and(|stat| stat.st_nlink > 0)
}

/// The file as the kernel knows it.
///
/// # Errors
/// If the kernel does not say.
pub fn file_id(file: impl AsFd) -> io::Result<FileId> {
    let stat = fstat(file)?;
    Ok(FileId { dev: stat.st_dev, ino: stat.st_ino })
}

fn kind(file: impl AsFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode))
}

fn make(parent: impl AsFd, name: &Path) -> Result<(), Untrusted> {
    match mkdirat(parent, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(Untrusted::Io(errno.into())),
    }
}

fn open_private(parent: impl AsFd, name: &Path) -> Result<PrivateDir, Untrusted> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // A slash behind a link would have it followed in spite of the flag.
    let name = name.components().as_path();
    let dir = openat(parent, name, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::NOENT => Untrusted::NotThere,
        Errno::NOTDIR | Errno::LOOP => Untrusted::NotADirectory,
        errno => Untrusted::Io(errno.into()),
    })?;
    let stat = fstat(&dir).map_err(|errno| Untrusted::Io(errno.into()))?;
    let mode = stat.st_mode & 0o777;
    if stat.st_uid != geteuid().as_raw() {
        return Err(Untrusted::Foreign(stat.st_uid));
    }
    if mode & 0o022 != 0 {
        return Err(Untrusted::Open(mode));
    }
    Ok(PrivateDir(dir))
}
