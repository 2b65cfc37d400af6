//! The writer of `export` and `scan`.

use super::lines::BOM;
use super::{Style, csv, dump};
use crate::values::escape::shown;
use crate::values::map::{Entry, Schema, write};
use crate::values::notation::{Notation, Written};
use endura_console::outcome::{Failure, Result};

/// Converts the entries of a map to lines.
pub(crate) struct Sink {
    style: Style,
    schema: Schema,
    line: Vec<u8>,
    /// The number of entries that LMDB cannot hold.
    beyond_lmdb: u64,
    /// Whether the next line is the first.
    first: bool,
}

impl Sink {
    pub(crate) fn new(style: Style, schema: &Schema) -> Self {
        Self { style, schema: schema.clone(), line: Vec::new(), beyond_lmdb: 0, first: true }
    }

    /// The text before the entries of a map that takes `map_bytes` bytes.
    pub(crate) fn begin(&mut self, header: bool, map_bytes: u64) -> &[u8] {
        self.line.clear();
        let integer_keys = self.schema.key.is_lmdb_integer();
        match self.style {
            Style::Dump { print } => {
                dump::write_header(print, integer_keys, map_bytes, &mut self.line);
            }
            Style::Tsv if header => self.line.extend_from_slice(b"key\tvalue\n"),
            Style::Csv if header => self.line.extend_from_slice(b"key,value\n"),
            _ => {}
        }
        self.first = self.line.is_empty();
        &self.line
    }

    /// The line of an entry.
    pub(crate) fn line(&mut self, entry: &Entry) -> Result<&[u8]> {
        self.line.clear();
        match self.style {
            Style::Tsv => self.separated(Notation::Escaped, entry, ["", "\t", "\n"])?,
            Style::Json => {
                self.separated(Notation::Json, entry, ["{\"key\":", ",\"value\":", "}\n"])?;
            }
            Style::Csv => self.csv(entry)?,
            Style::Dump { print } => self.dump(print, entry)?,
            Style::Lines => self.plain(entry)?,
        }
        Ok(&self.line)
    }

    /// Appends the key and the value, with `texts` before, between and after them.
    fn separated(
        &mut self,
        notation: Notation,
        (key, value): &Entry,
        texts: [&str; 3],
    ) -> Result<()> {
        let [before, between, behind] = texts.map(str::as_bytes);
        self.line.extend_from_slice(before);
        write(&self.schema.key, notation, key, &mut self.line)?;
        self.line.extend_from_slice(between);
        write(&self.schema.value, notation, value, &mut self.line)?;
        self.line.extend_from_slice(behind);
        Ok(())
    }

    fn csv(&mut self, (key, value): &Entry) -> Result<()> {
        for (kind, field, end) in
            [(&self.schema.key, key, b','), (&self.schema.value, value, b'\n')]
        {
            let begin = self.line.len();
            write(kind, Notation::Plain, field, &mut self.line)?;
            csv::quote(&mut self.line, begin);
            self.line.push(end);
        }
        self.keep_bom();
        Ok(())
    }

    fn dump(&mut self, print: bool, (key, value): &Entry) -> Result<()> {
        let mut bytes = Vec::new();
        write(&self.schema.key, Notation::Binary, key, &mut bytes)?;
        self.beyond_lmdb += u64::from(!dump::is_lmdb_key(&bytes));
        dump::write_line(print, &bytes, &mut self.line);
        bytes.clear();
        write(&self.schema.value, Notation::Binary, value, &mut bytes)?;
        dump::write_line(print, &bytes, &mut self.line);
        Ok(())
    }

    fn plain(&mut self, (key, value): &Entry) -> Result<()> {
        write(&self.schema.value, Notation::Plain, value, &mut self.line)?;
        let has_value = !self.line.is_empty();
        self.line.clear();
        write(&self.schema.key, Notation::Plain, key, &mut self.line)?;
        if has_value || self.line.contains(&b'\n') {
            let key = shown(&self.line);
            let what = if has_value { "has a value" } else { "holds a line end" };
            return Err(Failure::Message(format!(
                "the key `{key}` {what}, which --format lines cannot write: choose tsv, csv or json"
            )));
        }
        self.keep_bom();
        self.line.push(b'\n');
        Ok(())
    }

    /// Doubles a byte order mark with which the first line begins. A mark at the start of a file is not part of the
    /// text, but a second mark after it is: it belongs to the key.
    fn keep_bom(&mut self) {
        if std::mem::take(&mut self.first) && self.line.starts_with(BOM) {
            self.line.splice(..0, BOM.iter().copied());
        }
    }

    /// The text after the entries.
    pub(crate) fn end(&self) -> &'static [u8] {
        if matches!(self.style, Style::Dump { .. }) { b"DATA=END\n" } else { b"" }
    }

    /// The number of entries of a dump that `mdb_load` will refuse because of their keys.
    pub(crate) fn beyond_lmdb(&self) -> u64 {
        self.beyond_lmdb
    }
}
