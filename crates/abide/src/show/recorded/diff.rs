//! Two screens line by line: what went, what came, what stayed. Lines that moved up as others came count as having stayed.

/// What became of a line; each with the rows that it has in the one screen, the other, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Gone(usize),
    Came(usize),
    Stayed(usize, usize),
}

/// How the lines of one screen become those of another, with as few changes as there can be.
pub(crate) fn changes<T: PartialEq>(from: &[T], to: &[T]) -> Vec<Change> {
    let same = |at: usize| from.get(at).is_some_and(|line| Some(line) == to.get(at));
    let head = (0..).take_while(|at| same(*at)).count();
    let rest = from.len().min(to.len()) - head;
    let tail = (1..=rest).take_while(|back| from[from.len() - back] == to[to.len() - back]).count();
    let mut changes: Vec<Change> = (0..head).map(|at| Change::Stayed(at, at)).collect();
    changes.extend(between(from, to, head, tail));
    changes.extend((1..=tail).rev().map(|back| Change::Stayed(from.len() - back, to.len() - back)));
    changes
}

/// The same for what stands between a common head and a common tail.
fn between<T: PartialEq>(from: &[T], to: &[T], head: usize, tail: usize) -> Vec<Change> {
    let (a, b) = (&from[head..from.len() - tail], &to[head..to.len() - tail]);
    // The longest common part of what is left from here on, for every pair of places.
    let width = b.len() + 1;
    let mut longest = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i * width + j] = if a[i] == b[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut changes) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        let stays = i < a.len() && j < b.len() && a[i] == b[j];
        let goes =
            j == b.len() || (i < a.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1]);
        if stays {
            changes.push(Change::Stayed(head + i, head + j));
            (i, j) = (i + 1, j + 1);
        } else if goes {
            changes.push(Change::Gone(head + i));
            i += 1;
        } else {
            changes.push(Change::Came(head + j));
            j += 1;
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(from: &str, to: &str) -> String {
        let (from, to): (Vec<_>, Vec<_>) = (from.split(' ').collect(), to.split(' ').collect());
        let all = changes(&from, &to).into_iter().map(|change| match change {
            Change::Gone(at) => format!("-{}", from[at]),
            Change::Came(at) => format!("+{}", to[at]),
            Change::Stayed(a, b) => {
                assert_eq!(from[a], to[b]);
                from[a].to_owned()
            }
        });
        all.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_scrolled_stays_and_only_the_rest_goes_or_comes() {
        assert_eq!(shown("a b c", "a b c"), "a b c");
        assert_eq!(shown("a b c", "b c d"), "-a b c +d");
        assert_eq!(shown("a x c", "a y c"), "a -x +y c");
        assert_eq!(shown("a a a", "a a"), "a a -a");
        assert_eq!(shown("a", "b c d"), "-a +b +c +d");
    }
}
