//! What `export` and `scan` write.

use super::{Style, csv, dump, json, tsv};
use crate::datum::Datum;
use crate::escape::shown;
use endura_console::outcome::{Failure, Result};

/// Turns entries into lines.
pub(crate) struct Sink {
    style: Style,
    line: Vec<u8>,
    /// Entries that LMDB cannot take.
    beyond_lmdb: u64,
}

impl Sink {
    pub(crate) fn new(style: Style) -> Self {
        Self { style, line: Vec::new(), beyond_lmdb: 0 }
    }

    /// What stands before the entries of a map that takes `map_bytes` bytes.
    pub(crate) fn begin<D: Datum>(&mut self, header: bool, map_bytes: u64) -> &[u8] {
        self.line.clear();
        match self.style {
            Style::Dump { print } => dump::write_header::<D>(print, map_bytes, &mut self.line),
            Style::Tsv if header => self.line.extend_from_slice(b"key\tvalue\n"),
            Style::Csv if header => self.line.extend_from_slice(b"key,value\n"),
            _ => {}
        }
        &self.line
    }

    /// An entry.
    pub(crate) fn line<D: Datum>(&mut self, key: &D, value: &D) -> Result<&[u8]> {
        self.line.clear();
        match self.style {
            Style::Tsv => tsv::write(key, value, &mut self.line),
            Style::Csv => csv::write(key, value, &mut self.line),
            Style::Json => json::write(key, value, &mut self.line),
            Style::Dump { print } => {
                let fits = dump::write(print, key, value, &mut self.line);
                self.beyond_lmdb += u64::from(!fits);
            }
            Style::Lines => {
                key.write_plain(&mut self.line);
                if self.line.contains(&b'\n') {
                    let key = shown(&self.line);
                    return Err(Failure::Message(format!(
                        "the key `{key}` holds a line end: choose another --format than lines"
                    )));
                }
                self.line.push(b'\n');
            }
        }
        Ok(&self.line)
    }

    /// What stands behind the entries.
    pub(crate) fn end(&self) -> &'static [u8] {
        if matches!(self.style, Style::Dump { .. }) { b"DATA=END\n" } else { b"" }
    }

    /// How many entries of a dump `mdb_load` will not take, because of their keys.
    pub(crate) fn beyond_lmdb(&self) -> u64 {
        self.beyond_lmdb
    }
}
