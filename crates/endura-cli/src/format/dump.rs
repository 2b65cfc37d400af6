//! The text that LMDB's `mdb_dump` writes and `mdb_load` reads (`mdb_dump(1)`). A header of `name=value` lines comes
//! first. Then each key has a line and each value has a line, and each of these lines begins with a blank. Under
//! `format=bytevalue` all bytes are hexadecimal digits; under `format=print` a backslash is doubled, and what is not
//! printable ASCII is a backslash with two digits.

use super::lines::{Flaw, Lines};
use crate::values::escape::{from_hex, push_hex, shown};
use crate::values::map::{Entry, Schema};
use crate::values::notation::Written;

/// The start of the first line of every dump.
pub(super) const MAGIC: &[u8] = b"VERSION=";

/// LMDB takes keys of 1 to 511 bytes.
const LONGEST_LMDB_KEY: usize = 511;

/// A dump whose header has been read.
pub(super) struct Dump {
    print: bool,
    pub(super) integer_keys: bool,
    done: bool,
}

impl Dump {
    /// Reads the header.
    pub(super) fn begin(lines: &mut Lines) -> Result<Self, Flaw> {
        let (mut print, mut integer_keys, mut is_btree) = (None, false, false);
        if !lines.peek(too_long)?.is_some_and(|line| line.starts_with(MAGIC)) {
            return Err("`VERSION=3` is expected, with which every dump of mdb_dump begins".into());
        }
        loop {
            let Some(line) = line(lines)? else {
                return Err("the header ends without `HEADER=END`: the dump was cut off".into());
            };
            let text = String::from_utf8_lossy(line).into_owned();
            let Some((name, value)) = text.split_once('=') else {
                return Err(format!(
                    "a header line NAME=VALUE is expected, found `{}`",
                    shown(line)
                )
                .into());
            };
            match (name, value) {
                ("HEADER", "END") => break,
                ("VERSION", "3") | ("database" | "mapaddr", _) => {}
                ("format", "print") => print = Some(true),
                ("format", "bytevalue") => print = Some(false),
                ("type", "btree") => is_btree = true,
                ("VERSION" | "format" | "type" | "HEADER", _) => {
                    return Err(format!(
                        "`{}` is not supported: mdb_dump writes VERSION=3, type=btree and \
                         format=bytevalue or print",
                        shown(line)
                    )
                    .into());
                }
                ("integerkey", _) => integer_keys = value == "1",
                ("duplicates" | "dupsort" | "dupfixed" | "integerdup" | "reversedup", "1") => {
                    return Err(format!(
                        "`{name}=1`: the database may hold several values per key, and a map \
                         of endura holds one"
                    )
                    .into());
                }
                ("mapsize" | "maxreaders" | "db_pagesize", _) if value.parse::<u64>().is_err() => {
                    return Err(format!("`{}`: not a number", shown(line)).into());
                }
                // Fields that later versions may add do not affect the entries.
                _ => {}
            }
        }
        match print {
            Some(print) if is_btree => Ok(Self { print, integer_keys, done: false }),
            _ => Err("the header has no `format` or no `type`".into()),
        }
    }

    /// Checks that a map can hold the entries in their order.
    pub(super) fn suits(&self, schema: &Schema) -> Result<(), &'static str> {
        match (self.integer_keys, schema.key.is_lmdb_integer()) {
            (true, false) => Err(
                "the keys of this dump are numbers (integerkey=1), and sort as such only in a map whose keys \
                 are: import it with a --map of its own",
            ),
            (false, true) => Err(
                "the keys of this dump are byte strings, and those of the map are numbers: import it with a \
                 --map of its own",
            ),
            _ => Ok(()),
        }
    }

    /// The bytes of the next entry.
    pub(super) fn next(&mut self, lines: &mut Lines) -> Result<Option<Entry>, Flaw> {
        const CUT_OFF: &str = "the dump ends without `DATA=END`: it was cut off, dump it again";
        if self.done {
            return Ok(None);
        }
        let key = match line(lines)? {
            Some(b"DATA=END") => {
                self.done = true;
                return match line(lines)? {
                    None => Ok(None),
                    Some(_) => {
                        Err("more after `DATA=END`: a dump of several databases is imported one \
                                    by one (mdb_dump -s NAME)"
                            .into())
                    }
                };
            }
            Some(line) => self.decode(line, "key")?,
            None => return Err(CUT_OFF.into()),
        };
        let value = match line(lines)? {
            Some(b"DATA=END") => return Err("the last key has no value".into()),
            Some(line) => self.decode(line, "value")?,
            None => return Err(CUT_OFF.into()),
        };
        Ok(Some((key, value)))
    }

    fn decode(&self, line: &[u8], what: &str) -> Result<Vec<u8>, String> {
        let Some(text) = line.strip_prefix(b" ") else {
            return Err(format!("a {what} is expected, behind a blank; found `{}`", shown(line)));
        };
        let bytes = if self.print { unprint(text) } else { from_hex(text) };
        bytes.map_err(|error| format!("the {what}: {error}, found `{}`", shown(text)))
    }
}

fn line(lines: &mut Lines) -> Result<Option<&[u8]>, Flaw> {
    lines.next(too_long)
}

fn too_long(line: &[u8]) -> Option<&'static str> {
    (!line.starts_with(b" ")).then_some("the line is too long")
}

/// Decodes a `format=print` line.
fn unprint(text: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| byte == b'\\') {
        bytes.extend_from_slice(&rest[..at]);
        let digits = rest.get(at + 1..at + 3).and_then(|digits| from_hex(digits).ok());
        let length = match (rest.get(at + 1), digits) {
            (Some(b'\\'), _) => {
                bytes.push(b'\\');
                2
            }
            (_, Some(byte)) => {
                bytes.extend(byte);
                3
            }
            _ => return Err("a backslash or two hexadecimal digits must follow a backslash".into()),
        };
        rest = &rest[at + length..];
    }
    bytes.extend_from_slice(rest);
    Ok(bytes)
}

/// Writes the header of a dump of a map that takes `map_bytes` bytes.
pub(super) fn write_header(print: bool, integer_keys: bool, map_bytes: u64, out: &mut Vec<u8>) {
    let format = if print { "print" } else { "bytevalue" };
    let integer_keys = if integer_keys { "integerkey=1\n" } else { "" };
    // `mdb_load` creates an environment of this size. The size is a multiple, because LMDB's pages are less full than
    // those of a pool.
    let map_size = (4 * map_bytes).next_multiple_of(4096);
    let header = format!(
        "VERSION=3\nformat={format}\ntype=btree\nmapsize={map_size}\nmaxreaders=126\n{integer_keys}\
         db_pagesize=4096\nHEADER=END\n"
    );
    out.extend_from_slice(header.as_bytes());
}

/// Whether LMDB accepts such a key.
pub(super) fn is_lmdb_key(bytes: &[u8]) -> bool {
    (1..=LONGEST_LMDB_KEY).contains(&bytes.len())
}

/// Appends the line of a key or a value.
pub(super) fn write_line(print: bool, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b' ');
    for &byte in bytes {
        match byte {
            b'\\' if print => out.extend_from_slice(b"\\\\"),
            b' '..=b'~' if print => out.push(byte),
            _ => {
                if print {
                    out.push(b'\\');
                }
                push_hex(byte, out);
            }
        }
    }
    out.push(b'\n');
}
