//! What guard, host and clients say to each other: bytes <-> messages. Frozen and versioned, so that an old guard
//! works with a new host and the reverse; a message of an unknown kind is passed over.

mod attendance;
mod tagged;

pub use attendance::Attendance;
pub use tagged::Tagged;

use crate::evidence::Size;
use crate::failure::Failure;
use crate::recording::unrecorded::Unrecorded;

/// The version of these messages.
pub const VERSION: u8 = 5;
/// As many clients are served, and so many clients' numbers are remembered.
pub const CLIENTS: usize = 256;
/// Under whose name what finishes a client's broken-off typing waits for the terminal. No client is this one.
pub const FINISHING: u64 = u64::MAX - 1;
/// Under whose name answers to the program's own queries are kept, numbered by their positions. No client is this one.
pub const ANSWERS: u64 = u64::MAX;
/// A longer message is refused; senders split what they have.
pub const LONGEST: usize = 64 * 1024;

const LENGTH: usize = 4;

/// What a host tells its guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToGuard {
    /// Write this to the terminal, once: the same client and number again is not written again.
    Input {
        client: u64,
        seq: u64,
        bytes: Vec<u8>,
    },
    /// The answer to a query that the program made at this position of its output, given once.
    Answer {
        position: u64,
        bytes: Vec<u8>,
    },
    Resize(Size),
    Mark(String),
    /// Put this tag on record, then write this to the terminal; once, as input. Guards of before it pass over it.
    Exec(Tagged),
    /// What this client typed and is not in the terminal yet is not to be written any more. Guards of before it pass over it.
    Withdraw {
        client: u64,
    },
    /// This client alone types from now on, and what it types goes with it; with 0, none does. Guards of before it pass over it.
    Hold {
        client: u64,
    },
}

/// What a guard tells its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToHost {
    /// Everything of this client up to this number has been written.
    Applied { client: u64, seq: u64 },
    /// Queries up to this position have been answered.
    Answered { position: u64 },
    /// What this client typed and was not applied is withdrawn, but for so many bytes that were written of it.
    Withdrawn { client: u64, written: u64 },
    /// A mark that it passed on is on record nowhere: there is no room. Hosts of before it pass over it.
    Unmarked,
    /// The end of the program is on record.
    Ended,
}

/// What a client asks of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToHostFromClient {
    /// Who speaks. The number stays the same when the client comes back after a break.
    Hello {
        version: u8,
        client: u64,
    },
    /// From now on send what is shown; the size is that of the client's terminal.
    Attach {
        size: Size,
        role: Attendance,
    },
    Input {
        seq: u64,
        bytes: Vec<u8>,
    },
    Resize(Size),
    /// Send the screen as it is once everything up to now has been shown.
    Snapshot,
    /// The same without the lines above it. Since version 2, as what follows.
    Look,
    Mark(String),
    /// What I type from now on belongs together: nobody else's comes in between, until I say so, leave or fall silent.
    Hold,
    Release,
    /// Type this under its tag, unless another `exec` is in the middle. One whose line ran before `seen`, a position, is
    /// known to be over; with 0, none is. Since version 3.
    Exec {
        seen: u64,
        tagged: Tagged,
    },
    /// Send what is not on record behind this position. Since version 4.
    Unrecorded(u64),
    /// What I typed and is not in the terminal yet is not to be typed any more. Since version 5.
    Withdraw,
}

/// What a host answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToClient {
    Welcome {
        version: u8,
        generation: u32,
    },
    /// What follows is made for a terminal of this size, and whether this client is the driver.
    Stage {
        size: Size,
        drives: bool,
    },
    /// Everything needed to show the screen on a fresh terminal.
    Paint(Vec<u8>),
    /// What the program showed since.
    Output(Vec<u8>),
    Applied {
        seq: u64,
    },
    /// What was typed and not applied is withdrawn, but for so many bytes that were written of it.
    Withdrawn {
        written: u64,
    },
    /// How many entries of the recording the screen stands for that comes next, how long the line is that was begun by then, for
    /// a program that reads whole ones, how many bytes of the recording there was no time to take in, and when (microseconds of
    /// boot time) the screen stood so. Clients of before it pass over it; what hosts of before do not say is 0.
    Reached {
        entries: u64,
        line: u64,
        behind: (u64, u64),
    },
    /// The frozen screen and the position it stands for.
    Snapshot {
        position: u64,
        frozen: Vec<u8>,
    },
    /// The mark that this client asked for is on record, at this position.
    Marked {
        position: u64,
        name: String,
    },
    /// The line of the `exec` that this client asked for runs, or is over: what it wrote is in the recording.
    Exec {
        over: bool,
        nonce: String,
    },
    /// What is not on record of what was shown.
    Unrecorded(Unrecorded),
    /// The program's end is on record.
    Ended,
    /// The host does not do this.
    Refused(Failure),
}

/// A message that can be sent.
pub trait Message: Sized {
    /// Its kind and its body.
    fn pack(&self) -> (u8, Vec<u8>);
    /// The inverse; none for a kind or a body that is not known.
    fn unpack(kind: u8, body: &[u8]) -> Option<Self>;

    /// As one packet.
    fn to_packet(&self) -> Vec<u8> {
        let (kind, body) = self.pack();
        let mut packet = vec![kind];
        packet.extend_from_slice(&body);
        packet
    }

    /// From one packet.
    fn from_packet(packet: &[u8]) -> Option<Self> {
        let (kind, body) = packet.split_first()?;
        Self::unpack(*kind, body)
    }

    /// As part of a stream: its length comes first.
    fn to_stream(&self) -> Vec<u8> {
        let packet = self.to_packet();
        let mut bytes = (packet.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(&packet);
        bytes
    }
}

/// Puts a stream's messages together again. Holds at most one message of the greatest length it was told.
#[derive(Debug)]
pub struct Inbox {
    bytes: Vec<u8>,
    longest: usize,
}

/// The other side sent a message that is longer than any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

impl Inbox {
    #[must_use]
    pub const fn new(longest: usize) -> Self {
        Self { bytes: Vec::new(), longest }
    }

    /// Takes bytes as they come.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message of a known kind, if there is one.
    ///
    /// # Errors
    /// If the stream cannot be a stream of messages.
    pub fn take<M: Message>(&mut self) -> Result<Option<M>, TooLong> {
        loop {
            let Some(head) = self.bytes.first_chunk::<LENGTH>() else {
                return Ok(None);
            };
            let length = u32::from_le_bytes(*head) as usize;
            if length > self.longest {
                return Err(TooLong);
            }
            let Some(packet) = self.bytes.get(LENGTH..LENGTH + length) else {
                return Ok(None);
            };
            let message = M::from_packet(packet);
            self.bytes.drain(..LENGTH + length);
            if message.is_some() {
                return Ok(message);
            }
        }
    }
}

impl ToClient {
    /// Why it is not done.
    #[must_use]
    pub const fn refusal(&self) -> Option<&Failure> {
        if let Self::Refused(refusal) = self { Some(refusal) } else { None }
    }
}

impl Message for ToGuard {
    fn pack(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Input { client, seq, bytes } => (b'i', join(&[*client, *seq], bytes)),
            Self::Answer { position, bytes } => (b'a', join(&[*position], bytes)),
            Self::Resize(size) => (b'r', pack_size(*size)),
            Self::Mark(text) => (b'm', text.clone().into_bytes()),
            Self::Exec(tagged) => (b'x', tagged.pack()),
            Self::Withdraw { client } => (b'-', join(&[*client], &[])),
            Self::Hold { client } => (b'h', join(&[*client], &[])),
        }
    }

    fn unpack(kind: u8, body: &[u8]) -> Option<Self> {
        Some(match kind {
            b'x' => Self::Exec(Tagged::unpack(body)?),
            b'i' => {
                let ([client, seq], bytes) = split(body)?;
                Self::Input { client, seq, bytes: bytes.to_vec() }
            }
            b'a' => {
                let ([position], bytes) = split(body)?;
                Self::Answer { position, bytes: bytes.to_vec() }
            }
            b'r' => Self::Resize(unpack_size(body)?),
            b'm' => Self::Mark(String::from_utf8(body.to_vec()).ok()?),
            b'-' => Self::Withdraw { client: split::<1>(body)?.0[0] },
            b'h' => Self::Hold { client: split::<1>(body)?.0[0] },
            _ => return None,
        })
    }
}

impl Message for ToHost {
    fn pack(&self) -> (u8, Vec<u8>) {
        match *self {
            Self::Applied { client, seq } => (b'd', join(&[client, seq], &[])),
            Self::Answered { position } => (b'a', join(&[position], &[])),
            Self::Withdrawn { client, written } => (b'-', join(&[client, written], &[])),
            Self::Unmarked => (b'm', Vec::new()),
            Self::Ended => (b'e', Vec::new()),
        }
    }

    fn unpack(kind: u8, body: &[u8]) -> Option<Self> {
        Some(match kind {
            b'd' => {
                let ([client, seq], _) = split(body)?;
                Self::Applied { client, seq }
            }
            b'a' => Self::Answered { position: split::<1>(body)?.0[0] },
            b'-' => {
                let ([client, written], _) = split(body)?;
                Self::Withdrawn { client, written }
            }
            b'm' => Self::Unmarked,
            b'e' => Self::Ended,
            _ => return None,
        })
    }
}

impl Message for ToHostFromClient {
    fn pack(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Hello { version, client } => (b'h', join(&[*client], &[*version])),
            Self::Attach { size, role } => (b't', [pack_size(*size), role.pack().to_vec()].concat()),
            Self::Input { seq, bytes } => (b'i', join(&[*seq], bytes)),
            Self::Resize(size) => (b'r', pack_size(*size)),
            Self::Snapshot => (b's', Vec::new()),
            Self::Look => (b'l', Vec::new()),
            Self::Mark(text) => (b'm', text.clone().into_bytes()),
            Self::Hold => (b'(', Vec::new()),
            Self::Release => (b')', Vec::new()),
            Self::Exec { seen, tagged } => (b'x', join(&[*seen], &tagged.pack())),
            Self::Unrecorded(behind) => (b'u', join(&[*behind], &[])),
            Self::Withdraw => (b'-', Vec::new()),
        }
    }

    fn unpack(kind: u8, body: &[u8]) -> Option<Self> {
        Some(match kind {
            b'h' => {
                let ([client], rest) = split(body)?;
                Self::Hello { version: *rest.first()?, client }
            }
            b't' => {
                let (size, role) = body.split_at_checked(4)?;
                Self::Attach { size: unpack_size(size)?, role: Attendance::unpack(role)? }
            }
            b'i' => {
                let ([seq], bytes) = split(body)?;
                Self::Input { seq, bytes: bytes.to_vec() }
            }
            b'r' => Self::Resize(unpack_size(body)?),
            b's' => Self::Snapshot,
            b'l' => Self::Look,
            b'm' => Self::Mark(String::from_utf8(body.to_vec()).ok()?),
            b'(' => Self::Hold,
            b')' => Self::Release,
            b'x' => {
                let ([seen], tagged) = split(body)?;
                Self::Exec { seen, tagged: Tagged::unpack(tagged)? }
            }
            b'u' => Self::Unrecorded(split::<1>(body)?.0[0]),
            b'-' => Self::Withdraw,
            _ => return None,
        })
    }
}

impl Message for ToClient {
    fn pack(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Welcome { version, generation } => (b'w', join(&[u64::from(*generation)], &[*version])),
            Self::Stage { size, drives } => (b'z', [pack_size(*size), vec![u8::from(*drives)]].concat()),
            Self::Paint(bytes) => (b'p', bytes.clone()),
            Self::Output(bytes) => (b'o', bytes.clone()),
            Self::Applied { seq } => (b'd', join(&[*seq], &[])),
            Self::Withdrawn { written } => (b'-', join(&[*written], &[])),
            Self::Reached { entries, line, behind: (left, at) } => {
                (b'n', join(&[*entries, *line, *left, *at], &[]))
            }
            Self::Snapshot { position, frozen } => (b's', join(&[*position], frozen)),
            Self::Marked { position, name } => (b'm', join(&[*position], name.as_bytes())),
            Self::Exec { over, nonce } => (b'q', [&[u8::from(*over)], nonce.as_bytes()].concat()),
            Self::Unrecorded(told) => {
                // A size without cells is none.
                let (sized_at, size) = told.sized.unwrap_or((0, Size { cols: 0, rows: 0 }));
                let head = join(&[told.position, sized_at], &pack_size(size));
                (b'u', [head, told.bytes.clone()].concat())
            }
            Self::Ended => (b'e', Vec::new()),
            Self::Refused(failure) => (b'x', failure.to_line()),
        }
    }

    fn unpack(kind: u8, body: &[u8]) -> Option<Self> {
        Some(match kind {
            b'w' => {
                let ([generation], rest) = split(body)?;
                Self::Welcome { version: *rest.first()?, generation: u32::try_from(generation).ok()? }
            }
            b'z' => {
                let (size, rest) = body.split_at_checked(4)?;
                Self::Stage { size: unpack_size(size)?, drives: *rest.first()? != 0 }
            }
            b'p' => Self::Paint(body.to_vec()),
            b'o' => Self::Output(body.to_vec()),
            b'd' => Self::Applied { seq: split::<1>(body)?.0[0] },
            b'-' => Self::Withdrawn { written: split::<1>(body)?.0[0] },
            b'n' => {
                let ([entries, line, left, at], _) = split(&[body, &[0; 24]].concat())?;
                Self::Reached { entries, line, behind: (left, at) }
            }
            b's' => {
                let ([position], frozen) = split(body)?;
                Self::Snapshot { position, frozen: frozen.to_vec() }
            }
            b'm' => {
                let ([position], name) = split(body)?;
                Self::Marked { position, name: String::from_utf8(name.to_vec()).ok()? }
            }
            b'q' => {
                let (over, nonce) = body.split_first()?;
                Self::Exec { over: *over != 0, nonce: String::from_utf8(nonce.to_vec()).ok()? }
            }
            b'u' => {
                let ([position, sized_at], rest) = split(body)?;
                let (size, bytes) = rest.split_at_checked(4)?;
                let sized = unpack_size(size).map(|size| (sized_at, size));
                Self::Unrecorded(Unrecorded { position, bytes: bytes.to_vec(), sized })
            }
            b'e' => Self::Ended,
            b'x' => Self::Refused(Failure::from_line(body)?),
            _ => return None,
        })
    }
}

fn join(numbers: &[u64], bytes: &[u8]) -> Vec<u8> {
    let mut body: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    body.extend_from_slice(bytes);
    body
}

fn split<const N: usize>(body: &[u8]) -> Option<([u64; N], &[u8])> {
    let (numbers, rest) = body.split_at_checked(N * 8)?;
    let mut chunks = numbers.chunks_exact(8);
    let number =
        |_| chunks.next().map_or(0, |chunk| chunk.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)));
    Some((std::array::from_fn(number), rest))
}

fn pack_size(size: Size) -> Vec<u8> {
    crate::recording::resize_payload(size).to_vec()
}

fn unpack_size(body: &[u8]) -> Option<Size> {
    crate::recording::parse_resize(body).filter(|size| size.cols > 0 && size.rows > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<M: Message + PartialEq + std::fmt::Debug + Clone>(messages: &[M]) {
        let stream: Vec<u8> = messages.iter().flat_map(Message::to_stream).collect();
        for cut in 0..=stream.len() {
            let mut inbox = Inbox::new(LONGEST);
            let mut got = Vec::new();
            for piece in [&stream[..cut], &stream[cut..]] {
                inbox.feed(piece);
                while let Some(message) = inbox.take::<M>().unwrap() {
                    got.push(message);
                }
            }
            assert_eq!(got, messages, "cut at {cut}");
        }
    }

    const SIZE: Size = Size { cols: 120, rows: 40 };

    fn tagged(bytes: &[u8]) -> Tagged {
        Tagged { client: 7, seq: 9, tag: b"{}".to_vec(), bytes: bytes.to_vec() }
    }

    #[test]
    fn every_message_comes_back_whole_however_the_stream_is_cut() {
        let bytes = b"\x1b[A\xff\0".to_vec();
        check(&[
            ToGuard::Input { client: u64::MAX, seq: 7, bytes: bytes.clone() },
            ToGuard::Answer { position: 9, bytes: bytes.clone() },
            ToGuard::Resize(SIZE),
            ToGuard::Mark("here".into()),
            ToGuard::Exec(tagged(&bytes)),
            ToGuard::Withdraw { client: 7 },
            ToGuard::Hold { client: 7 },
        ]);
        check(&[
            ToHost::Applied { client: 1, seq: 2 },
            ToHost::Answered { position: 3 },
            ToHost::Withdrawn { client: 1, written: 4 },
            ToHost::Unmarked,
            ToHost::Ended,
        ]);
        check(&[
            ToHostFromClient::Hello { version: VERSION, client: 5 },
            ToHostFromClient::Attach { size: SIZE, role: Attendance::first(true) },
            ToHostFromClient::Attach {
                size: SIZE,
                role: Attendance { again: true, ..Attendance::first(false) },
            },
            ToHostFromClient::Input { seq: 1, bytes: bytes.clone() },
            ToHostFromClient::Resize(SIZE),
            ToHostFromClient::Snapshot,
            ToHostFromClient::Look,
            ToHostFromClient::Mark("x".into()),
            ToHostFromClient::Hold,
            ToHostFromClient::Release,
            ToHostFromClient::Exec { seen: 5, tagged: tagged(&bytes) },
            ToHostFromClient::Unrecorded(77),
            ToHostFromClient::Withdraw,
        ]);
        check(&[
            ToClient::Welcome { version: VERSION, generation: 3 },
            ToClient::Stage { size: SIZE, drives: true },
            ToClient::Paint(bytes.clone()),
            ToClient::Output(bytes.clone()),
            ToClient::Applied { seq: 4 },
            ToClient::Withdrawn { written: 5 },
            ToClient::Reached { entries: 7, line: 3, behind: (9, 1) },
            ToClient::Snapshot { position: 8, frozen: bytes.clone() },
            ToClient::Unrecorded(Unrecorded { position: 8, bytes, sized: None }),
            ToClient::Unrecorded(Unrecorded { sized: Some((9, SIZE)), ..Unrecorded::default() }),
            ToClient::Marked { position: 9, name: "here".into() },
            ToClient::Exec { over: true, nonce: "k3v9".into() },
            ToClient::Ended,
            ToClient::Refused(Failure::new(crate::failure::Code::Busy, "no").hint("wait").about("k3v9q2zr")),
        ]);
    }

    #[test]
    fn an_unknown_message_is_passed_over_and_a_huge_one_refused() {
        let mut inbox = Inbox::new(LONGEST);
        inbox.feed(&[2, 0, 0, 0, b'?', 1]);
        inbox.feed(&ToHost::Ended.to_stream());
        assert_eq!(inbox.take::<ToHost>(), Ok(Some(ToHost::Ended)));
        inbox.feed(&u32::MAX.to_le_bytes());
        assert_eq!(inbox.take::<ToHost>(), Err(TooLong));
    }

    #[test]
    fn clients_and_hosts_of_before_the_driver_are_understood() {
        let old = [b't', 120, 0, 40, 0, 1];
        let attach = |role| ToHostFromClient::Attach { size: SIZE, role };
        assert_eq!(ToHostFromClient::from_packet(&old), Some(attach(Attendance::first(true))));
        // An old host reads size and first byte, and passes over what follows.
        let new = attach(Attendance::first(true)).to_packet();
        assert_eq!(new[..old.len()], old);
    }

    #[test]
    fn a_terminal_without_cells_is_no_size() {
        assert_eq!(ToGuard::from_packet(&[b'r', 0, 0, 24, 0]), None);
    }
}
