//! Key words: the image of a byte string in one word, by which a node is searched.
//!
//! A node has a prefix P. The word of a key has the first seven bytes of the key behind P, filled up with zeros, and below
//! them a digit that says how many bytes there were (at most eight). A key that does not begin with P has the smallest
//! word if it sorts before all keys with P, and the largest one, [`ABOVE`], if it sorts after them. So for any P the words
//! of two keys in order are in order, or equal: words save comparisons, and where they are equal the records decide. A
//! prefix that fits badly makes a node slow, and never wrong.
//!
//! The digit is needed because otherwise a key, and the same key with a zero byte behind it, could not be told apart under
//! any prefix.
//!
//! The *separator* of a word is the smallest key whose word is not smaller. It is P and as many bytes as the digit says. A
//! key is at or above a separator exactly if its word is at or above that of the separator, provided that P leaves few enough
//! bytes of the separator ([`shortest_prefix`]).

use std::cmp::Ordering;

/// The word of keys that sort after all keys with the prefix.
pub(crate) const ABOVE: u64 = (1 << 60) - 1;
/// The bits of the digit.
const DIGIT: u32 = 4;

/// How many bytes of a key a word has. The nodes of a pool have [`Seven`]; tests also use fewer, so that equal words are
/// the rule. The lab has words without bytes, which say only on which side of the prefix a key lies: there a record decides
/// nearly every comparison, as in the paper.
pub trait KeyWord: Send + Sync + 'static {
    /// The number of bytes, from 0 to 7.
    const BYTES: usize;
    /// Whether references use their upper bits: those to records for a fingerprint of the key, those to children for the
    /// [`continuation`] of the separator.
    const USES_UPPER_BITS: bool;
}

/// Words of seven bytes.
#[derive(Debug, Clone, Copy)]
pub struct Seven;

impl KeyWord for Seven {
    const BYTES: usize = 7;
    const USES_UPPER_BITS: bool = true;
}

/// Words of one byte, with continuations and fingerprints: for tests with short keys.
#[derive(Debug, Clone, Copy)]
pub struct OneAndTwo;

impl KeyWord for OneAndTwo {
    const BYTES: usize = 1;
    const USES_UPPER_BITS: bool = true;
}

/// Words of one byte, with nothing else that could tell two keys apart: for tests.
#[derive(Debug, Clone, Copy)]
pub struct One;

impl KeyWord for One {
    const BYTES: usize = 1;
    const USES_UPPER_BITS: bool = false;
}

/// What the directory records of a map of byte strings whose nodes have these sizes: the sizes, that keys are byte strings,
/// and which words and references there are if they are not those of a pool. Otherwise the library would misread a map of
/// the lab.
pub(crate) const fn parameters<K: KeyWord>(sizes: u64) -> u64 {
    let other_form = (Seven::BYTES - K::BYTES) as u64 | (!K::USES_UPPER_BITS as u64) << 3;
    other_form << 34 | 1 << 33 | sizes
}

/// Eight bytes of `key` from `from` on, as a number that sorts as they do; bytes behind the end count as 0.
#[inline(always)]
pub(crate) fn eight_bytes(key: &[u8], from: usize) -> u64 {
    if let Some(&bytes) = key.get(from..).and_then(<[u8]>::first_chunk) {
        return u64::from_be_bytes(bytes);
    }
    match (key.last_chunk(), key.len().saturating_sub(from)) {
        (_, 0) => 0,
        // Fewer than eight are left.
        (Some(&last), left) => u64::from_be_bytes(last) << (64 - 8 * left),
        (None, _) => bytes_of_short_key(key, from),
    }
}

#[inline(never)]
fn bytes_of_short_key(key: &[u8], from: usize) -> u64 {
    let (mut bytes, rest) = ([0; 8], key.get(from..).unwrap_or(&[]));
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(bytes)
}

/// The word of a key that begins with the prefix, and has `left` bytes behind it, of which `eight` are the first.
#[inline(always)]
pub(crate) fn word<K: KeyWord>(eight: u64, left: usize) -> u64 {
    let digit = (1 + left.min(K::BYTES + 1)) as u64;
    if const { K::BYTES == 0 } {
        // A shift by all 64 bits is not defined.
        return digit;
    }
    let unused = 8 * (8 - K::BYTES as u32);
    (eight >> unused << (unused - 8)) << DIGIT | digit
}

/// The two bytes of a key behind those of its word, as a number: of two keys with the same word under a prefix of `prefix`
/// bytes, the one that is smaller has no larger number. 0 for keys that do not begin with the prefix.
pub(crate) fn continuation<K: KeyWord>(prefix: usize, word: u64, key: &[u8]) -> u64 {
    match word {
        0 | ABOVE.. => 0,
        _ => eight_bytes(key, prefix + K::BYTES) >> 48,
    }
}

/// The word of a key under a prefix.
pub(crate) fn word_under<K: KeyWord>(prefix: &[u8], key: &[u8]) -> u64 {
    match key.strip_prefix(prefix) {
        Some(rest) => word::<K>(eight_bytes(rest, 0), rest.len()),
        None => word_outside(key.cmp(prefix)),
    }
}

/// The word of a key that does not begin with the prefix, by the order of the two.
#[inline(always)]
pub(crate) fn word_outside(order: Ordering) -> u64 {
    if order == Ordering::Less { 0 } else { ABOVE }
}

/// The number of bytes that two keys share at the beginning.
pub(crate) fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The fewest bytes of a prefix of `separator` under which `separator` is decided: each key is at or above it exactly if
/// the word of the key is at or above that of the separator.
pub(crate) fn shortest_prefix<K: KeyWord>(separator: &[u8]) -> usize {
    let held = K::BYTES + usize::from(separator.last() == Some(&0));
    separator.len().saturating_sub(held)
}

/// The word with the fewest bytes above `before` and at or below `at`: of two keys that begin with the prefix. The two words
/// must differ.
pub(crate) fn shortest_word<K: KeyWord>(before: u64, at: u64) -> u64 {
    let bytes = at >> DIGIT;
    for len in 0..=K::BYTES as u32 {
        let word = bytes >> (56 - 8 * len) << (56 - 8 * len) << DIGIT | u64::from(1 + len);
        if word > before && word <= at {
            return word;
        }
    }
    at
}

/// How many bytes the separator of a word has behind the prefix.
pub(crate) fn separator_len(word: u64) -> usize {
    ((word & ((1 << DIGIT) - 1)) as usize).saturating_sub(1)
}

/// The separator of a word of a key that begins with the prefix.
pub(crate) fn separator<K: KeyWord>(prefix: &[u8], word: u64) -> Vec<u8> {
    let (len, bytes) = (separator_len(word), (word >> DIGIT << 8).to_be_bytes());
    let mut key = prefix.to_vec();
    key.extend_from_slice(&bytes[..len.min(K::BYTES)]);
    if len > K::BYTES {
        key.push(0);
    }
    key
}

/// The shortest key that is above `before` and at or below `at`, which come in this order.
pub(crate) fn shortest_between<'k>(before: &[u8], at: &'k [u8]) -> &'k [u8] {
    &at[..common(before, at) + 1]
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Words without bytes.
    struct Zero;

    impl KeyWord for Zero {
        const BYTES: usize = 0;
        const USES_UPPER_BITS: bool = false;
    }

    /// Keys that often agree in many bytes, and in which zeros and ones are common.
    fn key() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![4 => Just(0u8), 3 => Just(1u8), 2 => Just(0xFFu8), 1 => any::<u8>()];
        prop_oneof![
            3 => proptest::collection::vec(byte.clone(), 0..5),
            3 => proptest::collection::vec(byte, 5..24),
            1 => "user:0000[0-3]{1,12}".prop_map(String::into_bytes),
        ]
    }

    fn properties<K: KeyWord>(prefix: &[u8], a: &[u8], b: &[u8]) {
        let (wa, wb) = (word_under::<K>(prefix, a), word_under::<K>(prefix, b));
        // Monotone over all keys, whatever the prefix is.
        match a.cmp(b) {
            Ordering::Less => assert!(wa <= wb),
            Ordering::Equal => assert_eq!(wa, wb),
            Ordering::Greater => assert!(wa >= wb),
        }
        if wa == wb {
            let [a, b] = [a, b].map(|key| (continuation::<K>(prefix.len(), wa, key), key));
            assert_eq!(a.0.cmp(&b.0).then(a.1.cmp(b.1)), a.1.cmp(b.1));
        }
        assert!(wa <= ABOVE && wb <= ABOVE);
        // The separator of a word is decided by the word.
        if wb != 0 && wb != ABOVE {
            let mut words = vec![wb];
            if wa < wb && wa != 0 {
                let shortest = shortest_word::<K>(wa, wb);
                assert!(wa < shortest && shortest <= wb);
                words.push(shortest);
            }
            for word in words {
                let separator = separator::<K>(prefix, word);
                assert_eq!(word_under::<K>(prefix, &separator), word);
                assert_eq!(separator.len(), prefix.len() + separator_len(word));
                assert_eq!(
                    a >= &separator[..],
                    wa >= word,
                    "{a:?} {separator:?} behind {prefix:?}"
                );
                assert_eq!(
                    b >= &separator[..],
                    wb >= word,
                    "{b:?} {separator:?} behind {prefix:?}"
                );
            }
        }
        // A prefix of a separator that leaves few enough bytes decides it.
        let shortest = shortest_prefix::<K>(b);
        for len in shortest..=b.len() {
            let prefix = &b[..len];
            let (wa, wb) = (word_under::<K>(prefix, a), word_under::<K>(prefix, b));
            assert_eq!(a >= b, wa >= wb, "{a:?} {b:?} behind {prefix:?}");
        }
        // Any two neighbours can be told apart, if words have bytes.
        if a < b && K::BYTES > 0 {
            let (prefix, middle) = (&a[..common(a, b)], shortest_between(a, b));
            assert!(a < middle && middle <= b);
            assert!(word_under::<K>(prefix, a) < word_under::<K>(prefix, b));
            assert!(shortest_prefix::<K>(middle) <= prefix.len());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn words_decide_what_they_say(prefix in key(), a in key(), b in key(), tail in key()) {
            let joined = |with: &[u8], key: &[u8]| [with, key].concat();
            for (a, b) in [
                (a.clone(), b.clone()),
                (joined(&prefix, &a), joined(&prefix, &b)),
                (joined(&prefix, &a), joined(&joined(&prefix, &a), &tail)),
            ] {
                properties::<Seven>(&prefix, &a, &b);
                properties::<One>(&prefix, &a, &b);
                properties::<OneAndTwo>(&prefix, &a, &b);
                properties::<Zero>(&prefix, &a, &b);
            }
        }
    }

    /// All short keys of an alphabet of three, under all short prefixes.
    #[test]
    fn words_of_all_short_keys() {
        let mut keys = vec![vec![]];
        for from in 0..40 {
            for byte in [0, 1, 0xFF] {
                let mut longer: Vec<u8> = keys[from].clone();
                longer.push(byte);
                keys.push(longer);
            }
        }
        for prefix in &keys[..13] {
            for a in &keys {
                for b in &keys {
                    properties::<One>(prefix, a, b);
                    properties::<Zero>(prefix, a, b);
                }
            }
        }
    }

    #[test]
    fn digits_tell_a_key_from_the_same_key_with_zeros() {
        let words = [&b"x"[..], b"x\0", b"x\0\0"].map(|key| word_under::<Seven>(b"", key));
        assert!(words.is_sorted_by(|a, b| a < b));
    }
}
