//! Which known word a mistyped one is meant to be; none if none is near.

/// The verbs that other tools have for what ours do.
const ELSEWHERE: &[(&str, &[&str])] = &[
    ("ls", &["ps", "list", "list-sessions", "sessions", "status"]),
    ("run", &["start", "exec", "new", "new-session", "create", "spawn", "launch"]),
    ("stop", &["kill", "kill-session", "terminate", "end"]),
    ("attach", &["attach-session", "a", "open", "reattach"]),
    ("rm", &["remove", "delete", "destroy", "del"]),
    ("gc", &["prune", "clean", "cleanup"]),
    ("logs", &["log", "tail", "output", "journal"]),
    ("snapshot", &["capture-pane", "screen", "show", "dump"]),
    ("inspect", &["info", "describe"]),
    ("top", &["htop", "stats", "usage"]),
    ("events", &["monitor", "watch"]),
    ("keys", &["send-keys"]),
    ("type", &["send", "input", "write"]),
];

/// The verb that was meant by a word that is none.
pub(crate) fn verb<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let elsewhere = ELSEWHERE.iter().find(|(_, words)| words.contains(&typed)).map(|(verb, _)| *verb);
    let elsewhere = known.iter().copied().find(|known| Some(*known) == elsewhere);
    elsewhere.or_else(|| nearest(typed, known))
}

/// The known word that differs by a slip or two, and in no more than a third of its letters.
pub(crate) fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let slips = |known: &&'a str| (distance(typed, known), *known);
    let (slips, nearest) = known.iter().map(slips).min_by_key(|(slips, _)| *slips)?;
    let letters = nearest.chars().count().max(typed.chars().count());
    (slips <= 2 && slips * 3 <= letters).then_some(nearest)
}

/// How many letters must be put in, left out, changed or swapped with the next.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for i in 1..=one.len() {
        let mut next = vec![i];
        for j in 1..=other.len() {
            let changed = row[j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut least = changed.min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[&str] = &["run", "wait", "stop", "attach", "ls", "inspect", "rm", "schema", "version"];

    #[test]
    fn slips_are_understood_and_strangers_are_not() {
        for (typed, meant) in [("inspct", "inspect"), ("atach", "attach"), ("wiat", "wait"), ("lss", "ls")] {
            assert_eq!(verb(typed, KNOWN), Some(meant), "{typed}");
        }
        for typed in ["frobnicate", "x", "build", "make", "python", "", "server"] {
            assert_eq!(verb(typed, KNOWN), None, "{typed}");
        }
    }

    #[test]
    fn the_verbs_of_other_tools_lead_to_ours() {
        let others =
            ["ps", "kill", "start", "exec", "new", "list", "attach-session", "kill-session", "delete"];
        let ours = ["ls", "stop", "run", "run", "run", "ls", "attach", "stop", "rm"];
        assert_eq!(others.map(|typed| verb(typed, KNOWN)), ours.map(Some));
        assert_eq!(verb("send-keys", &["type", "keys"]), Some("keys"));
    }

    #[test]
    fn a_swap_is_one_slip() {
        assert_eq!([distance("wiat", "wait"), distance("", "ab"), distance("abc", "abc")], [1, 2, 0]);
        assert_eq!([distance("kitten", "sitting"), distance("ab", "ba")], [3, 1]);
    }
}
