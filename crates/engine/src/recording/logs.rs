//! What a session showed, in order: from the recording, and as it goes on with whoever serves it as the bell.

use std::os::fd::AsFd;

use abide_core::evidence::frame::body_from_line;
use abide_core::failure::Failure;
use abide_core::recording::{Kind, Start};
use abide_core::wire::ToClient;
use abide_sys::poll;

use crate::client::Client;
use crate::recording::{Found, Reader};
use crate::store::Home;
use crate::truth::{Session, Truth};

/// One piece of what was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown<'a> {
    /// At this wall time, in ms, the program wrote this.
    Output { wall: i64, errors: bool, bytes: &'a [u8] },
    /// So many bytes of the recording cannot be read.
    Damage { offset: u64, length: u64 },
    /// The recording was cut here.
    Cut(&'a str),
    /// All that was there when the question came has been shown; what follows is new.
    CaughtUp,
}

/// Everything is looked at again after this long, whatever was or was not heard.
const RESCAN_MS: u64 = 1_000;

/// Gives what the session showed; with `follow`, goes on until the session is over.
pub(crate) fn logs(
    truth: &Truth,
    home: &Home,
    session: &Session,
    follow: bool,
    shown: &mut impl FnMut(Shown<'_>) -> bool,
) -> Result<(), Failure> {
    let id = &session.id;
    let failed = |e: std::io::Error| Failure::io("read the recording of session", id, &e).about(id.as_str());
    let open = || home.session(id).map_err(|untrusted| failed(std::io::Error::other(untrusted.says())));
    let mut bell = if follow { Client::connect(open()?).ok() } else { None };
    if let Some(client) = &mut bell {
        client.attach(session.size(), true).map_err(failed)?;
    }
    let mut reader = Reader::new(open()?.recording().map_err(failed)?, 0).map_err(failed)?;
    let mut clock = Clock::default();
    let (mut wanted, mut caught_up) = (true, false);
    loop {
        // Asked before reading: what was written before the end is read after it.
        let over = !follow || truth.of(home, id).is_over();
        while wanted && reader.advance(&mut |found| wanted &= clock.give(found, shown)).map_err(failed)? {}
        if !wanted {
            return Ok(());
        }
        if over {
            reader.finish(&mut |found| wanted &= clock.give(found, shown));
            clock.tell_damage(shown);
            return Ok(());
        }
        wanted &= caught_up || shown(Shown::CaughtUp);
        caught_up = true;
        match &mut bell {
            Some(client) => {
                let _ = poll::readable(&[client.as_fd()], Some(RESCAN_MS));
                match client.hear() {
                    Ok(heard) if !heard.contains(&ToClient::Ended) => {}
                    // The next host is attached to as this one was, if there is one.
                    Ok(_) | Err(_) if client.come_back().is_ok() => {}
                    Ok(_) | Err(_) => bell = None,
                }
            }
            None => {
                let _ = poll::readable(&[], Some(RESCAN_MS));
            }
        }
    }
}

/// Turns the recording's own time into wall time, and knows whether output is missing.
#[derive(Default)]
struct Clock {
    start: Option<Start>,
    /// How much output there was so far.
    position: u64,
    /// A place that could not be read, until what follows tells whether anything is missing there.
    damage: Option<(u64, u64)>,
}

impl Clock {
    fn give(&mut self, found: Found<'_>, shown: &mut impl FnMut(Shown<'_>) -> bool) -> bool {
        let entry = match found {
            Found::Damage { offset, length } => {
                let wanted = self.tell_damage(shown);
                self.damage = Some((offset, length));
                return wanted;
            }
            Found::Entry(entry) => entry,
        };
        if entry.position == self.position && entry.kind != Kind::Start {
            // A frame that was torn with its writer and written again: nothing is missing.
            self.damage = None;
        }
        if !self.tell_damage(shown) {
            return false;
        }
        self.position = entry.position;
        match entry.kind {
            Kind::Start => {
                self.start = body_from_line(entry.payload).ok();
                true
            }
            Kind::Output | Kind::Errors => {
                let errors = entry.kind == Kind::Errors;
                self.position += entry.payload.len() as u64;
                shown(Shown::Output { wall: self.wall(entry.time), errors, bytes: entry.payload })
            }
            Kind::Cut => shown(Shown::Cut(std::str::from_utf8(entry.payload).unwrap_or("unreadable"))),
            Kind::Input | Kind::Hidden | Kind::Answer | Kind::Resize | Kind::Mark => true,
        }
    }

    fn tell_damage(&mut self, shown: &mut impl FnMut(Shown<'_>) -> bool) -> bool {
        self.damage.take().is_none_or(|(offset, length)| shown(Shown::Damage { offset, length }))
    }

    fn wall(&self, boot_us: u64) -> i64 {
        self.start.as_ref().map_or(0, |start| {
            let since = boot_us.saturating_sub(start.boot_us) / 1000;
            start.wall_ms.saturating_add(i64::try_from(since).unwrap_or(i64::MAX))
        })
    }
}

#[cfg(test)]
mod tests {
    use abide_core::recording::Entry;

    use super::*;

    /// What is shown of two pieces of output with a place between them that cannot be read.
    fn shown(second_at: u64) -> Vec<String> {
        let entry = |position, payload| Entry { kind: Kind::Output, time: 0, position, payload };
        let found = [
            Found::Entry(entry(0, b"one")),
            Found::Damage { offset: 35, length: 9 },
            Found::Entry(entry(second_at, b"two")),
        ];
        let (mut clock, mut said) = (Clock::default(), Vec::new());
        for one in found {
            clock.give(one, &mut |shown| {
                said.push(match shown {
                    Shown::Output { bytes, .. } => String::from_utf8_lossy(bytes).into_owned(),
                    other @ (Shown::Damage { .. } | Shown::Cut(_) | Shown::CaughtUp) => format!("{other:?}"),
                });
                true
            });
        }
        said
    }

    #[test]
    fn a_place_that_cannot_be_read_is_told_only_if_output_is_missing_there() {
        assert_eq!(shown(3), ["one", "two"], "torn with its writer, and written again");
        assert_eq!(shown(7), ["one", "Damage { offset: 35, length: 9 }", "two"]);
    }
}
