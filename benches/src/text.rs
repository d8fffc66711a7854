//! What programs print: long plain and colourful text, screens full of it, and a gigabyte of it with pages in between.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// After so many lines of a long text a page is drawn.
const BETWEEN_PAGES: u64 = 200;

pub fn plain(number: u64) -> String {
    format!("{number:>10} the quick brown fox jumps over the lazy dog and then over the next one\n")
}

pub fn colourful(number: u64) -> String {
    let (red, green) = (number % 256, number / 7 % 256);
    format!(
        "\x1b[1;3{}m{number}\x1b[0m \x1b[38;2;{red};{green};99mcolour\x1b[4m under\x1b[0m \x1b[48;5;{red}mback\x1b[m\n",
        number % 8
    )
}

/// Colourful lines, and now and then a page in the other screen.
pub fn mixed(number: u64) -> String {
    let mut text = colourful(number);
    if number.is_multiple_of(BETWEEN_PAGES) {
        let rows = (1..24).map(|row| format!("\x1b[{row};1H\x1b[K{row} {}", number * row % 7919));
        let rows: String = rows.collect();
        text += &format!("\x1b[?1049h\x1b[H{rows}\x1b[24;1Hpage {number}\x1b[?1049l");
    }
    text
}

/// Writes so many bytes of lines, or a little more, and says how many.
pub fn write(path: &Path, bytes: u64, line: fn(u64) -> String) -> io::Result<u64> {
    let mut to = BufWriter::new(File::create(path)?);
    let mut written = 0;
    for number in 0.. {
        if written >= bytes {
            break;
        }
        let text = line(number);
        to.write_all(text.as_bytes())?;
        written += text.len() as u64;
    }
    to.flush()?;
    Ok(written)
}

/// What row a screen shows in this place, without its colours.
pub fn row(number: usize, cols: usize) -> String {
    let words = format!("row {number} of the screen with words ");
    words.chars().cycle().take(cols - 1).collect()
}

/// Lines that scroll by, and then a screen of so many rows and one for the cursor.
pub fn screen(rows: usize, cols: usize) -> String {
    let before: String = (0..200).map(colourful).collect();
    before + &page(rows, cols)
}

/// That screen alone.
pub fn page(rows: usize, cols: usize) -> String {
    let colour = |number: usize| format!("\x1b[3{}m{}\x1b[m\n", number % 7 + 1, row(number, cols));
    (1..rows).map(colour).collect()
}
