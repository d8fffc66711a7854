//! What is left after prediction, as codes of variable length (CAVLC). The tables are those of the standard (9.2).

use super::bits::Bits;

/// A code: how long it is, and its bits.
type Code = (u8, u8);

/// How many coefficients there are and how many of the last are ones: for each of three contexts, by 4 times the
/// count and the ones, first the lengths and then the bits. The fourth context has codes of six bits.
const TOKEN_LENGTHS: [[u8; 68]; 3] = [
    [
        1, 0, 0, 0, 6, 2, 0, 0, 8, 6, 3, 0, 9, 8, 7, 5, 10, 9, 8, 6, 11, 10, 9, 7, 13, 11, 10, 8, 13, 13, 11,
        9, 13, 13, 13, 10, 14, 14, 13, 11, 14, 14, 14, 13, 15, 15, 14, 14, 15, 15, 15, 14, 16, 15, 15, 15,
        16, 16, 16, 15, 16, 16, 16, 16, 16, 16, 16, 16,
    ],
    [
        2, 0, 0, 0, 6, 2, 0, 0, 6, 5, 3, 0, 7, 6, 6, 4, 8, 6, 6, 4, 8, 7, 7, 5, 9, 8, 8, 6, 11, 9, 9, 6, 11,
        11, 11, 7, 12, 11, 11, 9, 12, 12, 12, 11, 12, 12, 12, 11, 13, 13, 13, 12, 13, 13, 13, 13, 13, 14, 13,
        13, 14, 14, 14, 13, 14, 14, 14, 14,
    ],
    [
        4, 0, 0, 0, 6, 4, 0, 0, 6, 5, 4, 0, 6, 5, 5, 4, 7, 5, 5, 4, 7, 5, 5, 4, 7, 6, 6, 4, 7, 6, 6, 4, 8, 7,
        7, 5, 8, 8, 7, 6, 9, 8, 8, 7, 9, 9, 8, 8, 9, 9, 9, 8, 10, 9, 9, 9, 10, 10, 10, 10, 10, 10, 10, 10,
        10, 10, 10, 10,
    ],
];
const TOKEN_BITS: [[u8; 68]; 3] = [
    [
        1, 0, 0, 0, 5, 1, 0, 0, 7, 4, 1, 0, 7, 6, 5, 3, 7, 6, 5, 3, 7, 6, 5, 4, 15, 6, 5, 4, 11, 14, 5, 4, 8,
        10, 13, 4, 15, 14, 9, 4, 11, 10, 13, 12, 15, 14, 9, 12, 11, 10, 13, 8, 15, 1, 9, 12, 11, 14, 13, 8,
        7, 10, 9, 12, 4, 6, 5, 8,
    ],
    [
        3, 0, 0, 0, 11, 2, 0, 0, 7, 7, 3, 0, 7, 10, 9, 5, 7, 6, 5, 4, 4, 6, 5, 6, 7, 6, 5, 8, 15, 6, 5, 4,
        11, 14, 13, 4, 15, 10, 9, 4, 11, 14, 13, 12, 8, 10, 9, 8, 15, 14, 13, 12, 11, 10, 9, 12, 7, 11, 6, 8,
        9, 8, 10, 1, 7, 6, 5, 4,
    ],
    [
        15, 0, 0, 0, 15, 14, 0, 0, 11, 15, 13, 0, 8, 12, 14, 12, 15, 10, 11, 11, 11, 8, 9, 10, 9, 14, 13, 9,
        8, 10, 9, 8, 15, 14, 13, 13, 11, 14, 10, 12, 15, 10, 13, 12, 11, 14, 9, 12, 8, 10, 13, 8, 13, 7, 9,
        12, 9, 12, 11, 10, 5, 8, 7, 6, 1, 4, 3, 2,
    ],
];
/// The same for the means of colour.
const MEAN_TOKENS: [Code; 20] = [
    (2, 1),
    (0, 0),
    (0, 0),
    (0, 0),
    (6, 7),
    (1, 1),
    (0, 0),
    (0, 0),
    (6, 4),
    (6, 6),
    (3, 1),
    (0, 0),
    (6, 3),
    (7, 3),
    (7, 2),
    (6, 5),
    (6, 2),
    (8, 3),
    (8, 2),
    (7, 0),
];

/// How many zeros are before the last coefficient: by the number of coefficients.
const ZERO_LENGTHS: [&[u8]; 15] = [
    &[1, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 9],
    &[3, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 6, 6, 6, 6],
    &[4, 3, 3, 3, 4, 4, 3, 3, 4, 5, 5, 6, 5, 6],
    &[5, 3, 4, 4, 3, 3, 3, 4, 3, 4, 5, 5, 5],
    &[4, 4, 4, 3, 3, 3, 3, 3, 4, 5, 4, 5],
    &[6, 5, 3, 3, 3, 3, 3, 3, 4, 3, 6],
    &[6, 5, 3, 3, 3, 2, 3, 4, 3, 6],
    &[6, 4, 5, 3, 2, 2, 3, 3, 6],
    &[6, 6, 4, 2, 2, 3, 2, 5],
    &[5, 5, 3, 2, 2, 2, 4],
    &[4, 4, 3, 3, 1, 3],
    &[4, 4, 2, 1, 3],
    &[3, 3, 1, 2],
    &[2, 2, 1],
    &[1, 1],
];
const ZERO_BITS: [&[u8]; 15] = [
    &[1, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 1],
    &[7, 6, 5, 4, 3, 5, 4, 3, 2, 3, 2, 3, 2, 1, 0],
    &[5, 7, 6, 5, 4, 3, 4, 3, 2, 3, 2, 1, 1, 0],
    &[3, 7, 5, 4, 6, 5, 4, 3, 3, 2, 2, 1, 0],
    &[5, 4, 3, 7, 6, 5, 4, 3, 2, 1, 1, 0],
    &[1, 1, 7, 6, 5, 4, 3, 2, 1, 1, 0],
    &[1, 1, 5, 4, 3, 3, 2, 1, 1, 0],
    &[1, 1, 1, 3, 3, 2, 2, 1, 0],
    &[1, 0, 1, 3, 2, 1, 1, 1],
    &[1, 0, 1, 3, 2, 1, 1],
    &[0, 1, 1, 2, 1, 3],
    &[0, 1, 1, 1, 1],
    &[0, 1, 1, 1],
    &[0, 1, 1],
    &[0, 1],
];
const MEAN_ZEROS: [&[Code]; 3] =
    [&[(1, 1), (2, 1), (3, 1), (3, 0)], &[(1, 1), (2, 1), (2, 0)], &[(1, 1), (1, 0)]];

/// How many zeros are right before a coefficient: by how many are left.
const RUNS: [&[Code]; 7] = [
    &[(1, 1), (1, 0)],
    &[(1, 1), (2, 1), (2, 0)],
    &[(2, 3), (2, 2), (2, 1), (2, 0)],
    &[(2, 3), (2, 2), (2, 1), (3, 1), (3, 0)],
    &[(2, 3), (2, 2), (3, 3), (3, 2), (3, 1), (3, 0)],
    &[(2, 3), (3, 0), (3, 1), (3, 3), (3, 2), (3, 5), (3, 4)],
    &[
        (3, 7),
        (3, 6),
        (3, 5),
        (3, 4),
        (3, 3),
        (3, 2),
        (3, 1),
        (4, 1),
        (5, 1),
        (6, 1),
        (7, 1),
        (8, 1),
        (9, 1),
        (10, 1),
        (11, 1),
    ],
];

/// What decides by which table the number of coefficients is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// So many coefficients have the neighbours.
    Near(u8),
    /// They are the means of colour.
    Mean,
}

/// Writes coefficients in the order in which they are scanned, and gives how many there are.
pub(super) fn write(bits: &mut Bits, coefficients: &[i32], context: Context) -> u8 {
    // From the last one to the first: each with the zeros before it.
    let mut levels: Vec<(i32, usize)> = Vec::with_capacity(16);
    let mut run = 0;
    for value in coefficients {
        if *value == 0 {
            run += 1;
        } else {
            levels.push((*value, run));
            run = 0;
        }
    }
    levels.reverse();
    let ones = levels.iter().take(3).take_while(|(level, _)| level.abs() == 1).count();
    let count = levels.len();
    put(bits, token(count, ones, context));
    for (level, _) in &levels[..ones] {
        bits.flag(*level < 0);
    }
    write_levels(bits, &levels, ones);
    if count > 0 && count < coefficients.len() {
        write_zeros(bits, &levels, context);
    }
    count as u8
}

fn put(bits: &mut Bits, (length, value): Code) {
    bits.put(u32::from(value), u32::from(length));
}

fn token(count: usize, ones: usize, context: Context) -> Code {
    let index = 4 * count + ones;
    let from = |table: usize| (TOKEN_LENGTHS[table][index], TOKEN_BITS[table][index]);
    match context {
        Context::Mean => MEAN_TOKENS[index],
        Context::Near(0..2) => from(0),
        Context::Near(2..4) => from(1),
        Context::Near(4..8) => from(2),
        Context::Near(8..) if count == 0 => (6, 3),
        Context::Near(8..) => (6, (4 * (count - 1) + ones) as u8),
    }
}

fn write_levels(bits: &mut Bits, levels: &[(i32, usize)], ones: usize) {
    let mut suffix = u32::from(levels.len() > 10 && ones < 3);
    for (index, (level, _)) in levels.iter().enumerate().skip(ones) {
        let magnitude = level.unsigned_abs();
        let mut code = if *level > 0 { 2 * magnitude - 2 } else { 2 * magnitude - 1 };
        // The first that is not among the ones cannot be one, unless three are.
        if index == ones && ones < 3 {
            code -= 2;
        }
        let short = if suffix == 0 { 14 } else { 15 << suffix };
        if code < short {
            bits.put(1, (code >> suffix) + 1);
            bits.put(code, suffix);
        } else if suffix == 0 && code < 30 {
            bits.put(1, 15);
            bits.put(code - 14, 4);
        } else {
            bits.put(1, 16);
            bits.put(code - if suffix == 0 { 30 } else { short }, 12);
        }
        suffix = suffix.max(1);
        if magnitude > 3 << (suffix - 1) && suffix < 6 {
            suffix += 1;
        }
    }
}

fn write_zeros(bits: &mut Bits, levels: &[(i32, usize)], context: Context) {
    let mut left: usize = levels.iter().map(|(_, run)| run).sum();
    let table = levels.len() - 1;
    put(
        bits,
        match context {
            Context::Mean => MEAN_ZEROS[table][left],
            Context::Near(_) => (ZERO_LENGTHS[table][left], ZERO_BITS[table][left]),
        },
    );
    for (_, run) in &levels[..table] {
        if left == 0 {
            return;
        }
        put(bits, RUNS[left.min(7) - 1][*run]);
        left -= run;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panics if one code begins another, or if the codes leave more room than they should.
    fn check(name: &str, codes: &[Code], room: f64) {
        let texts: Vec<String> = codes
            .iter()
            .map(|(length, value)| format!("{value:0width$b}", width = usize::from(*length)))
            .collect();
        for (index, text) in texts.iter().enumerate() {
            assert_eq!(text.len(), usize::from(codes[index].0), "{name}: {text} is longer than it says");
            let others = texts.iter().enumerate().filter(|(other, _)| *other != index);
            for (_, other) in others {
                assert!(!other.starts_with(text.as_str()), "{name}: {text} begins {other}");
            }
        }
        let used: f64 = codes.iter().map(|(length, _)| 0.5_f64.powi(i32::from(*length))).sum();
        assert!((1.0 - used - room).abs() < 1e-9, "{name}: {used} of all codes is used");
    }

    #[test]
    fn no_code_of_a_table_begins_another() {
        let tokens = |most: usize, context: Context| -> Vec<Code> {
            let pairs = (0..=most).flat_map(|count| (0..=count.min(3)).map(move |ones| (count, ones)));
            pairs.map(|(count, ones)| token(count, ones, context)).collect()
        };
        // The standard leaves some long codes unused.
        let unused = |codes: &[Code]| {
            1.0 - codes.iter().map(|(length, _)| 0.5_f64.powi(i32::from(*length))).sum::<f64>()
        };
        for near in [0, 2, 4, 8] {
            let codes = tokens(16, Context::Near(near));
            assert!((0.0..0.04).contains(&unused(&codes)), "{near}: {}", unused(&codes));
            check("tokens", &codes, unused(&codes));
        }
        let codes = tokens(4, Context::Mean);
        check("tokens of means", &codes, unused(&codes));
        for (lengths, bits) in ZERO_LENGTHS.iter().zip(ZERO_BITS) {
            let codes: Vec<Code> = lengths.iter().copied().zip(bits.iter().copied()).collect();
            assert_eq!(lengths.len(), bits.len());
            check("zeros", &codes, unused(&codes));
            assert!(unused(&codes) < 0.04);
        }
        for codes in MEAN_ZEROS.iter().chain(&RUNS) {
            check("runs", codes, unused(codes));
        }
    }

    #[test]
    fn a_block_of_the_standard_s_example_has_its_known_code() {
        // Coefficients 0 3 0 1 -1 -1 0 1 0: five, three of them ones at the end.
        let mut bits = Bits::default();
        let scanned = [0, 3, 0, 1, -1, -1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(write(&mut bits, &scanned, Context::Near(0)), 5);
        bits.put(0, 8);
        let unit = bits.into_unit(0);
        let text: String = unit[1..].iter().map(|byte| format!("{byte:08b}")).collect();
        assert!(text.starts_with("000010001110010111101101"), "{text}");
    }
}
