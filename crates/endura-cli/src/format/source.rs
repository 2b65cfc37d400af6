//! What `import` reads.

use std::io::BufRead;
use std::path::Path;

use super::dump::{Dump, MAGIC};
use super::lines::{Flaw, Lines};
use super::{FormatName, Style, csv, json, tsv};
use crate::pool::pool_args::Sort;
use crate::values::datum::Datum;
use crate::values::entries::Entry;

/// A file of entries.
pub(crate) struct Source {
    lines: Lines,
    syntax: Syntax,
}

enum Syntax {
    Tsv { commas: bool },
    Csv,
    Json,
    Dump(Dump),
    Lines,
}

impl Source {
    /// A source of the lines of `input`, whose name is `path`. `header`: the first of them names the
    /// columns.
    pub(crate) fn new(
        input: Box<dyn BufRead>,
        path: &Path,
        name: FormatName,
        header: bool,
    ) -> Result<Self, (u64, Flaw)> {
        let mut lines = Lines::new(input);
        match begin(&mut lines, name.style(path), header) {
            Ok(syntax) => Ok(Self { lines, syntax }),
            Err(flaw) => Err((lines.number, flaw)),
        }
    }

    /// Whether a map of this sort can hold the entries.
    pub(crate) fn suits(&self, sort: Sort) -> Result<(), &'static str> {
        match (&self.syntax, sort) {
            (Syntax::Dump(dump), _) => dump.suits(sort),
            (Syntax::Lines, Sort::Numbers) => Err(
                "--format lines is for byte strings: import it with --kind roart and a --map of its own",
            ),
            _ => Ok(()),
        }
    }

    /// Whether a first line may name the columns.
    pub(crate) fn has_columns(&self) -> bool {
        matches!(self.syntax, Syntax::Tsv { .. } | Syntax::Csv)
    }

    /// The next entry; none at the end.
    pub(crate) fn next<D: Datum>(&mut self) -> Result<Option<Entry<D>>, Flaw> {
        let lines = &mut self.lines;
        match &mut self.syntax {
            Syntax::Tsv { commas } => tsv::next(lines, *commas),
            Syntax::Csv => csv::next(lines),
            Syntax::Json => json::next(lines),
            Syntax::Dump(dump) => dump.next(lines),
            Syntax::Lines => match lines.next(|_| Some("the line is longer than a key can be"))? {
                Some(line) => {
                    Ok(Some((D::parse_plain(line.to_vec())?, D::parse_plain(Vec::new())?)))
                }
                None => Ok(None),
            },
        }
    }

    /// The number of the line that was read last, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.lines.number
    }

    /// Whether the file begins with a byte order mark.
    pub(crate) fn has_bom(&self) -> bool {
        self.lines.has_bom
    }

    /// Bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.lines.bytes
    }
}

fn begin(lines: &mut Lines, style: Option<Style>, header: bool) -> Result<Syntax, Flaw> {
    let is_dump = |line: Option<&[u8]>| {
        line.is_some_and(|line| line.starts_with(MAGIC) && !line.contains(&b'\t'))
    };
    let no_bytes = matches!(style, None | Some(Style::Tsv | Style::Json));
    let utf16 = |line: &[u8]| line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff");
    let too_long = if style == Some(Style::Json) { json::too_long } else { tsv::too_long };
    if no_bytes && lines.peek(too_long)?.is_some_and(utf16) {
        return Err(
            "the file is UTF-16: `iconv -f UTF-16 -t UTF-8` makes it what is read here".into()
        );
    }
    let syntax = match style {
        None if is_dump(lines.peek(tsv::too_long)?) => Syntax::Dump(Dump::begin(lines)?),
        None => Syntax::Tsv { commas: true },
        Some(Style::Tsv) => Syntax::Tsv { commas: false },
        Some(Style::Csv) => Syntax::Csv,
        Some(Style::Json) => Syntax::Json,
        Some(Style::Dump { .. }) => Syntax::Dump(Dump::begin(lines)?),
        Some(Style::Lines) => Syntax::Lines,
    };
    match syntax {
        Syntax::Csv if header => drop(csv::record(lines)?),
        Syntax::Tsv { .. } if header => drop(lines.next(|_| Some("the line is too long"))?),
        _ => {}
    }
    Ok(syntax)
}
