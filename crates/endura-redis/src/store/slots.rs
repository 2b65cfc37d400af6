//! Hash slots of a cluster.

/// Ranges of slots: the first and the last of each.
pub(crate) type SlotRanges = Vec<(u16, u16)>;

/// Whether a slot is in one of these ranges.
pub(crate) fn has_slot(ranges: &[(u16, u16)], slot: u16) -> bool {
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&slot))
}

/// The slot of a key: of what is between its first `{` and the `}` that follows, if that is not empty.
pub(crate) fn slot_of(name: &[u8]) -> u16 {
    let at = |from: &[u8], byte| from.iter().position(|other| *other == byte);
    let tag = at(name, b'{').and_then(|open| {
        let rest = &name[open + 1..];
        at(rest, b'}').filter(|close| *close > 0).map(|close| &rest[..close])
    });
    crc16(tag.unwrap_or(name)) % 16_384
}

/// CRC-16/XMODEM, as the specification of Redis Cluster has it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            let shifted = crc << 1;
            if crc & 0x8000 == 0 { shifted } else { shifted ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"user1000"));
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
        assert_eq!(slot_of(b"foo{}{bar}"), crc16(b"foo{}{bar}") % 16_384);
        assert!(has_slot(&[(1, 2), (7, 7)], 7) && !has_slot(&[(1, 2), (7, 7)], 6));
    }
}
