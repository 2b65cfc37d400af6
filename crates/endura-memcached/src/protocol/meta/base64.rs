//! Base64 as memcached reads it: bytes that are not of the alphabet are skipped, and all after the padding is ignored.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The six bits of a letter; 0 for the padding.
fn bits(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        b'=' => Some(0),
        _ => None,
    }
}

/// The bytes of a text; none if it is not of groups of four letters, or empty, or if its padding is too long.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let letters: Vec<u8> = text.iter().copied().filter(|&letter| bits(letter).is_some()).collect();
    let (groups, []) = letters.as_chunks::<4>() else { return None };
    let mut bytes = Vec::with_capacity(groups.len() * 3);
    for group in groups {
        let word = group
            .iter()
            .fold(0, |word, &letter| word << 6 | u32::from(bits(letter).unwrap_or_default()));
        let padding = group.iter().filter(|&&letter| letter == b'=').count();
        if padding > 2 {
            return None;
        }
        bytes.extend_from_slice(&word.to_be_bytes()[1..4 - padding]);
        if padding > 0 {
            break;
        }
    }
    (!bytes.is_empty()).then_some(bytes)
}

/// Adds the text for these bytes to the output.
pub(super) fn encode(bytes: &[u8], output: &mut Vec<u8>) {
    for group in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=group.len()].copy_from_slice(group);
        let word = u32::from_be_bytes(word);
        for place in 0..4 {
            let letter = ALPHABET[(word >> (18 - 6 * place) & 63) as usize];
            output.push(if place <= group.len() { letter } else { b'=' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_their_text() {
        let mut rng = fastrand::Rng::with_seed(3);
        for length in 1..200 {
            let bytes: Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
            let mut text = Vec::new();
            encode(&bytes, &mut text);
            assert_eq!(decode(&text), Some(bytes));
        }
    }

    #[test]
    fn texts_are_read_as_by_memcached() {
        let read = |text: &str| decode(text.as_bytes());
        assert_eq!(read("Zm9v").unwrap(), b"foo");
        assert_eq!(read("Z-m9\t_v").unwrap(), b"foo");
        assert_eq!(read("Zm8=Zm9v").unwrap(), b"fo");
        assert_eq!(read("Z=9v").unwrap(), b"d\x0f");
        for wrong in ["", "Zm9", "Zm9vY", "Z===", "====", "-"] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }
}
