//! Lines with a tab between key and value, both with escapes.

use super::lines::{Flaw, Lines};
use crate::values::datum::Datum;
use crate::values::entries::Entry;

/// The next entry. Empty lines hold none; a line ends with a line feed, or with a carriage return
/// and a line feed. `commas`: between numbers a comma does as well, where there is no tab.
pub(super) fn next<D: Datum>(lines: &mut Lines, commas: bool) -> Result<Option<Entry<D>>, Flaw> {
    let commas = commas && D::IS_NUMBER;
    while let Some(line) = lines.next(too_long)? {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let is_blank = if D::IS_NUMBER { line.trim_ascii().is_empty() } else { line.is_empty() };
        if !is_blank {
            return Ok(Some(parse(line, commas)?));
        }
    }
    Ok(None)
}

pub(super) fn too_long(line: &[u8]) -> Option<&'static str> {
    (!line.contains(&b'\t')).then_some(
        "a tab between key and value is expected, and the line, longer than any key, has none (--format \
         names others: csv, json, mdb, lines)")
}

fn parse<D: Datum>(line: &[u8], commas: bool) -> Result<Entry<D>, String> {
    // A tab decides: in a TSV file a comma could only be a mistake inside a number.
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
    let key = D::parse(key).map_err(|error| format!("the key: {error}"))?;
    let value = D::parse(value).map_err(|error| format!("the value: {error}"))?;
    Ok((key, value))
}

pub(super) fn write(key: &impl Datum, value: &impl Datum, out: &mut Vec<u8>) {
    key.write(out);
    out.push(b'\t');
    value.write(out);
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        assert_eq!(parse(b"1\t2", true), Ok((1_u64, 2_u64)));
        assert_eq!(parse(b" 1 , \"18446744073709551615\" ", true), Ok((1, u64::MAX)));
        for bad in [&b"1"[..], b"1\t2\t3", b"1,x", b"\xff\t1", b"1,", b"-1\t1", b"1.5,2"] {
            assert!(parse::<u64>(bad, true).is_err(), "{bad:?}");
        }
        let bytes = |line| parse::<Vec<u8>>(line, false);
        assert_eq!(bytes(b"\t"), Ok((vec![], vec![])));
        assert_eq!(bytes(b"a,b\\t\t\xff \\\\"), Ok((b"a,b\t".to_vec(), b"\xff \\".to_vec())));
        for bad in [&b"a,b"[..], b"a\tb\tc", b"\\\tb", b"a\t\\z"] {
            assert!(bytes(bad).is_err(), "{bad:?}");
        }
    }
}
