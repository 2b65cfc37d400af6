//! Numbers as clients write them.

/// Reads a number as memcached does: white space may come before it; what follows it is ignored if it begins with white
/// space. None if the text does not begin with a number, or if the number does not fit.
pub(crate) fn number<N: TryFrom<i128>>(text: &[u8]) -> Option<N> {
    let start = text.iter().position(|&byte| !is_space(byte))?;
    let (is_negative, digits) = match &text[start..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 || digits.get(end).is_some_and(|&byte| !is_space(byte)) {
        return None;
    }
    let mut value = 0_i128;
    for digit in &digits[..end] {
        value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    N::try_from(if is_negative { -value } else { value }).ok()
}

/// White space of C.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_by_memcached() {
        let read = number::<u64>;
        assert_eq!(read(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(
            [read(b" 10  "), read(b"+5"), read(b"1 x"), read(b"7\r")],
            [10, 5, 1, 7].map(Some)
        );
        let zeros = [b'0'; 100];
        assert_eq!(read(&zeros), Some(0));
        for wrong in [
            &b""[..],
            b" ",
            b"-1",
            b"x",
            b"1x",
            b"+",
            b"- 1",
            b"18446744073709551616",
            &[b'9'; 100],
        ] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
        assert_eq!(number::<i32>(b"-2147483648"), Some(i32::MIN));
        assert_eq!(number::<i32>(b"2147483648"), None);
    }
}
