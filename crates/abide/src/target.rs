//! Where a file goes that a command makes: standard output, or what the user named. A file appears there once it is whole,
//! with the mode it had or the umask gives; a link is followed; what is no file is written to as it is.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use abide_core::failure::{Code, Failure};
use abide_engine::signals::{self, Signals};

/// As many links are followed as the kernel follows.
const LINKS: usize = 40;
/// So many drafts of processes that were killed may lie about and have our pid.
const DRAFTS: u32 = 100;

/// What was named, and what stands there.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    named: Option<&'a Path>,
    leads: Leads,
    /// A new file is its owner's alone, whatever the umask gives.
    private: bool,
}

#[derive(Debug)]
enum Leads {
    /// To standard output, or to what is no file: it is written to as it is.
    Through,
    /// To this file: it is made beside it, and then put in its place.
    File(PathBuf, Option<Metadata>),
}

/// What is being written.
pub(crate) struct Writing {
    writer: BufWriter<Box<dyn Write>>,
    place: String,
    bytes: u64,
    /// The file that is being written, and what it will be called.
    draft: Option<(PathBuf, PathBuf)>,
}

/// Writes a file that is in memory already, and says how long it is.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<u64, Failure> {
    let target = Target::of(Some(path))?;
    // What ends this program comes when the file is whole.
    let _signals = target.signals()?;
    let mut writing = target.open()?;
    let written = writing.write_all(bytes);
    writing.written(written)?;
    writing.publish()
}

impl<'a> Target<'a> {
    /// Looks where a name leads; none is standard output.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub(crate) fn of(named: Option<&'a Path>) -> Result<Self, Failure> {
        let leads = match named {
            None => Leads::Through,
            Some(path) => followed(path).map_err(|error| refused(&path.display().to_string(), &error))?,
        };
        Ok(Self { named, leads, private: false })
    }

    /// The same, for what only its owner should read.
    pub(crate) fn private(self) -> Self {
        Self { private: true, ..self }
    }

    /// The signals that end a program, to be read from now on, where a draft would be left behind if they did.
    ///
    /// # Errors
    /// If the system has no descriptor to give.
    pub(crate) fn signals(&self) -> Result<Option<Signals>, Failure> {
        match &self.leads {
            Leads::Through => Ok(None),
            Leads::File(..) => Signals::heeded(&[signals::HUP, signals::INT, signals::TERM])
                .map(Some)
                .map_err(|error| Failure::io("hear", &"signals", &error)),
        }
    }

    /// Opens it for writing.
    ///
    /// # Errors
    /// If that cannot be.
    pub(crate) fn open(self) -> Result<Writing, Failure> {
        let Some(named) = self.named else {
            return Ok(Writing::to(Box::new(io::stdout()), "standard output".to_owned(), None));
        };
        let place = named.display().to_string();
        let opened = match self.leads {
            Leads::Through => through(named).map(|file| (file, None)),
            Leads::File(path, there) => match draft(&path, there.as_ref(), self.private) {
                Ok((file, draft)) => Ok((file, Some((draft, path)))),
                // The file may be written to, its directory may not.
                Err(error) if there.is_some() && error.kind() != ErrorKind::StorageFull => {
                    through(&path).map(|file| (file, None))
                }
                Err(error) => Err(error),
            },
        };
        let (file, draft) = opened.map_err(|error| refused(&place, &error))?;
        Ok(Writing::to(Box::new(file), place, draft))
    }
}

impl Writing {
    fn to(writer: Box<dyn Write>, place: String, draft: Option<(PathBuf, PathBuf)>) -> Self {
        Self { writer: BufWriter::new(writer), place, bytes: 0, draft }
    }

    /// Whether anybody still reads.
    ///
    /// # Errors
    /// If it could not be written for another reason.
    pub(crate) fn written(&self, written: io::Result<()>) -> Result<bool, Failure> {
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe && self.draft.is_none() => Ok(false),
            Err(error) => Err(refused(&self.place, &error)),
        }
    }

    /// Gives the file its name, and says its length.
    ///
    /// # Errors
    /// If that cannot be.
    pub(crate) fn publish(mut self) -> Result<u64, Failure> {
        self.finish()?;
        if let Some((draft, path)) = &self.draft {
            fs::rename(draft, path).map_err(|error| refused(&self.place, &error))?;
            self.draft = None;
        }
        Ok(self.bytes)
    }
}

impl Writing {
    /// The same, but never in the place of a file that came meanwhile.
    ///
    /// # Errors
    /// If one came, or it cannot be given its name.
    pub(crate) fn publish_anew(mut self) -> Result<u64, Failure> {
        self.finish()?;
        if let Some((draft, path)) = &self.draft {
            fs::hard_link(draft, path).map_err(|error| refused(&self.place, &error))?;
        }
        Ok(self.bytes)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        let flushed = self.writer.flush();
        self.written(flushed).map(|_| ())
    }
}

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// What is not whole is not left behind.
impl Drop for Writing {
    fn drop(&mut self) {
        if let Some((draft, _)) = &self.draft {
            let _ = fs::remove_file(draft);
        }
    }
}

/// Where a name leads.
fn followed(named: &Path) -> io::Result<Leads> {
    let there = match fs::metadata(named) {
        Ok(there) if there.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        Ok(there) if !there.is_file() => return Ok(Leads::Through),
        Ok(there) => Some(there),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if there.is_none() && named.as_os_str().as_bytes().ends_with(b"/") {
        return Err(ErrorKind::IsADirectory.into());
    }
    let mut path = named.to_owned();
    for _ in 0..LINKS {
        let Ok(link) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
    let Some(there) = there else { return Ok(Leads::File(path, None)) };
    // Only what may be written to may be replaced.
    OpenOptions::new().write(true).open(named)?;
    let same = |other: Metadata| (other.dev(), other.ino()) == (there.dev(), there.ino());
    // A link of the kernel's own leads to what need have no name.
    let has_name = fs::symlink_metadata(&path).is_ok_and(same);
    Ok(if has_name { Leads::File(path, Some(there)) } else { Leads::Through })
}

fn through(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).truncate(true).open(path)
}

/// A file beside the one that it will replace, as open to others as that one, and where it stands.
fn draft(path: &Path, there: Option<&Metadata>, private: bool) -> io::Result<(File, PathBuf)> {
    let mode = if there.is_some() || private { 0o600 } else { 0o666 };
    let mut number = 0;
    let (file, draft) = loop {
        let name = OsString::from(format!(".abide-{}-{number}.part", std::process::id()));
        let draft = path.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < DRAFTS => number += 1,
            opened => break (opened?, draft),
        }
    };
    if let Some(there) = there {
        // Only root may give files away.
        let _ = fchown(&file, Some(there.uid()), Some(there.gid()));
        if let Err(error) = file.set_permissions(Permissions::from_mode(there.mode() & 0o7777)) {
            let _ = fs::remove_file(&draft);
            return Err(error);
        }
    }
    Ok((file, draft))
}

/// What cannot be written lies elsewhere than the home, so what helps the home is no way out.
fn refused(place: &str, error: &io::Error) -> Failure {
    let denied = error.kind() == ErrorKind::PermissionDenied;
    let code = if denied { Code::Permission } else { Code::Io };
    let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded].contains(&error.kind());
    let way_out = match error.kind() == ErrorKind::IsADirectory {
        true => "name a file in it",
        false if full => "there is no room: write it elsewhere",
        false => "write it elsewhere, with -o FILE",
    };
    Failure::new(code, format!("cannot write to {place}: {error}")).hint(way_out)
}
