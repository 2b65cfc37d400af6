//! Byte strings as text of one line, and as hexadecimal digits.

/// The text of `--help` about keys and values.
pub(crate) const NOTATION: &str = "\
Keys and values are written as their types are (`endura info` shows those):
  numbers: decimal, whole ones also in hexadecimal after 0x, with `_` between digits; put -- before an argument that \
begins with a minus. A float is the nearest, and NaN(0x7ff8000000000001) a NaN of these bits. A whole number that the \
type does not hold is an error.
  strings and bytes: text, in which a backslash begins an escape: \\\\ backslash, \\t tab, \\n newline, \\r \
carriage return, \\0 zero, \\xNN the byte NN.
  tuples: JSON, as in [20260101,\"/\"]; so are options and json itself. To create a map of tuples from text, name their \
type: --keys '(u64, str)'.
What is printed is written the same way.";

const ESCAPES: &str = "\\\\ \\t \\n \\r \\0 \\xNN";

/// A byte order mark, which is not part of a text at its start.
pub(crate) const BOM: char = '\u{feff}';

/// Appends `bytes` as text without control characters. UTF-8 is copied; a backslash and all other bytes are escaped.
pub(crate) fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find(|c: char| c.is_control() || c == '\\' || c == BOM) {
            out.extend_from_slice(&rest.as_bytes()[..at]);
            let length = rest[at..].chars().next().map_or(1, char::len_utf8);
            escape_bytes(&rest.as_bytes()[at..at + length], out);
            rest = &rest[at + length..];
        }
        out.extend_from_slice(rest.as_bytes());
        escape_bytes(chunk.invalid(), out);
    }
}

fn escape_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            _ => {
                out.extend_from_slice(b"\\x");
                push_hex(byte, out);
            }
        }
    }
}

/// Decodes an escaped text. Bytes that [`escape`] would have escaped are accepted as themselves.
pub(crate) fn unescape(text: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| byte == b'\\') {
        bytes.extend_from_slice(&rest[..at]);
        let (byte, length) = one_escape(&rest[at..])?;
        bytes.push(byte);
        rest = &rest[at + length..];
    }
    bytes.extend_from_slice(rest);
    Ok(bytes)
}

/// The escape at the start of `text`: its byte, and its length.
fn one_escape(text: &[u8]) -> Result<(u8, usize), String> {
    Ok(match text.get(1) {
        Some(b'\\') => (b'\\', 2),
        Some(b't') => (b'\t', 2),
        Some(b'n') => (b'\n', 2),
        Some(b'r') => (b'\r', 2),
        Some(b'0') => (0, 2),
        Some(b'x') => match text.get(2..4).and_then(|digits| from_hex(digits).ok()) {
            Some(byte) => (byte[0], 4),
            None => return Err("`\\x` must be followed by two hexadecimal digits".into()),
        },
        other => {
            let wrong = other.map_or(String::new(), |&byte| byte.escape_ascii().to_string());
            return Err(format!(
                "`\\{wrong}` is none of the escapes {ESCAPES}: write a backslash as \\\\"
            ));
        }
    })
}

/// Appends two digits.
pub(crate) fn push_hex(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

/// Decodes pairs of digits.
pub(crate) fn from_hex(digits: &[u8]) -> Result<Vec<u8>, String> {
    let value = |digit: u8| char::from(digit).to_digit(16);
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|&[a, b]| Some((value(a)? << 4 | value(b)?) as u8)).collect();
    match bytes {
        Some(bytes) if rest.is_empty() => Ok(bytes),
        _ => Err("an even number of hexadecimal digits is expected".into()),
    }
}

/// `bytes` for a message: escaped, and at most 40 characters of it.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    escape(&bytes[..bytes.len().min(200)], &mut text);
    // A message shows the original text, in which a backslash is single.
    let text = String::from_utf8_lossy(&text).replace("\\\\", "\\");
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        escape(bytes, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn text_stands_for_itself_and_the_rest_is_escaped() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"user:1", "user:1"),
            ("größe \u{1f600}".as_bytes(), "größe \u{1f600}"),
            (b"a\tb\nc\rd\\e\"f", "a\\tb\\nc\\rd\\\\e\"f"),
            (b"\x00\x7f\xff\xc3", "\\x00\\x7f\\xff\\xc3"),
            ("\u{85}".as_bytes(), "\\xc2\\x85"),
            (b"\xe2\x82x", "\\xe2\\x82x"),
        ] {
            assert_eq!(escaped(bytes), text);
            assert_eq!(unescape(text.as_bytes()).as_deref(), Ok(bytes));
        }
    }

    #[test]
    fn random_bytes_come_back() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..rng.usize(..12))
                .map(|_| {
                    if rng.bool() {
                        rng.u8(..)
                    } else {
                        *b"\\xt\xc3\xa4\x80".get(rng.usize(..6)).expect("a byte")
                    }
                })
                .collect();
            let text = escaped(&bytes);
            assert!(!text.contains(['\t', '\n', '\r']));
            assert_eq!(unescape(text.as_bytes()), Ok(bytes));
        }
    }

    #[test]
    fn what_is_no_escape_is_an_error() {
        assert_eq!(unescape(b"\\0\\xFf"), Ok(vec![0, 0xFF]));
        for bad in [&b"\\"[..], b"a\\q", b"\\x", b"\\x1", b"\\xg1", b"\\X41", b"\\\xff"] {
            assert!(unescape(bad).is_err(), "{bad:?}");
        }
        assert!(from_hex(b"0").is_err() && from_hex(b"+1").is_err());
        assert_eq!(shown(&[b'a'; 100]), format!("{}...", "a".repeat(40)));
    }
}
