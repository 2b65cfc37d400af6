//! Lines of a file, with their numbers, whatever their length.

use std::io::{self, BufRead, Read};

use endura::{LONGEST_KEY, LONGEST_VALUE};

/// Why reading a file has stopped.
#[derive(Debug)]
pub(crate) enum Flaw {
    /// Reading failed.
    Io(io::Error),
    /// The flaw of the line that was read last.
    Wrong(String),
}

impl From<String> for Flaw {
    fn from(what: String) -> Self {
        Self::Wrong(what)
    }
}

impl From<&str> for Flaw {
    fn from(what: &str) -> Self {
        Self::Wrong(what.into())
    }
}

/// The longest line that an entry can need: no format uses more than six characters for a byte.
const LONGEST_LINE: usize = 6 * (LONGEST_KEY + LONGEST_VALUE) + 4096;

/// The length after which `probe` checks that a line can be valid: longer than any key.
const PROBE: usize = 6 * LONGEST_KEY + 4096;

/// The most bytes read at once.
const PIECE: usize = 1 << 18;

/// A byte order mark in UTF-8.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The lines of a file.
pub(crate) struct Lines {
    input: Box<dyn BufRead>,
    line: Vec<u8>,
    /// Whether `line` is to be returned again.
    held: bool,
    /// The number of the line read last, from 1.
    pub(crate) number: u64,
    /// The bytes read so far.
    pub(crate) bytes: u64,
    /// Whether the file starts with a byte order mark, which is not part of its first line.
    pub(crate) has_bom: bool,
}

impl Lines {
    pub(crate) fn new(input: Box<dyn BufRead>) -> Self {
        Self { input, line: Vec::new(), held: false, number: 0, bytes: 0, has_bom: false }
    }

    /// The next line without its line feed. If a line is so long that its key must have ended, `probe` gets the start
    /// of the line, and returns the flaw of the line, if it has one.
    pub(crate) fn next(
        &mut self,
        probe: impl Fn(&[u8]) -> Option<&'static str>,
    ) -> Result<Option<&[u8]>, Flaw> {
        if !std::mem::take(&mut self.held) && !self.read(probe)? {
            return Ok(None);
        }
        Ok(Some(self.line.strip_suffix(b"\n").unwrap_or(&self.line)))
    }

    /// The line that [`next`](Self::next) will return.
    pub(crate) fn peek(
        &mut self,
        probe: impl Fn(&[u8]) -> Option<&'static str>,
    ) -> Result<Option<&[u8]>, Flaw> {
        self.held = self.held || self.read(probe)?;
        Ok(self.held.then_some(&self.line))
    }

    fn read(&mut self, probe: impl Fn(&[u8]) -> Option<&'static str>) -> Result<bool, Flaw> {
        self.line.clear();
        let mut limit = PROBE;
        loop {
            let is_whole = self.read_on(limit).map_err(Flaw::Io)?;
            if self.number == 0
                && self.bytes as usize == self.line.len()
                && self.line.starts_with(BOM)
            {
                self.line.drain(..BOM.len());
                self.has_bom = true;
            }
            if is_whole {
                self.number += u64::from(!self.line.is_empty());
                return Ok(!self.line.is_empty());
            }
            let wrong =
                if limit == PROBE { probe(&self.line) } else { Some("the line is too long") };
            if let Some(what) = wrong {
                self.number += 1;
                return Err(what.into());
            }
            limit = LONGEST_LINE;
        }
    }

    /// Reads on until the line ends or has `limit` bytes, piece by piece, so that a lack of memory is an error like any
    /// other. Returns whether the line has ended.
    fn read_on(&mut self, limit: usize) -> io::Result<bool> {
        while self.line.len() < limit {
            let piece = PIECE.min(limit - self.line.len());
            self.line.try_reserve(piece).map_err(|_| io::ErrorKind::OutOfMemory)?;
            let length =
                self.input.by_ref().take(piece as u64).read_until(b'\n', &mut self.line)?;
            self.bytes += length as u64;
            if length < piece || self.line.ends_with(b"\n") {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Lines {
        Lines::new(Box::new(io::Cursor::new(text.to_vec())))
    }

    #[test]
    fn lines_are_counted_and_peeked_at() {
        let mut lines = lines(b"a\n\nb\r\nc");
        assert_eq!(lines.peek(|_| None).expect("a line"), Some(&b"a\n"[..]));
        let mut all = Vec::new();
        while let Some(line) = lines.next(|_| None).expect("a line") {
            all.push(line.to_vec());
        }
        assert_eq!(all, [&b"a"[..], b"", b"b\r", b"c"]);
        assert_eq!((lines.number, lines.bytes), (4, 7));
    }

    #[test]
    fn a_line_that_cannot_be_one_is_not_read_to_its_end() {
        let mut lines = lines(&vec![0; 4 * PROBE]);
        assert!(matches!(lines.next(|_| Some("no")), Err(Flaw::Wrong(what)) if what == "no"));
        assert_eq!((lines.number, lines.bytes), (1, PROBE as u64));
    }
}
