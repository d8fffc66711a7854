//! Input of an `exec`, which stands in the recording under a tag.

use super::{join, split};

/// Input that is tagged in the recording instead of being told as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged {
    pub client: u64,
    pub seq: u64,
    pub tag: Vec<u8>,
    pub bytes: Vec<u8>,
}

impl Tagged {
    pub(super) fn pack(&self) -> Vec<u8> {
        join(&[self.client, self.seq, self.tag.len() as u64], &[&self.tag[..], &self.bytes].concat())
    }

    pub(super) fn unpack(body: &[u8]) -> Option<Self> {
        let ([client, seq, length], rest) = split(body)?;
        let (tag, bytes) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        Some(Self { client, seq, tag: tag.to_vec(), bytes: bytes.to_vec() })
    }
}
