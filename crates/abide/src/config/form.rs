//! The forms that values of the config file have. What is typed behind a flag has the same.

use abide_core::evidence::Size;
use abide_core::evidence::notification::Matter;
use abide_core::keys::detach::DetachKey;
use abide_core::screen::LONGEST_SIDE;
use abide_engine::notify::Address;

use crate::when;

/// What stands for no limit.
const NONE: &str = "none";

/// What a value may look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Directory,
    Duration,
    Size,
    Key,
    Colours,
    /// Yes or no.
    Answer,
    /// A duration, or none.
    Age,
    /// A number, or none.
    Count,
    /// A number of bytes, or none.
    Bytes,
    /// One of two ends.
    End,
    /// A command and its arguments, or none.
    Command,
    /// An address, or none.
    Address,
    /// What sessions tell of.
    Matters,
}

impl Form {
    /// What is allowed, for people who wrote something else.
    pub(crate) const fn allowed(self) -> &'static str {
        match self {
            Self::Directory => "an absolute path, or one that begins with \"~/\"",
            Self::Duration => "a duration such as \"10s\" or \"1m30s\"",
            Self::Size => "columns and rows such as \"80x24\", neither above 1000",
            Self::Key => "a key such as 'ctrl-b', keys in turn such as 'ctrl-b,d', or 'none'",
            Self::Colours => "\"auto\", \"always\" or \"never\"",
            Self::Answer => "\"yes\" or \"no\"",
            Self::Age => "a duration such as \"7d\", or \"none\"",
            Self::Count => "a number, or \"none\"",
            Self::End => "\"first\" or \"last\"",
            Self::Bytes => "a number of bytes, a size such as \"500M\" or \"2G\", or \"none\"",
            Self::Command => "a command and its arguments such as [\"notify-send\", \"abide\"], or \"none\"",
            Self::Address => {
                "an address such as \"http://127.0.0.1:8080/hook\", or \"none\"; for https let `notify.command` be \
                 [\"curl\", \"-sSf\", \"--data-binary\", \"@-\", \"https://...\"]"
            }
            Self::Matters => "some of \"attention,turn,end\"",
        }
    }

    pub(crate) fn allows(self, text: &str) -> bool {
        match self {
            Self::Directory => text.starts_with('/') || text.starts_with("~/"),
            Self::Duration => when::duration_ms(text).is_some(),
            Self::Size => size(text).is_some(),
            Self::Key => DetachKey::parse(text).is_some(),
            Self::Colours => Colours::parse(text).is_some(),
            Self::Answer => ["yes", "no"].contains(&text),
            Self::Age => limit(text, when::duration_ms).is_some(),
            Self::Count => limit(text, number).is_some(),
            Self::Bytes => limit(text, bytes).is_some(),
            Self::End => End::parse(text).is_some(),
            Self::Command => limit(text, command).is_some(),
            Self::Address => limit(text, Address::parse).is_some(),
            Self::Matters => matters(text).is_some(),
        }
    }

    /// Whether a bare number is such a value.
    pub(crate) const fn takes_numbers(self) -> bool {
        match self {
            Self::Count | Self::Bytes => true,
            Self::Directory | Self::Duration | Self::Size | Self::Key | Self::Colours | Self::Age => false,
            Self::Answer | Self::End | Self::Command | Self::Address | Self::Matters => false,
        }
    }

    /// A list as the text of such a value; none if it takes no lists.
    pub(crate) fn of_list(self, list: &[String]) -> Option<String> {
        match self {
            Self::Command => serde_json::to_string(list).ok(),
            Self::Matters => Some(list.join(",")),
            Self::Directory | Self::Duration | Self::Size | Self::Key | Self::Colours | Self::Age => None,
            Self::Answer | Self::Count | Self::Bytes | Self::End | Self::Address => None,
        }
    }
}

/// When text has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Colours {
    /// On a terminal that has them
    Auto,
    /// Also in files and pipes
    Always,
    Never,
}

impl Colours {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Auto, Self::Always, Self::Never].into_iter().find(|colours| colours.name() == text)
    }
}

/// Which end of a recording that would be too long is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    First,
    Last,
}

impl End {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "first" => Some(Self::First),
            "last" => Some(Self::Last),
            _ => None,
        }
    }
}

/// A limit: some value, or the word for none. Nothing if it is neither.
pub(crate) fn limit<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text == NONE { Some(None) } else { parse(text).map(Some) }
}

pub(crate) fn number(text: &str) -> Option<usize> {
    text.parse().ok()
}

/// A command and its arguments, as a list in JSON.
pub(crate) fn command(text: &str) -> Option<Vec<String>> {
    let argv: Vec<String> = serde_json::from_str(text).ok()?;
    let sound = argv.iter().all(|word| !word.contains('\0'));
    argv.first().is_some_and(|name| !name.is_empty() && sound).then_some(argv)
}

/// What sessions tell of, with commas between.
pub(crate) fn matters(text: &str) -> Option<Vec<Matter>> {
    text.split(',').map(|name| Matter::parse(name.trim())).collect()
}

/// Columns and rows, neither more than a screen can have.
pub(crate) fn size(text: &str) -> Option<Size> {
    let (cols, rows) = text.split_once('x')?;
    let size = Size { cols: cols.parse().ok()?, rows: rows.parse().ok()? };
    let fits = |side: u16| (1..=LONGEST_SIDE).contains(&side);
    (fits(size.cols) && fits(size.rows)).then_some(size)
}

/// A number of bytes, or of units of them.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let scale = match text[split..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        _ => return None,
    };
    text[..split].parse::<u64>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_allows_its_own_and_nothing_else() {
        let cases: [(Form, &[&str], &[&str]); 12] = [
            (Form::End, &["first", "last"], &["", "both", "none"]),
            (Form::Directory, &["/srv", "~/x"], &["", "srv", "~", "~user/x", "./x"]),
            (Form::Duration, &["10s", "1m30s", "0s"], &["", "10", "none", "-1s"]),
            (
                Form::Size,
                &["80x24", "1000x1000"],
                &[
                    "1001x24",
                    "80x1001",
                    "65535x65535",
                    "",
                    "80",
                    "0x24",
                    "80x0",
                    "80x24x1",
                    "80X24",
                    "99999x1",
                ],
            ),
            (Form::Key, &["ctrl-\\", "ctrl-a", "ctrl-A", "ctrl-]"], &["", "a", "ctrl-", "ctrl-1", "ctrl-aa"]),
            (Form::Colours, &["auto", "always", "never"], &["", "yes", "Auto"]),
            (Form::Age, &["7d", "none"], &["", "7", "None"]),
            (Form::Count, &["0", "50", "none"], &["", "-1", "1.5", "many"]),
            (Form::Command, &["none", "[\"a\"]", "[\"a b\",\"\"]"], &["", "a", "[]", "[\"\"]", "[1]", "{}"]),
            (Form::Address, &["none", "http://box/x"], &["", "box", "https://box", "http://"]),
            (Form::Matters, &["end", "turn, end", "attention,turn,end"], &["", "none", "start", "end,"]),
            (Form::Bytes, &["0", "500M", "2g", "1KiB", "none"], &["", "M", "-1", "2T", "99999999999G"]),
        ];
        for (form, good, bad) in cases {
            assert!(good.iter().all(|text| form.allows(text)), "{form:?}: {good:?}");
            assert!(!bad.iter().any(|text| form.allows(text)), "{form:?}: {bad:?}");
        }
    }
}
