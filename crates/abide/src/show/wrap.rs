//! Text on as many lines as it takes. Only blanks are broken at: a word that is too long, a path for one, stays whole.

use unicode_width::UnicodeWidthStr;

/// The lines of a text: so many cells on the first, so many on the others.
pub(crate) fn wrap(text: &str, first: usize, others: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let room = if lines.len() == 1 { first } else { others };
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && line.width() + 1 + word.width() > room {
            lines.push(word.to_owned());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_between_words() {
        assert_eq!(wrap("one two three", 7, 5), ["one two", "three"]);
        assert_eq!(wrap("one two three", 20, 20), ["one two three"]);
        assert_eq!(wrap("漢字 漢字 x", 5, 6), ["漢字", "漢字 x"]);
        assert_eq!(wrap("see /a/very/long/path now", 6, 6), ["see", "/a/very/long/path", "now"]);
        assert_eq!(wrap("", 3, 3), [""]);
    }
}
