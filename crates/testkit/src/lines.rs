//! Lines for a shell, thrown with dice: what each writes, byte by byte, and its exit code. The same seed throws the same.

/// The shells that `abide exec` knows, without anyone's settings.
pub const SHELLS: [&[&str]; 4] = [&["bash", "--norc"], &["zsh", "-f"], &["fish", "-N"], &["dash", "-i"]];

/// What tells one of many lines from the next.
#[derive(Debug)]
pub struct Dice(pub u64);

/// A line, what it writes, and its code.
#[derive(Debug)]
pub struct Line {
    pub text: String,
    pub output: Vec<u8>,
    pub code: u8,
}

impl Dice {
    pub const fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    /// Any byte.
    ///
    /// # Panics
    /// Never.
    pub fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).expect("it is below 256")
    }

    /// A line that writes no more than `largest` bytes or a few hundred.
    pub fn line(&mut self, largest: u64) -> Line {
        let (code, number, size) = (self.byte(), self.below(100_000), self.below(largest));
        match self.below(9) {
            0 => Line::new(format!("sh -c 'exit {code}'"), "", code),
            1 => Line::new(
                format!("sh -c 'printf \"a{number}\\n\\033[31mred\\033[0m\\r\\n\\tend\"; exit {code}'"),
                format!("a{number}\n\u{1b}[31mred\u{1b}[0m\r\n\tend"),
                code,
            ),
            2 => {
                let last = size / 7;
                let output: String = (1..=last).map(|n| format!("{n}\n")).collect();
                Line::new(format!("seq 1 {last}; sh -c 'exit {code}'"), output, code)
            }
            3 => Line::new(
                format!("sh -c 'printf \"\\033]7717;abide;x;E;0\\007\\033\"; exit {code}'"),
                "\u{1b}]7717;abide;x;E;0\u{7}\u{1b}",
                code,
            ),
            4 => Line::new(format!("echo é 漢{number} # a remark"), format!("é 漢{number}\n"), 0),
            5 => Line::new(
                format!("printf '%s\\n\\n' x{number} \"it's\""),
                format!("x{number}\n\nit's\n\n"),
                0,
            ),
            6 => {
                // Without what might be a question to the terminal: its answer would be typed, and shown.
                let byte = |dice: &mut Self| Some(dice.byte()).filter(|byte| *byte != 0x1b).unwrap_or(b'.');
                let bytes: Vec<u8> = (0..=number % 200).map(|_| byte(self)).collect();
                Line::new(format!("printf '{}'", octal(&bytes)), bytes, 0)
            }
            7 => {
                let output = "x".repeat(usize::try_from(size).unwrap_or(0));
                Line::new(format!("head -c {size} /dev/zero | tr '\\0' x; sh -c 'exit {code}'"), output, code)
            }
            _ => self.binary(size, code),
        }
    }

    /// The same bytes, of which no text has most, again and again.
    fn binary(&mut self, size: u64, code: u8) -> Line {
        let bytes: Vec<u8> = (0..20).map(|_| 128 + self.byte() / 2).collect();
        let text = format!("sh -c 'yes \"$(printf \"{}\")\" | head -c {size}; exit {code}'", octal(&bytes));
        let again = bytes.iter().chain(b"\n").copied().cycle();
        let output: Vec<u8> = again.take(usize::try_from(size).unwrap_or(0)).collect();
        Line::new(text, output, code)
    }
}

impl Line {
    fn new(text: String, output: impl Into<Vec<u8>>, code: u8) -> Self {
        Self { text, output: output.into(), code }
    }
}

/// Bytes as every `printf` takes them.
fn octal(bytes: &[u8]) -> String {
    // Some take a per cent sign for one of theirs however it is written.
    bytes.iter().map(|&byte| if byte == b'%' { "%%".to_owned() } else { format!("\\{byte:03o}") }).collect()
}
