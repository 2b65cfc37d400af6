//! Records as in RFC 4180, of any bytes: a field with a comma, a quote or a line end is between quotes, and a quote
//! inside it is doubled. Input that RFC 4180 leaves undefined is an error.

use endura::{LONGEST_KEY, LONGEST_VALUE};

use super::lines::{Flaw, Lines};
use super::utf16;
use crate::values::map::Entry;

/// The flaw of a line that is longer than a key, if it has one.
pub(super) fn too_long(line: &[u8]) -> Option<&'static str> {
    let can_be = line.contains(&b',') || line.starts_with(b"\"");
    (!can_be).then_some("the line is too long, and has no comma")
}

/// The two fields of the next record. Empty lines are skipped.
pub(super) fn record(lines: &mut Lines) -> Result<Option<Entry>, Flaw> {
    loop {
        match lines.next(too_long)? {
            None => return Ok(None),
            Some(b"" | b"\r") => {}
            Some(line) => {
                let reader = Reader { line: line.to_vec(), at: 0, lines };
                return reader.fields().map(Some);
            }
        }
    }
}

/// The position in a record.
struct Reader<'l> {
    line: Vec<u8>,
    at: usize,
    lines: &'l mut Lines,
}

impl Reader<'_> {
    fn fields(mut self) -> Result<Entry, Flaw> {
        let key = self.field(LONGEST_KEY)?;
        if self.at == self.line.len() {
            return Err("a comma between key and value is expected, found none".into());
        }
        self.at += 1;
        let value = self.field(LONGEST_VALUE)?;
        if self.at < self.line.len() {
            return Err(
                "2 fields are expected, a key and a value; found more (a field with a comma \
                        stands between quotes)"
                    .into(),
            );
        }
        Ok((key, value))
    }

    /// Reads one field; the position is then at the comma after it, or at the end of the record.
    fn field(&mut self, longest: usize) -> Result<Vec<u8>, Flaw> {
        if self.line[self.at..].starts_with(b"\"") {
            return self.quoted(longest);
        }
        let rest = &self.line[self.at..];
        let length = rest.iter().position(|&byte| byte == b',').unwrap_or(rest.len());
        let field = &rest[..length];
        self.at += length;
        if field.contains(&b'"') {
            return Err(
                "a quote inside a field that does not begin with one: put the field between \
                        quotes, and write the quote twice"
                    .into(),
            );
        }
        let is_last = self.at == self.line.len();
        let field = field.strip_suffix(b"\r").filter(|_| is_last).unwrap_or(field);
        Ok(field.to_vec())
    }

    fn quoted(&mut self, longest: usize) -> Result<Vec<u8>, Flaw> {
        let (opened, mut field) = (self.lines.number, Vec::new());
        self.at += 1;
        loop {
            let rest = &self.line[self.at..];
            let Some(quote) = rest.iter().position(|&byte| byte == b'"') else {
                field.extend_from_slice(rest);
                field.push(b'\n');
                self.next_line(opened)?;
                if field.len() > longest {
                    return Err(format!(
                        "the field that opens with a quote on line {opened} is too long"
                    )
                    .into());
                }
                continue;
            };
            field.extend_from_slice(&rest[..quote]);
            self.at += quote + 1;
            match &self.line[self.at..] {
                [b'"', ..] => {
                    field.push(b'"');
                    self.at += 1;
                }
                b"\r" => {
                    self.at += 1;
                    return Ok(field);
                }
                [] | [b',', ..] => return Ok(field),
                _ => {
                    return Err(
                        "a comma or the end of the line is expected behind the closing quote \
                                (a quote inside a field is written twice)"
                            .into(),
                    );
                }
            }
        }
    }

    fn next_line(&mut self, opened: u64) -> Result<(), Flaw> {
        match self.lines.next(|_| None)? {
            Some(line) => self.line = line.to_vec(),
            None => {
                return Err(format!("the quote that opens on line {opened} is never closed").into());
            }
        }
        self.at = 0;
        Ok(())
    }
}

/// Puts the field that starts at `begin` between quotes, if it needs them.
pub(super) fn quote(out: &mut Vec<u8>, begin: usize) {
    let field = &out[begin..];
    let is_plain = !field.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'));
    // A file that begins with the mark of UTF-16 and has no quote before it is refused.
    if is_plain && !utf16::has_mark(field) {
        return;
    }
    let plain = out.split_off(begin);
    out.push(b'"');
    for part in plain.split_inclusive(|&byte| byte == b'"') {
        out.extend_from_slice(part);
        if part.ends_with(b"\"") {
            out.push(b'"');
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &[u8]) -> Result<Vec<Entry>, (u64, Flaw)> {
        let mut lines = Lines::new(Box::new(std::io::Cursor::new(text.to_vec())));
        let mut all = Vec::new();
        loop {
            match record(&mut lines) {
                Ok(Some(entry)) => all.push(entry),
                Ok(None) => return Ok(all),
                Err(flaw) => return Err((lines.number, flaw)),
            }
        }
    }

    #[test]
    fn records_of_every_shape() {
        let text = b"a,b\r\n\n\"c,\"\"\r\n\",\"\"\n,\n\"\",\" \"\r\nd,e\rf";
        let expected = [("a", "b"), ("c,\"\r\n", ""), ("", ""), ("", " "), ("d", "e\rf")];
        let found = records(text).expect("records");
        assert_eq!(found.len(), expected.len());
        for ((key, value), (k, v)) in found.iter().zip(expected) {
            assert_eq!((&key[..], &value[..]), (k.as_bytes(), v.as_bytes()));
        }
    }

    #[test]
    fn what_is_no_record_is_an_error_on_its_line() {
        for (text, line) in [
            (&b"a,b\nc"[..], 2),
            (b"a,b,c", 1),
            (b"a,b\n\n\"c,d\ne,f\n", 4),
            (b"a,b\"", 1),
            (b"\"a\"b,c", 1),
            (b"a,\"b\" ", 1),
        ] {
            let (number, _) = records(text).expect_err("an error");
            assert_eq!(number, line, "{}", text.escape_ascii());
        }
        let unclosed = [&b"\""[..], &[b'\n'; 2 * LONGEST_KEY]].concat();
        let (number, _) = records(&unclosed).expect_err("an error");
        assert!(number <= LONGEST_KEY as u64 + 3, "read on after a key that is too long");
    }
}
