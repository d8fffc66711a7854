//! MP4: the boxes around the pictures, with the index in front.

use std::io;
use std::time::Duration;

/// Units of time a second.
const TICKS: u32 = 1000;
/// No rotation, no scale.
const IDENTITY: [u32; 9] = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000];

/// One picture in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) at: Duration,
    pub(super) bytes: u32,
    /// It stands for itself.
    pub(super) key: bool,
}

/// All that the index tells.
#[derive(Debug)]
pub(super) struct Track<'a> {
    pub(super) size: (usize, usize),
    pub(super) level: u8,
    pub(super) parameters: [Vec<u8>; 2],
    pub(super) samples: &'a [Sample],
    pub(super) until: Duration,
}

/// A box: its name and what is in it.
fn atom(name: &[u8; 4], parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut atom = ((length + 8) as u32).to_be_bytes().to_vec();
    atom.extend(name);
    parts.iter().for_each(|part| atom.extend(*part));
    atom
}

/// Numbers of 32 bits.
fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

/// A box with a version of 0, these flags, and numbers.
fn full(name: &[u8; 4], flags: u32, body: &[u32]) -> Vec<u8> {
    atom(name, &[&flags.to_be_bytes(), &numbers(body)])
}

impl Track<'_> {
    fn ticks(at: Duration) -> u32 {
        u32::try_from(at.as_millis() * u128::from(TICKS) / 1000).unwrap_or(u32::MAX)
    }

    /// How long each picture lasts.
    fn lengths(&self) -> Vec<u32> {
        let times = self.samples.iter().map(|sample| Self::ticks(sample.at));
        let times: Vec<u32> = times.chain([Self::ticks(self.until)]).collect();
        times.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).max(1)).collect()
    }

    /// All that stands before the pictures.
    ///
    /// # Errors
    /// If they are more than such a file can hold.
    pub(super) fn head(&self) -> io::Result<Vec<u8>> {
        let pictures: u64 = self.samples.iter().map(|sample| u64::from(sample.bytes)).sum();
        // The index is as long wherever the pictures begin.
        let start = self.index(0).len() as u64 + 8;
        let whole = u32::try_from(start + pictures);
        whole.map_err(|_| io::Error::other("the video would be longer than 4 GB"))?;
        let mut head = self.index(start as u32);
        head.extend((pictures as u32 + 8).to_be_bytes());
        head.extend(b"mdat");
        Ok(head)
    }

    /// The index of pictures that begin there.
    fn index(&self, pictures: u32) -> Vec<u8> {
        let mut head = atom(b"ftyp", &[b"isom", &numbers(&[512]), b"isomiso2avc1mp41"]);
        let lasts: u32 = self.lengths().iter().sum();
        let (width, height) = (self.size.0 as u32, self.size.1 as u32);
        let mut whole = vec![0, 0, TICKS, lasts, 0x1_0000, 0x0100_0000, 0, 0];
        whole.extend(IDENTITY);
        whole.extend([0, 0, 0, 0, 0, 0, 2]);
        let mut track = vec![0, 0, 1, 0, lasts, 0, 0, 0, 0];
        track.extend(IDENTITY);
        track.extend([width << 16, height << 16]);
        let names = atom(b"hdlr", &[&numbers(&[0, 0]), b"vide", &numbers(&[0, 0, 0]), b"video\0"]);
        // The language is not determined.
        let media = full(b"mdhd", 0, &[0, 0, TICKS, lasts, 0x55C4_0000]);
        let here = full(b"url ", 1, &[]);
        let data = atom(b"dinf", &[&atom(b"dref", &[&numbers(&[0, 1]), &here])]);
        let info = atom(b"minf", &[&full(b"vmhd", 1, &[0, 0]), &data, &self.table(pictures)]);
        let media = atom(b"mdia", &[&media, &names, &info]);
        let track = atom(b"trak", &[&full(b"tkhd", 3, &track), &media]);
        head.extend(atom(b"moov", &[&full(b"mvhd", 0, &whole), &track]));
        head
    }

    /// Where each picture is, how long it is and how long it lasts.
    fn table(&self, pictures: u32) -> Vec<u8> {
        let count = self.samples.len() as u32;
        let mut lasts: Vec<[u32; 2]> = Vec::new();
        for length in self.lengths() {
            match lasts.last_mut() {
                Some([times, known]) if *known == length => *times += 1,
                Some(_) | None => lasts.push([1, length]),
            }
        }
        let mut times = vec![lasts.len() as u32];
        times.extend(lasts.iter().flatten());
        let keys = self.samples.iter().enumerate().filter(|(_, sample)| sample.key);
        let mut keys: Vec<u32> = keys.map(|(index, _)| index as u32 + 1).collect();
        keys.insert(0, keys.len() as u32);
        let mut sizes = vec![0, count];
        sizes.extend(self.samples.iter().map(|sample| sample.bytes));
        atom(
            b"stbl",
            &[
                &atom(b"stsd", &[&numbers(&[0, 1]), &self.description()]),
                &full(b"stts", 0, &times),
                &full(b"stss", 0, &keys),
                &full(b"stsc", 0, &[1, 1, count, 1]),
                &full(b"stsz", 0, &sizes),
                &full(b"stco", 0, &[1, pictures]),
            ],
        )
    }

    /// What kind of pictures they are.
    fn description(&self) -> Vec<u8> {
        let [sequence, picture] = &self.parameters;
        let length = |unit: &[u8]| (unit.len() as u16).to_be_bytes();
        let config = atom(
            b"avcC",
            &[
                // Version, profile and level, lengths of four bytes, one unit of each kind.
                &[1, sequence[1], sequence[2], self.level, 0xFF, 0xE1],
                &length(sequence),
                sequence,
                &[1],
                &length(picture),
                picture,
            ],
        );
        let colours = atom(b"colr", &[b"nclx", &[0, 1, 0, 1, 0, 1, 0]]);
        let size = [self.size.0 as u16, self.size.1 as u16].map(u16::to_be_bytes).concat();
        atom(
            b"avc1",
            &[
                &numbers(&[0, 1, 0, 0, 0, 0]),
                &size,
                &numbers(&[0x48_0000, 0x48_0000, 0]),
                &[0, 1],
                &[0; 32],
                &[0, 24, 0xFF, 0xFF],
                &config,
                &colours,
            ],
        )
    }
}
