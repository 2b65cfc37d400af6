//! Lines with a tab between key and value, both with escapes.

use super::lines::{Flaw, Lines};
use crate::values::map::Entry;

/// Whether a line must consist of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    Yes,
    No,
    /// A line that looks like two numbers is taken for two numbers; no other line is.
    Perhaps,
}

/// The fields of the next entry. Empty lines are skipped, and among numbers so are lines of blanks. A line ends with a
/// line feed, or with a carriage return and a line feed. `commas` says that a comma between numbers is a separator too,
/// if the line has no tab.
pub(super) fn next(
    lines: &mut Lines,
    commas: bool,
    numbers: Numbers,
) -> Result<Option<Entry>, Flaw> {
    while let Some(line) = lines.next(too_long)? {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let is_blank = match numbers {
            Numbers::Yes => line.trim_ascii().is_empty(),
            // A tab separates a key from a value, also where both are empty.
            Numbers::Perhaps => line.trim_ascii().is_empty() && !line.contains(&b'\t'),
            Numbers::No => line.is_empty(),
        };
        if !is_blank {
            let commas = commas
                && match numbers {
                    Numbers::Perhaps => line.split(|&byte| byte == b',').all(is_number),
                    sure => sure == Numbers::Yes,
                };
            return Ok(Some(fields(line, commas)?));
        }
    }
    Ok(None)
}

fn is_number(text: &[u8]) -> bool {
    let text = str::from_utf8(text).unwrap_or_default();
    text.trim().trim_matches('"').parse::<i128>().is_ok()
}

pub(super) fn too_long(line: &[u8]) -> Option<&'static str> {
    (!line.contains(&b'\t')).then_some(
        "a tab between key and value is expected, and the line, longer than any key, has none (--format \
         names others: csv, json, mdb, lines)")
}

fn fields(line: &[u8], commas: bool) -> Result<Entry, String> {
    // A tab takes precedence: in a TSV file a comma could only be a mistake inside a number.
    let separator = if commas && !line.contains(&b'\t') { b',' } else { b'\t' };
    let mut fields = line.split(|&byte| byte == separator);
    let (Some(key), Some(value), None) = (fields.next(), fields.next(), fields.next()) else {
        return Err(match line.iter().filter(|&&byte| byte == separator).count() {
            0 => {
                "a tab between key and value is expected, found none (--format names others: csv, \
                  json, mdb, lines)"
                    .into()
            }
            commas if separator == b',' => {
                format!("one comma or tab is expected, found {commas} commas")
            }
            tabs => format!("one tab is expected, found {tabs}: inside a key or a value it is \\t"),
        });
    };
    Ok((key.to_vec(), value.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_two_fields() {
        assert_eq!(fields(b"1\t2", true), Ok((b"1".to_vec(), b"2".to_vec())));
        assert_eq!(fields(b" 1 , \"7\" ", true), Ok((b" 1 ".to_vec(), b" \"7\" ".to_vec())));
        assert_eq!(fields(b"\t", false), Ok((vec![], vec![])));
        assert_eq!(fields(b"a,b\\t\t\xff", false), Ok((b"a,b\\t".to_vec(), b"\xff".to_vec())));
        for (bad, commas) in
            [(&b"1"[..], true), (b"1\t2\t3", true), (b"1,2,3", true), (b"a,b", false)]
        {
            assert!(fields(bad, commas).is_err(), "{bad:?}");
        }
        assert!(is_number(b" \"18446744073709551615\" ") && is_number(b"-1") && !is_number(b"1.5"));
    }
}
