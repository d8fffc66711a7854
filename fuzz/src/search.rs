//! Any index: a point and columns are refused or come back as they were read; a line that is found is found where it is
//! said to be; and any text can be searched for.
//!
//! The input: a byte of choices, the length of a query, the query, the length of the texts (two bytes), the texts, all else
//! of the lines. The same bytes are also read as a point.

use abide_core::search::{Harvest, Lines, Point, Query, Reading, Sieve, Strictness, lines};

/// Any input.
///
/// # Panics
/// If something that must hold does not.
pub fn run(input: &[u8]) {
    let [choices, asked, bytes @ ..] = input else { return };
    check_point(bytes);
    let (query, bytes) = bytes.split_at(usize::from(*asked).min(bytes.len()));
    let [low, high, columns @ ..] = bytes else { return };
    let length = usize::from(u16::from_le_bytes([*low, *high])).min(columns.len());
    let (text, rest) = columns.split_at(length);
    check_columns(text, rest);
    check_query(*choices, &String::from_utf8_lossy(query), text);
}

fn check_point(bytes: &[u8]) {
    let Some(point) = Point::decode(bytes) else { return };
    let again = Point::decode(&point.encode()).expect("what was written can be read");
    assert_eq!(again.encode(), point.encode(), "a point is written otherwise than it was read");
    let _ = (Harvest::resume(&point.harvest), Lines::from_columns(&point.text, &point.rest));
}

fn check_columns(text: &[u8], rest: &[u8]) {
    let Some(mut read) = lines::read(text, rest) else { return };
    let known = |text: &[u8], rest: &[u8]| {
        Lines::from_columns(text, rest).expect("columns that can be read").columns()
    };
    let (text_again, rest_again) = known(text, rest);
    let again = lines::read(&text_again, &rest_again).expect("what was written can be read");
    // Of lines that are told apart by no letter, all are drawn over if one is.
    for (line, written) in read.iter_mut().zip(&again) {
        line.redrawn |= line.drawn && written.redrawn;
    }
    assert_eq!(again, read, "lines are written otherwise than they were read");
    assert_eq!(
        known(&text_again, &rest_again),
        (text_again, rest_again),
        "what is read is not what was written"
    );
}

fn check_query(choices: u8, query: &str, text: &[u8]) {
    let reading = [Reading::Words, Reading::Literal, Reading::Regex][usize::from(choices % 3)];
    let strictness = Strictness { case: choices & 4 != 0, whole_words: choices & 8 != 0 };
    let Ok(query) = Query::parse(query, reading, strictness) else { return };
    let passes = query.may_pass(&Sieve::of(text));
    let mut found = Vec::new();
    query.find(text, &mut |line| found.push(line));
    assert!(found.is_empty() || passes, "a sieve hides a line");
    for line in found {
        assert!(line.end <= text.len() && !text[line.clone()].contains(&b'\n'), "{line:?} is no line");
        if let Ok(line) = std::str::from_utf8(&text[line]) {
            let places = query.places(line);
            assert!(places.iter().all(|place| line.get(place.clone()).is_some()), "{places:?} of {line:?}");
        }
    }
}
