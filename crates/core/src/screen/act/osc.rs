//! OSC: titles, colours, links, and what a program tells beside its screen.

use std::sync::Arc;

use super::super::grid::cell::Link;
use super::super::notice::{Progress, ShellMark, Told};
use super::super::palette::{Slot, parse_rgb};
use super::super::term::Term;
use super::super::title::Which;

/// As in other terminals; a longer link is none.
const LONGEST_URI: usize = 2083;
const LONGEST_LINK_ID: usize = 250;

impl Term {
    pub(super) fn system_command(&mut self, text: &[u8], bell: bool, end: usize) {
        let text = String::from_utf8_lossy(text);
        let (number, rest) = text.split_once(';').unwrap_or((&text, ""));
        let Ok(number) = number.parse::<u16>() else { return };
        match number {
            0..=2 => {
                let Some(which) = Which::from_number(number) else { return };
                self.titles.set(which, rest);
                if which.window() {
                    self.tell_title(end);
                }
            }
            4 => self.indexed_colors(rest, bell, end),
            7 => self.tell(end, Told::Directory(rest.to_owned())),
            8 => self.set_link(rest),
            9 => {
                if let Some(told) = growl(rest) {
                    self.tell(end, told);
                }
            }
            10..=12 => self.named_colors(number, rest, bell, end),
            52 => self.clipboard(rest, end),
            104 if rest.is_empty() => self.palette.reset_indexed(),
            104 => {
                for index in rest.split(';').filter_map(|index| index.parse().ok()) {
                    self.palette.reset(Slot::Indexed(index));
                }
            }
            110..=112 => {
                if let Some(slot) = Slot::from_osc(number - 100) {
                    self.palette.reset(slot);
                }
            }
            133 => {
                if let Some(mark) = shell_mark(rest) {
                    self.tell(end, Told::Mark(mark));
                }
            }
            777 => {
                if let Some(rest) = rest.strip_prefix("notify;") {
                    let (title, body) = rest.split_once(';').unwrap_or((rest, ""));
                    self.tell(end, Told::Notification { title: title.to_owned(), body: body.to_owned() });
                }
            }
            _ => {}
        }
    }

    pub(super) fn tell_title(&mut self, end: usize) {
        self.tell(end, Told::Title(self.titles.current.window.clone()));
    }

    /// OSC 4: pairs of an index and a colour, or a question.
    fn indexed_colors(&mut self, rest: &str, bell: bool, end: usize) {
        let mut parts = rest.split(';');
        while let (Some(index), Some(color)) = (parts.next(), parts.next()) {
            if let Ok(index) = index.parse() {
                self.color(Slot::Indexed(index), color, bell, end);
            }
        }
    }

    /// OSC 10 to 12: further colours belong to the numbers that follow.
    fn named_colors(&mut self, first: u16, rest: &str, bell: bool, end: usize) {
        for (slot, color) in (first..).map_while(Slot::from_osc).zip(rest.split(';')) {
            self.color(slot, color, bell, end);
        }
    }

    fn color(&mut self, slot: Slot, color: &str, bell: bool, end: usize) {
        if color == "?" {
            self.answer_color(slot, bell, end);
        } else if let Some(rgb) = parse_rgb(color) {
            self.palette.set(slot, rgb);
        }
    }

    /// OSC 8: parameters, of which only the id counts, and a URI; without a URI the link ends.
    fn set_link(&mut self, rest: &str) {
        let (params, uri) = rest.split_once(';').unwrap_or(("", ""));
        let id = params.split(':').find_map(|param| param.strip_prefix("id=")).unwrap_or("");
        let printable = |text: &str| !text.chars().any(char::is_control);
        let sound =
            uri.len() <= LONGEST_URI && id.len() <= LONGEST_LINK_ID && printable(uri) && printable(id);
        self.link =
            (sound && !uri.is_empty()).then(|| Arc::new(Link { id: id.to_owned(), uri: uri.to_owned() }));
        self.refresh_extra();
    }

    fn clipboard(&mut self, rest: &str, end: usize) {
        let Some((selection, data)) = rest.split_once(';') else { return };
        let base64 = (data != "?").then(|| data.to_owned());
        self.tell(end, Told::Clipboard { selection: selection.to_owned(), base64 });
    }
}

/// OSC 9: a notification, or a number from 1 to 12 for a command of ConEmu's, of which only progress is heard.
fn growl(rest: &str) -> Option<Told> {
    let mut parts = rest.split(';');
    let percent = |part: Option<&str>| part.and_then(|part| part.parse().ok()).unwrap_or(0_u8).min(100);
    let command =
        parts.next().and_then(|number| number.parse().ok()).filter(|number| (1..=12_u8).contains(number));
    if command == Some(4) {
        let progress = match parts.next() {
            Some("" | "0") => Some(Progress::Gone),
            Some("1") => Some(Progress::At(percent(parts.next()))),
            Some("2") => Some(Progress::Failed(percent(parts.next()))),
            Some("3") => Some(Progress::Unclear),
            Some("4") => Some(Progress::Paused(percent(parts.next()))),
            Some(_) | None => None,
        };
        return progress.map(Told::Progress);
    }
    command.is_none().then(|| Told::Notification { title: String::new(), body: rest.to_owned() })
}

/// OSC 133: a letter, then parameters, of which only D's first counts.
fn shell_mark(rest: &str) -> Option<ShellMark> {
    let mut parts = rest.split(';');
    match parts.next()? {
        "A" => Some(ShellMark::PromptStart),
        "B" => Some(ShellMark::CommandStart),
        "C" => Some(ShellMark::OutputStart),
        "D" => {
            let exit_code =
                parts.next().and_then(|code| code.strip_prefix("exit=").unwrap_or(code).parse().ok());
            Some(ShellMark::CommandEnd { exit_code })
        }
        _ => None,
    }
}
