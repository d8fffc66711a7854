//! Kept: what is known where a recording goes on behind what it has shed, in a form that every later version reads: a line
//! of JSON, then the bytes that bring a fresh terminal to the screen that stood there.

use serde::{Deserialize, Serialize};

use super::LONGEST;
use crate::evidence::frame::{body_from_line, body_to_line};
use crate::screen::Screen;
use crate::screen::likeness::Likeness;

/// Goes up when what a reader must do with it changes. Others are not read.
const VERSION: u32 = 1;

/// What is known there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    version: u32,
    pub screen: Likeness,
    /// The `exec` whose line runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<String>,
    /// The last number that was taken of each client.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<(u64, u64)>,
    /// What was missing in the recording before it, and so may be on the screen: where, how much of the file, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<(u64, u64, String)>,
}

/// What of a screen is missing that there was no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lacks {
    /// Its text is there.
    Looks,
    /// And of its text all but the last rows.
    Rows,
}

impl Lacks {
    /// In one sentence.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::Looks => "the screen that stood there was too large: its colours and links are missing",
            Self::Rows => {
                "the screen that stood there was far too large: its first rows, its colours and links are missing"
            }
        }
    }
}

impl Kept {
    /// Of a screen, with as many of the lines above it as there is room for; if there is too little for the screen itself,
    /// with as much of it as there is room for.
    #[must_use]
    pub fn payload(
        screen: &Screen,
        exec: Option<String>,
        taken: Vec<(u64, u64)>,
        gaps: Vec<(u64, u64, String)>,
    ) -> Option<(Vec<u8>, Option<Lacks>)> {
        Self { version: VERSION, screen: screen.plain_likeness(0), exec, taken, gaps }.within(screen, LONGEST)
    }

    fn within(mut self, screen: &Screen, most: usize) -> Option<(Vec<u8>, Option<Lacks>)> {
        let (lines, rows) = (screen.scrollback_len().0, usize::from(screen.size().rows));
        let whole = halved(lines).map(|lines| (screen.likeness(lines), None));
        let plain = halved(rows).map(|kept| {
            let lacks = if kept == rows { Lacks::Looks } else { Lacks::Rows };
            (screen.plain_likeness(kept), Some(lacks))
        });
        let gaps = std::mem::take(&mut self.gaps);
        whole.chain(plain).find_map(|(likeness, lacks)| {
            self.screen = likeness;
            self.gaps.clone_from(&gaps);
            self.gaps.extend(lacks.map(|lacks| (0, 0, lacks.says().to_owned())));
            let mut payload = body_to_line(&self).ok()?;
            payload.push(b'\n');
            payload.extend_from_slice(&self.screen.bytes);
            (payload.len() <= most).then_some((payload, lacks))
        })
    }

    /// The inverse; none for what no version of ours wrote, or one that is newer.
    #[must_use]
    pub fn of(payload: &[u8]) -> Option<Self> {
        let end = payload.iter().position(|byte| *byte == b'\n')?;
        let mut kept: Self = body_from_line(&payload[..end]).ok()?;
        payload[end + 1..].clone_into(&mut kept.screen.bytes);
        (kept.version == VERSION).then_some(kept)
    }
}

/// A number, half of it and so on, down to none.
fn halved(number: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(number), |number| (*number > 0).then_some(number / 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Size;

    #[test]
    fn what_is_kept_comes_back_as_it_was() {
        let mut screen = Screen::new(Size { cols: 20, rows: 5 }, 100);
        let _ = screen.feed(b"one\r\n\x1b[31mtwo\x1b]2;title\x07 \x1b[3");
        let (taken, gaps) = (vec![(1, u64::MAX)], vec![(7, 8, "no\nroom".to_owned())]);
        let payload = Kept::payload(&screen, Some("ab12".into()), taken.clone(), gaps.clone()).unwrap().0;
        let kept = Kept::of(&payload).unwrap();
        assert_eq!((kept.exec.as_deref(), &kept.taken, &kept.gaps), (Some("ab12"), &taken, &gaps));
        let mut again = Screen::new(Size { cols: 80, rows: 24 }, 100);
        again.restore(&kept.screen);
        assert!(again == screen && again.title() == "title");
        let newer = String::from_utf8(payload).unwrap().replacen("\"version\":1", "\"version\":2", 1);
        assert_eq!(Kept::of(newer.as_bytes()), None);
        assert_eq!(Kept::of(b"{}\n"), None);
        assert_eq!(Kept::of(b"no line"), None);
    }

    #[test]
    fn whatever_is_kept_leaves_a_sound_screen() {
        for size in [r#"{"cols":0,"rows":0}"#, r#"{"cols":65535,"rows":65535}"#] {
            let line = format!(r#"{{"version":1,"screen":{{"size":{size},"repeats":"\u0007"}}}}"#);
            let kept =
                Kept::of(format!("{line}\n\x1b[5bx\x1b[999999;9r\x1b[?2026h\x1b[").as_bytes()).unwrap();
            let mut screen = Screen::new(Size { cols: 8, rows: 2 }, 10);
            screen.restore(&kept.screen);
            let _ = screen.feed(b"5b\x1b[20T");
            assert!(!screen.visible_text().contains('\x07'));
        }
    }

    fn again(payload: &[u8]) -> Screen {
        let mut again = Screen::new(Size { cols: 80, rows: 24 }, 100);
        again.restore(&Kept::of(payload).unwrap().screen);
        again
    }

    #[test]
    fn of_more_than_there_is_room_for_the_newest_lines_are_kept() {
        let mut screen = Screen::new(Size { cols: 20, rows: 3 }, 100);
        (0..90).for_each(|line| drop(screen.feed(format!("{line}\r\n").as_bytes())));
        let (payload, lacks) = Kept::payload(&screen, None, Vec::new(), Vec::new()).unwrap();
        assert_eq!(lacks, None);
        let kept = Kept::of(&payload).unwrap();
        let less = payload.len() - 10;
        let (payload, lacks) = kept.within(&screen, less).unwrap();
        assert!(payload.len() <= less && lacks.is_none());
        let again = again(&payload);
        assert_eq!(again.live().text(), screen.live().text());
        let newest = |screen: &Screen| screen.scrollback().next_back().map(|line| line.text());
        assert_eq!(newest(&again), newest(&screen));
        let all = |screen: &Screen| screen.scrollback_len().0 as u64 + screen.scrollback_len().1;
        assert_eq!(all(&again), all(&screen), "how many lines there were is known");
    }

    #[test]
    fn of_a_screen_that_is_too_large_as_much_is_kept_as_there_is_room_for_and_the_rest_is_told() {
        let mut screen = Screen::new(Size { cols: 20, rows: 16 }, 100);
        let row = |row| {
            format!(
                "\x1b[38;2;{row};1;2m\x1b]8;;https://h/{}\x1b\\{row} e\u{301} \u{5b57}\x1b]8;;\x1b\\\x1b[m",
                "u".repeat(200)
            )
        };
        let rows: Vec<String> = (0..16).map(row).collect();
        let _ = screen.feed(format!("above\r\n{}\x1b[?2004h\x1b[5;3H\x1b[1m", rows.join("\r\n")).as_bytes());
        let kept = Kept::of(&Kept::payload(&screen, None, Vec::new(), Vec::new()).unwrap().0).unwrap();
        let state =
            |screen: &Screen| (screen.size(), screen.view().cursor(), screen.input_modes().bracketed_paste);

        let (payload, lacks) = kept.clone().within(&screen, 2000).unwrap();
        let plain = again(&payload);
        assert_eq!((lacks, plain.hash()), (Some(Lacks::Looks), screen.hash()), "its text is there");
        assert_eq!(state(&plain), state(&screen));
        assert!(Kept::of(&payload).unwrap().gaps[0].2.contains("its colours"));

        let (payload, lacks) = kept.clone().within(&screen, payload.len() - 60).unwrap();
        let less = again(&payload);
        assert_eq!((lacks, state(&less)), (Some(Lacks::Rows), state(&screen)));
        let text = less.visible_text();
        assert!(text.starts_with('\n') && text.contains("15 e\u{301} \u{5b57}"), "{text:?}");
        assert!(Kept::of(&payload).unwrap().gaps[0].2.contains("its first rows"));
    }

    #[test]
    fn whatever_a_program_does_there_is_room_for_something() {
        // The longest titles, a string that is longer than there is room for.
        let mut screen = Screen::new(Size { cols: 80, rows: 24 }, 100);
        let title = format!("\x1b]0;{}\x07\x1b[22;0t", "t".repeat(5000));
        let _ = screen.feed(title.repeat(17).as_bytes());
        let _ = screen.feed(b"text\x1b]52;c;");
        let _ = screen.feed("QUFB".repeat((1 << 18) - 2).as_bytes());
        let (payload, lacks) =
            Kept::payload(&screen, None, vec![(u64::MAX, u64::MAX); 256], Vec::new()).unwrap();
        assert!(payload.len() < 400_000 && lacks.is_none(), "{} {lacks:?}", payload.len());
        let mut again = again(&payload);
        let _ = again.feed(b"QUFB\x1b\\ goes on");
        assert!(again.visible_text().starts_with("text goes on"), "the string ends where it ended");
        let kept = Kept::of(&payload).unwrap();
        assert!(
            kept.clone().within(&screen, payload.len() - 8192).is_none(),
            "no less than titles and modes"
        );
    }
}
