//! Files in UTF-16, which are refused: what is read here is UTF-8, or bytes.

use super::lines::Flaw;

/// Whether `text` begins with a byte order mark of UTF-16, which no UTF-8 does.
pub(super) fn has_mark(text: &[u8]) -> bool {
    text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff")
}

/// Whether a file that begins with `line`, and may hold any bytes, is text in UTF-16: after the mark, half of the first
/// character is zero.
pub(super) fn is_text(line: &[u8]) -> bool {
    matches!(line, [0xff, 0xfe, _, 0, ..] | [0xfe, 0xff, 0, ..])
}

/// The flaw of such a file.
pub(super) fn flaw(line: &[u8]) -> Flaw {
    let mark = if line.starts_with(b"\xff") { "FF FE" } else { "FE FF" };
    format!(
        "the file is UTF-16 (it begins with {mark}): convert it to UTF-8, as `iconv -f UTF-16 -t UTF-8` does"
    )
    .into()
}
