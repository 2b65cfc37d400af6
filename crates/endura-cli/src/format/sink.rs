//! What `export` and `scan` write.

use super::lines::BOM;
use super::{Style, csv, dump, json, tsv};
use crate::values::datum::Datum;
use crate::values::escape::shown;
use endura_console::outcome::{Failure, Result};

/// Turns entries into lines.
pub(crate) struct Sink {
    style: Style,
    line: Vec<u8>,
    /// Entries that LMDB cannot take.
    beyond_lmdb: u64,
    /// Whether no line has been written yet.
    first: bool,
}

impl Sink {
    pub(crate) fn new(style: Style) -> Self {
        Self { style, line: Vec::new(), beyond_lmdb: 0, first: true }
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
        self.first = self.line.is_empty();
        &self.line
    }

    /// An entry.
    pub(crate) fn line<D: Datum>(&mut self, key: &D, value: &D) -> Result<&[u8]> {
        self.line.clear();
        match self.style {
            Style::Tsv => tsv::write(key, value, &mut self.line),
            Style::Csv => {
                csv::write(key, value, &mut self.line);
                if std::mem::take(&mut self.first) && self.line.starts_with(BOM) {
                    self.line.splice(..0, BOM.iter().copied());
                }
            }
            Style::Json => json::write(key, value, &mut self.line),
            Style::Dump { print } => {
                let fits = dump::write(print, key, value, &mut self.line);
                self.beyond_lmdb += u64::from(!fits);
            }
            Style::Lines => {
                value.write_plain(&mut self.line);
                let has_value = !self.line.is_empty();
                self.line.clear();
                key.write_plain(&mut self.line);
                if has_value || self.line.contains(&b'\n') {
                    let key = shown(&self.line);
                    let what = if has_value { "has a value" } else { "holds a line end" };
                    return Err(Failure::Message(format!(
                        "the key `{key}` {what}, which --format lines cannot write: choose tsv, csv or json"
                    )));
                }
                if std::mem::take(&mut self.first) && self.line.starts_with(BOM) {
                    // The first is taken for no part of the text; the second is the key's.
                    self.line.splice(..0, BOM.iter().copied());
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
