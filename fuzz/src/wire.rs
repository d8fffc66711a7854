//! Any stream at a socket, in any pieces: what is understood does not depend on the pieces, is said again as it was heard,
//! and a message that is too long ends it.
//!
//! The input: a byte that says who listens, one that says where to cut, then the stream. With `MESSAGES` set, the stream is
//! made of messages: a kind, a length of one byte, a body.

use std::fmt::Debug;

use abide_core::wire::{Inbox, LONGEST, Message, ToClient, ToGuard, ToHost, ToHostFromClient};

const MESSAGES: u8 = 4;

/// Any input.
///
/// # Panics
/// If something that must hold does not.
pub fn run(input: &[u8]) {
    let [choices, cut, stream @ ..] = input else { return };
    let made = (choices & MESSAGES != 0).then(|| messages(stream));
    let stream = made.as_deref().unwrap_or(stream);
    match choices % 4 {
        0 => check::<ToGuard>(stream, *cut),
        1 => check::<ToHost>(stream, *cut),
        2 => check::<ToHostFromClient>(stream, *cut),
        _ => check::<ToClient>(stream, *cut),
    }
}

fn check<M: Message + PartialEq + Debug>(stream: &[u8], cut: u8) {
    let whole = heard::<M>(&[stream]);
    let at = stream.len() * usize::from(cut) / 256;
    assert_eq!(
        heard::<M>(&[&stream[..at], &stream[at..]]),
        whole,
        "pieces are heard otherwise than the whole"
    );
    for message in &whole.0 {
        let packet = message.to_packet();
        assert_eq!(M::from_packet(&packet).as_ref(), Some(message), "said again otherwise");
    }
    let again: Vec<u8> = whole.0.iter().flat_map(Message::to_stream).collect();
    assert_eq!(heard::<M>(&[&again]), (whole.0, false), "a stream of what was heard");
}

/// What is heard of a stream, and whether it came to a message that is longer than any.
fn heard<M: Message>(pieces: &[&[u8]]) -> (Vec<M>, bool) {
    let (mut inbox, mut heard) = (Inbox::new(LONGEST), Vec::new());
    for piece in pieces {
        inbox.feed(piece);
        loop {
            match inbox.take() {
                Ok(Some(message)) => heard.push(message),
                Ok(None) => break,
                Err(_) => return (heard, true),
            }
        }
    }
    (heard, false)
}

fn messages(mut bytes: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    while let [kind, length, rest @ ..] = bytes {
        let (body, later) = rest.split_at(usize::from(*length).min(rest.len()));
        stream.extend_from_slice(&(body.len() as u32 + 1).to_le_bytes());
        stream.push(*kind);
        stream.extend_from_slice(body);
        bytes = later;
    }
    stream
}
