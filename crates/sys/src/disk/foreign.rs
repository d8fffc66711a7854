//! Files of other programs: read as they are, and replaced whole, where a link leads, with the mode and owner they had.
//! Only what is still as it was read is replaced.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use crate::clock;

/// As many links are followed as the kernel follows.
const LINKS: usize = 40;
const NONBLOCK: i32 = 0o4000;

/// What a name leads to, as it was read.
#[derive(Debug)]
pub struct Foreign {
    named: PathBuf,
    /// Where links lead.
    path: PathBuf,
    bytes: Option<Vec<u8>>,
}

impl Foreign {
    /// Reads what a name leads to; nothing need be there.
    ///
    /// # Errors
    /// If it cannot be read, is no file, or is longer than `most`.
    pub fn read(named: &Path, most: u64) -> io::Result<Self> {
        let path = followed(named)?;
        let bytes = read(&path, most)?;
        Ok(Self { named: named.to_owned(), path, bytes })
    }

    /// What was read; none where nothing is.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }

    /// Where it stands.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a link leads there.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        fs::symlink_metadata(&self.named).is_ok_and(|there| there.is_symlink())
    }

    /// Whether it could be replaced, as far as that can be told beforehand.
    ///
    /// # Errors
    /// Why not.
    pub fn may_replace(&self) -> io::Result<()> {
        if self.bytes.is_some() {
            let there = self.writable()?.metadata()?;
            if there.nlink() > 1 {
                return Err(io::Error::other("the file has other names, which would keep what was"));
            }
        }
        let folder = self.path.ancestors().skip(1).find(|folder| folder.is_dir());
        super::may_add_to(folder.ok_or(ErrorKind::NotFound)?)
    }

    /// Puts these bytes in its place: readers find what was or this, whole. False if somebody changed it meanwhile; then
    /// nothing is done.
    ///
    /// # Errors
    /// If that cannot be done; then nothing has changed.
    pub fn replace(&self, bytes: &[u8]) -> io::Result<bool> {
        self.may_replace()?;
        let folder = self.path.parent().ok_or(ErrorKind::InvalidInput)?;
        fs::create_dir_all(folder)?;
        let there = fs::metadata(&self.path).ok();
        let draft = folder.join(format!(".abide-{:016x}.part", u64::from_ne_bytes(clock::random_bytes()?)));
        let replaced = self.publish(&draft, there.as_ref(), bytes);
        if !matches!(replaced, Ok(true)) {
            let _ = fs::remove_file(&draft);
        }
        replaced
    }

    /// Removes it. False if somebody changed it meanwhile; then nothing is done.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn remove(&self) -> io::Result<bool> {
        self.may_replace()?;
        if !self.is_as_read()? {
            return Ok(false);
        }
        fs::remove_file(&self.path)?;
        Ok(true)
    }

    fn publish(&self, draft: &Path, there: Option<&Metadata>, bytes: &[u8]) -> io::Result<bool> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
        if let Some(there) = there {
            let made = file.metadata()?;
            if (made.uid(), made.gid()) != (there.uid(), there.gid()) {
                fchown(&file, Some(there.uid()), Some(there.gid()))?;
            }
            file.set_permissions(Permissions::from_mode(there.mode() & 0o7777))?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        if !self.is_as_read()? {
            return Ok(false);
        }
        fs::rename(draft, &self.path)?;
        Ok(true)
    }

    fn is_as_read(&self) -> io::Result<bool> {
        let most = self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        match read(&self.path, most) {
            Ok(now) => Ok(now == self.bytes),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn writable(&self) -> io::Result<File> {
        OpenOptions::new().write(true).custom_flags(NONBLOCK).open(&self.path)
    }
}

fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    match read_foreign(path, most) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Opens a file of another program's for reading, where links lead; what is none is refused, and never waited for.
///
/// # Errors
/// If it is not a regular file that may be read.
pub fn open_foreign(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(NONBLOCK).open(path)?;
    let is_file = file.metadata()?.is_file();
    if is_file { Ok(file) } else { Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file")) }
}

/// Reads such a file, whole.
///
/// # Errors
/// If it cannot be read, is no file, or is longer than `most`.
pub fn read_foreign(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_foreign(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Where a name leads, also if nothing is there yet.
fn followed(named: &Path) -> io::Result<PathBuf> {
    let mut path = named.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("")).join(link),
            Err(error) if [ErrorKind::InvalidInput, ErrorKind::NotFound].contains(&error.kind()) => {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many links, one leading to the next"))
}
