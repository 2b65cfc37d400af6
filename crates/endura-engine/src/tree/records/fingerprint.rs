//! Sixteen bits of a key, which a tree keeps beside the offset of the key's record.

use crate::cpu::crc32c;

/// A fingerprint of 16 bits, which differs for most keys of a node. It is part of the format: a function of the key's
/// bytes that is the same on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint(pub(crate) u16);

impl Fingerprint {
    #[inline]
    pub(crate) fn of(key: &[u8]) -> Self {
        let sum = crc32c::append(0, key);
        Self((sum ^ sum >> 16) as u16)
    }

    /// The bits of the fingerprint that fit beside the offset of a record in a word of a ROART node.
    pub(crate) fn hint(self) -> u64 {
        u64::from(self.0) & 0xF
    }
}

/// A key to search for.
#[derive(Clone, Copy)]
pub(crate) struct Sought<'k> {
    pub(crate) bytes: &'k [u8],
    pub(crate) fingerprint: Fingerprint,
}

impl<'k> Sought<'k> {
    #[inline]
    pub(crate) fn new(bytes: &'k [u8]) -> Self {
        Self { bytes, fingerprint: Fingerprint::of(bytes) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The format of a pool depends on the fingerprints.
    #[test]
    fn fingerprints_never_change() {
        assert_eq!(Fingerprint::of(b""), Fingerprint(0));
        assert_eq!(Fingerprint::of(b"123456789"), Fingerprint(0xE306 ^ 0x9283));
    }
}
