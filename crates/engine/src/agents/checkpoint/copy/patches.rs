//! A copy of a database with patches: an image of it, and behind that, for each later checkpoint, the parts that had changed since
//! the one before. A part is where it was last written to, else in the image.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use abide_core::evidence::Patched;
use abide_sys::{disk, spawn};

use super::read_at;

const PART: usize = 4096;
/// What a patch begins with: how many parts follow. Their numbers stand before them.
const HEAD: usize = 4;
const NUMBER: usize = 4;

/// Where each part of a checkpoint is.
#[derive(Debug)]
pub(super) struct Patches {
    base: u64,
    places: BTreeMap<u32, u64>,
}

impl Patches {
    pub(super) fn read(copy: &File, patched: Patched) -> io::Result<Self> {
        let mut patches = Self { base: patched.base, places: BTreeMap::new() };
        let mut at = patched.base;
        while at < patched.end {
            let numbers = patch(copy, at, patched.end)?;
            at += (HEAD + numbers.len() * NUMBER) as u64;
            for number in numbers {
                patches.places.insert(number, at);
                at += PART as u64;
            }
        }
        if at == patched.end && copy.metadata()?.len() >= at { Ok(patches) } else { Err(damaged()) }
    }

    /// The numbers of the parts of a database, so many bytes long, that are not as they are here.
    pub(super) fn changed(&self, copy: &File, now: &File, size: u64) -> io::Result<Vec<u32>> {
        let (mut one, mut other, mut changed) = (vec![0; PART], vec![0; PART], Vec::new());
        for number in numbers(size)? {
            self.part(copy, number, &mut one)?;
            part(now, number, &mut other)?;
            if one != other {
                changed.push(number);
            }
        }
        Ok(changed)
    }

    /// All of it, so many bytes long, put together in a file that has no name.
    pub(super) fn whole(&self, copy: &File, size: u64) -> io::Result<File> {
        let whole = File::from(spawn::parcel(&[])?);
        let mut bytes = vec![0; PART];
        for number in numbers(size)? {
            self.part(copy, number, &mut bytes)?;
            whole.write_all_at(&bytes, start(number))?;
        }
        whole.set_len(size)?;
        Ok(whole)
    }

    fn part(&self, copy: &File, number: u32, bytes: &mut [u8]) -> io::Result<()> {
        if let Some(at) = self.places.get(&number) {
            return copy.read_exact_at(bytes, *at);
        }
        bytes.fill(0);
        let left = self.base.saturating_sub(start(number));
        let length = usize::try_from(left).map_or(PART, |left| left.min(PART));
        copy.read_exact_at(&mut bytes[..length], start(number))
    }
}

/// How much room a patch takes.
pub(super) fn room(changed: &[u32]) -> u64 {
    (HEAD + changed.len() * (NUMBER + PART)) as u64
}

/// Adds a patch to the end of a copy.
pub(super) fn add(copy: &File, now: &File, changed: &[u32]) -> io::Result<()> {
    let count = u32::try_from(changed.len()).map_err(|_| damaged())?;
    let mut head = count.to_le_bytes().to_vec();
    head.extend(changed.iter().flat_map(|number| number.to_le_bytes()));
    write(copy, &head)?;
    let mut bytes = vec![0; PART];
    for number in changed {
        part(now, *number, &mut bytes)?;
        write(copy, &bytes)?;
    }
    Ok(())
}

/// The numbers of the parts of the patch that begins here.
fn patch(copy: &File, at: u64, end: u64) -> io::Result<Vec<u32>> {
    let mut head = [0; HEAD];
    copy.read_exact_at(&mut head, at)?;
    let count = u32::from_le_bytes(head);
    if u64::from(count) * ((NUMBER + PART) as u64) > end.saturating_sub(at) {
        return Err(damaged());
    }
    let mut numbers = vec![0; count as usize * NUMBER];
    copy.read_exact_at(&mut numbers, at + HEAD as u64)?;
    let number = |bytes: &[u8]| bytes.try_into().map(u32::from_le_bytes).map_err(|_| damaged());
    numbers.chunks(NUMBER).map(number).collect()
}

/// A part of a file, with nothing behind its end.
fn part(file: &File, number: u32, bytes: &mut [u8]) -> io::Result<()> {
    let length = read_at(file, bytes, start(number))?;
    bytes[length..].fill(0);
    Ok(())
}

fn numbers(size: u64) -> io::Result<std::ops::Range<u32>> {
    u32::try_from(size.div_ceil(PART as u64)).map(|count| 0..count).map_err(|_| damaged())
}

fn start(number: u32) -> u64 {
    u64::from(number) * PART as u64
}

fn write(copy: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        bytes = &bytes[disk::append_some(copy, bytes)?..];
    }
    Ok(())
}

fn damaged() -> io::Error {
    io::ErrorKind::InvalidData.into()
}
