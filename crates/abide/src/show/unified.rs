//! The change of a file as a patch, for people and for `patch`.

use super::recorded::diff::{Change, changes};

/// So many unchanged lines are shown around what changed.
const AROUND: usize = 3;
/// Of more lines than this nobody wants to read what changed.
const MOST: usize = 4_000;

/// What turns one text into the other; none means that there is no file.
pub(crate) fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let (old, new) = (split(before), split(after));
    if old.len() + new.len() > MOST {
        return format!("{path}: {} lines become {}\n", old.len(), new.len());
    }
    let named = |text: Option<&str>| if text.is_some() { path } else { "/dev/null" }.to_owned();
    let mut patch = format!("--- {}\n+++ {}\n", named(before), named(after));
    let changes = changes(&old, &new);
    let is_near = |at: usize| {
        let near = at.saturating_sub(AROUND)..(at + AROUND + 1).min(changes.len());
        changes[near].iter().any(|change| !matches!(change, Change::Stayed(..)))
    };
    let mut at = 0;
    let (mut row, mut new_row) = (0, 0);
    while at < changes.len() {
        let length = (at..changes.len()).take_while(|at| is_near(*at)).count();
        if length > 0 {
            patch.push_str(&hunk(&changes[at..at + length], (row, new_row), (&old, &new)));
        }
        for change in &changes[at..at + length.max(1)] {
            row += usize::from(!matches!(change, Change::Came(_)));
            new_row += usize::from(!matches!(change, Change::Gone(_)));
        }
        at += length.max(1);
    }
    patch
}

/// Lines with what ends them.
fn split(text: Option<&str>) -> Vec<&str> {
    text.unwrap_or_default().split_inclusive('\n').collect()
}

/// One part of a patch, which begins after so many lines of both.
fn hunk(changes: &[Change], (row, new_row): (usize, usize), (old, new): (&[&str], &[&str])) -> String {
    let mut lines = String::new();
    let (mut gone, mut came) = (0, 0);
    for change in changes {
        let (sign, line) = match change {
            Change::Gone(at) => ('-', old[*at]),
            Change::Came(at) => ('+', new[*at]),
            Change::Stayed(at, _) => (' ', old[*at]),
        };
        gone += usize::from(sign != '+');
        came += usize::from(sign != '-');
        lines.push(sign);
        lines.push_str(line);
        if !line.ends_with('\n') {
            lines.push_str("\n\\ No newline at end of file\n");
        }
    }
    let place = |row: usize, count: usize| format!("{},{count}", if count == 0 { row } else { row + 1 });
    format!("@@ -{} +{} @@\n{lines}", place(row, gone), place(new_row, came))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_shows_what_changed_and_what_is_around_it() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let new = old.replace("2\n3", "2\ntwo\n3").replace("12\n", "");
        let patch = unified("/x", Some(old), Some(&new));
        let expected = "--- /x\n+++ /x\n@@ -1,5 +1,6 @@\n 1\n 2\n+two\n 3\n 4\n 5\n@@ -9,4 +10,3 @@\n 9\n 10\n 11\n-12\n";
        assert_eq!(patch, expected);
    }

    #[test]
    fn a_file_that_comes_or_goes_is_told_so() {
        assert_eq!(unified("/x", None, Some("a\n")), "--- /dev/null\n+++ /x\n@@ -0,0 +1,1 @@\n+a\n");
        let gone = "--- /x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n\\ No newline at end of file\n";
        assert_eq!(unified("/x", Some("a"), None), gone);
    }
}
