//! A command line as a shell quotes it for itself (`printf %q`): backslashes, quotes of each kind, and `$'...'`.

/// Reads a quoted word from the beginning of a text, up to a semicolon that is not quoted or to its end. None if that is
/// no such word: with a blank that is not quoted, or without the end of a quote.
pub(super) fn unquoted(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    loop {
        rest = match rest {
            [] | [b';', ..] => return Some(String::from_utf8_lossy(&bytes).into_owned()),
            [b' ' | b'\t' | b'\n', ..] | [b'\\'] => return None,
            [b'$', b'\'', rest @ ..] => coded(rest, &mut bytes)?,
            [b'\'', rest @ ..] => {
                let end = rest.iter().position(|byte| *byte == b'\'')?;
                bytes.extend_from_slice(&rest[..end]);
                &rest[end + 1..]
            }
            [b'"', rest @ ..] => double(rest, &mut bytes)?,
            [b'\\', byte, rest @ ..] | [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        };
    }
}

/// What stands in double quotes; gives what follows them.
fn double<'a>(mut rest: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [] => return None,
            [b'"', rest @ ..] => return Some(rest),
            [b'\\', byte @ (b'"' | b'\\' | b'$' | b'`'), rest @ ..] | [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        };
    }
}

/// What stands in `$'...'`; gives what follows it.
fn coded<'a>(mut rest: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [] | [b'\\'] => return None,
            [b'\'', rest @ ..] => return Some(rest),
            [b'\\', rest @ ..] => code(rest, bytes),
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        };
    }
}

/// What stands behind a backslash there, which is something; gives what follows it.
fn code<'a>(rest: &'a [u8], bytes: &mut Vec<u8>) -> &'a [u8] {
    let (first, behind) = (rest[0], &rest[1..]);
    let plain = match first {
        b'a' => 0x07,
        b'b' => 0x08,
        b'e' | b'E' => 0x1b,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'0'..=b'7' => {
            let (number, length) = number(rest, 8, 3);
            bytes.push((number & 0xff) as u8);
            return &rest[length..];
        }
        b'x' | b'u' | b'U' => {
            let most = if first == b'x' {
                2
            } else if first == b'u' {
                4
            } else {
                8
            };
            let (number, length) = number(behind, 16, most);
            match char::from_u32(number).filter(|_| first != b'x' && length > 0) {
                Some(ch) => bytes.extend_from_slice(ch.encode_utf8(&mut [0; 4]).as_bytes()),
                None if length > 0 => bytes.push((number & 0xff) as u8),
                None => bytes.extend_from_slice(&[b'\\', first]),
            }
            return &behind[length..];
        }
        b'c' => {
            let Some((control, behind)) = behind.split_first() else { return behind };
            bytes.push(control & 0x1f);
            return behind;
        }
        other => other,
    };
    bytes.push(plain);
    behind
}

/// The number that a text begins with, and how many digits it has.
fn number(text: &[u8], base: u32, most: usize) -> (u32, usize) {
    let digits = text.iter().take(most).map_while(|byte| char::from(*byte).to_digit(base));
    digits.fold((0, 0), |(number, length), digit| (number.wrapping_mul(base).wrapping_add(digit), length + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_as_the_shell_that_quoted_it_would() {
        for (quoted, plain) in [
            ("make", Some("make")),
            (r"echo\ a\;b\ \'c\'\ \\", Some(r"echo a;b 'c' \")),
            (
                r"$'echo a;b\n\techo \'c\' \\ \303\251 \xe9z\u00e9\cA\E'",
                Some("echo a;b\n\techo 'c' \\ é \u{fffd}zé\u{1}\u{1b}"),
            ),
            (r"echo\ é$'\n'ls;aid=7", Some("echo é\nls")),
            (r#""a \"b\" \c;d"'e;f'"#, Some(r#"a "b" \c;de;f"#)),
            ("''", Some("")),
            ("echo a", None),
            ("'a", None),
            ("$'a\\", None),
            ("\"a", None),
            ("a\\", None),
        ] {
            assert_eq!(unquoted(quoted).as_deref(), plain, "{quoted}");
        }
    }
}
