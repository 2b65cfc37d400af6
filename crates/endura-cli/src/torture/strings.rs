//! Numbers as byte strings, so that the plans for numbers can torture a map of byte strings.
//!
//! Keys have the order of their numbers: the eight bytes, most significant first, without the zeros at the end (so that
//! keys are prefixes of each other), with fillers between them that depend only on the bytes before (so that keys share
//! long prefixes). Values have zero to some thousand bytes, the number first. The number determines the rest, so that a
//! mixture of two values is never taken for one.

use std::sync::LazyLock;

/// The longest filler, in bytes.
const LONGEST_FILLER: u64 = 300;

/// The key of a number.
pub(super) fn key(number: u64) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let mut key = Vec::new();
    for (i, &byte) in bytes[..length].iter().enumerate() {
        key.push(byte);
        if i + 1 < length {
            fill(&bytes[..=i], &mut key);
        }
    }
    key
}

/// The number of a key; `None` if the key does not belong to this campaign.
pub(super) fn key_number(bytes: &[u8]) -> Option<u64> {
    let (mut number, mut shift, mut rest) = (0, 64, bytes);
    let mut before = Vec::new();
    while let Some((&byte, behind)) = rest.split_first() {
        shift = u32::checked_sub(shift, 8)?;
        number |= u64::from(byte) << shift;
        before.push(byte);
        let mut filler = Vec::new();
        if !behind.is_empty() {
            fill(&before, &mut filler);
        }
        rest = behind.strip_prefix(&filler[..])?;
    }
    Some(number).filter(|&number| key(number) == bytes)
}

/// Appends the filler between two bytes of a key, after `before`; it is mostly empty.
fn fill(before: &[u8], out: &mut Vec<u8>) {
    let word = before.iter().fold(1, |word: u64, &byte| word << 8 | u64::from(byte));
    let hash = endura_console::keys::key(word);
    let length = match hash % 128 {
        0 => hash >> 32 & 0xFFFF | 1,
        1..20 => hash >> 32 & 7,
        _ => 0,
    };
    noise(hash, length % LONGEST_FILLER, out);
}

/// The value of a number.
pub(super) fn value(number: u64) -> Vec<u8> {
    let mut value = Vec::new();
    if number == 0 {
        return value;
    }
    let hash = endura_console::keys::key(number);
    // Every size class of the allocator costs each thread a page before its first operation: so most values are small,
    // and the others have few sizes.
    let length = match hash % 64 {
        0 => (hash >> 16) % 3 * 2300,
        1..5 => (hash >> 16) % 3 * 300,
        _ => (hash >> 16) % 40,
    };
    value.extend(number.to_le_bytes());
    noise(hash, length, &mut value);
    value
}

/// The number of a value; `None` if the value does not belong to this campaign.
pub(super) fn value_number(bytes: &[u8]) -> Option<u64> {
    let number = bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
    Some(number).filter(|&number| value(number) == bytes)
}

/// Appends `length` bytes that follow from `seed`. They are copied, so that most kills come during an operation, not
/// while its bytes are computed.
fn noise(seed: u64, length: u64, out: &mut Vec<u8>) {
    let from = (seed % (NOISE.len() as u64 - length)) as usize;
    out.extend_from_slice(&NOISE[from..from + length as usize]);
}

static NOISE: LazyLock<Vec<u8>> =
    LazyLock::new(|| (0..1500).flat_map(|i| endura_console::keys::key(i).to_le_bytes()).collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_the_order_and_values_their_bytes() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut numbers: Vec<u64> = (0..2000).chain((0..2000).map(|i| u64::MAX - i)).collect();
        numbers.extend((0..4000).map(|_| rng.u64(..) >> rng.u32(..64) << rng.u32(..64)));
        numbers.sort_unstable();
        numbers.dedup();
        let keys: Vec<_> = numbers.iter().map(|&number| key(number)).collect();
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(keys.windows(2).filter(|pair| pair[1].starts_with(&pair[0])).count() > 10);
        let lengths = || keys.iter().map(Vec::len);
        assert!(lengths().min() == Some(0) && lengths().max() > Some(200));
        for (number, key) in numbers.iter().zip(&keys) {
            assert_eq!(key_number(key), Some(*number));
            assert_eq!(value_number(&value(*number)), Some(*number));
        }
        let longest = numbers.iter().map(|&number| value(number).len()).max();
        assert!(longest > Some(4096));
    }

    #[test]
    fn what_nobody_wrote_has_no_number() {
        let mut torn = value(u64::MAX);
        torn[8] ^= 1;
        assert_eq!(value_number(&torn), None);
        assert_eq!(value_number(&torn[..9]), None);
        assert_eq!(value_number(b"1"), None);
        for bad in [&b"\0"[..], &[1; 9], &[&key(u64::MAX)[..], b"x"].concat()] {
            assert_eq!(key_number(bad), None);
        }
    }
}
