//! The reader of `import`.

use std::io::BufRead;
use std::path::Path;

use super::dump::{Dump, MAGIC};
use super::lines::{Flaw, Lines};
use super::tsv::Numbers;
use super::{FormatName, Style, csv, json, tsv, utf16};
use crate::values::guess::{self, Chosen, Origin};
use crate::values::map::{Entry, Schema};
use crate::values::notation::{Notation, Written};
use crate::values::scalar::Reading;
use endura::Types;
use endura::dynamic::Type;

/// A file of entries.
pub(crate) struct Source {
    lines: Lines,
    syntax: Syntax,
    /// The types of the entries, once they are known, and where the types of the keys and of the values come from.
    schema: Option<(Schema, [Origin; 2])>,
    /// An entry that was read for its types.
    held: Option<Entry>,
    /// Whether the first entry is the header that an export writes.
    is_headed: bool,
}

enum Syntax {
    Tsv { commas: bool },
    Csv,
    Json,
    Dump(Dump),
    Lines,
}

impl Source {
    /// A source for the lines of `input`, whose name is `path`. `header` says that the first line names the columns.
    pub(crate) fn new(
        input: Box<dyn BufRead>,
        path: &Path,
        name: FormatName,
        header: bool,
    ) -> Result<Self, (u64, Flaw)> {
        let mut lines = Lines::new(input);
        match begin(&mut lines, name.style(path), header) {
            Ok((syntax, is_headed)) => {
                Ok(Self { lines, syntax, schema: None, held: None, is_headed })
            }
            Err(flaw) => Err((lines.number, flaw)),
        }
    }

    /// Sets the types of the entries. Fails if the entries of this file cannot have these types.
    pub(crate) fn expect(&mut self, chosen: Chosen) -> Result<Schema, String> {
        let origins = [chosen.key, chosen.value];
        let schema = Schema::of(chosen.types);
        let none = schema.value.read(Notation::Plain, b"", Reading::Exact);
        match &self.syntax {
            Syntax::Dump(dump) => dump.suits(&schema)?,
            Syntax::Lines if none.is_err() => {
                return Err(format!(
                    "--format lines gives every key an empty value, and the values of the map are `{}`: import it \
                     with a --map of its own",
                    schema.types.value
                ));
            }
            _ => {}
        }
        self.schema = Some((schema.clone(), origins));
        Ok(schema)
    }

    /// The types of the first entry, for a new map; `None` if there is no entry.
    pub(crate) fn first_types(&mut self) -> Result<Option<Types>, Flaw> {
        self.held = self.fields()?;
        let Some((key, value)) = &self.held else { return Ok(None) };
        let (notation, has_integers) = (self.notation(), self.has_integer_keys());
        let key =
            guess::key(notation, key, has_integers).map_err(|what| format!("the key: {what}"))?;
        Ok(Some(Types { key, value: guess::value(notation, value, has_integers) }))
    }

    fn notation(&self) -> Notation {
        match self.syntax {
            Syntax::Tsv { .. } => Notation::Escaped,
            Syntax::Csv | Syntax::Lines => Notation::Plain,
            Syntax::Json => Notation::Json,
            Syntax::Dump(_) => Notation::Binary,
        }
    }

    fn has_integer_keys(&self) -> bool {
        matches!(&self.syntax, Syntax::Dump(dump) if dump.integer_keys)
    }

    /// Whether the first line may name the columns.
    pub(crate) fn has_columns(&self) -> bool {
        matches!(self.syntax, Syntax::Tsv { .. } | Syntax::Csv)
    }

    /// The next entry, as it is stored; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>, Flaw> {
        let fields = if self.held.is_some() { self.held.take() } else { self.fields()? };
        let (Some((key, value)), Some((schema, [of_keys, of_values]))) = (fields, &self.schema)
        else {
            return Ok(None);
        };
        let notation = self.notation();
        let read = |field: &Field<'_>, text: &[u8]| {
            let read = field.kind.read(notation, text, field.origin.reading());
            read.map_err(|error| {
                format!("the {}: {error} ({})", field.what, field.way_out(notation, text))
            })
        };
        let (name, kind) = (&*schema.types.key, &schema.key);
        let key = read(&Field { what: "key", name, kind, origin: *of_keys }, &key)?;
        let (name, kind) = (&*schema.types.value, &schema.value);
        let value = read(&Field { what: "value", name, kind, origin: *of_values }, &value)?;
        Ok(Some((key, value)))
    }

    /// The next entry, as it is written in the file.
    fn fields(&mut self) -> Result<Option<Entry>, Flaw> {
        let numbers = match &self.schema {
            None => Numbers::Perhaps,
            Some((schema, _)) if schema.key.is_int() && schema.value.is_int() => Numbers::Yes,
            Some(_) => Numbers::No,
        };
        let lines = &mut self.lines;
        match &mut self.syntax {
            Syntax::Tsv { commas } => tsv::next(lines, *commas, numbers),
            Syntax::Csv => csv::record(lines),
            Syntax::Json => json::next(lines),
            Syntax::Dump(dump) => dump.next(lines),
            Syntax::Lines => match lines.next(|_| Some("the line is longer than a key can be"))? {
                Some(line) => Ok(Some((line.to_vec(), Vec::new()))),
                None => Ok(None),
            },
        }
    }

    /// The number of the line that was read last, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.lines.number
    }

    /// Whether the first entry is the header that an export writes.
    pub(crate) fn is_headed(&self) -> bool {
        self.is_headed
    }

    /// Whether the file starts with a byte order mark.
    pub(crate) fn has_bom(&self) -> bool {
        self.lines.has_bom
    }

    /// Bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.lines.bytes
    }
}

/// The expected type of the keys, or of the values.
struct Field<'s> {
    /// `key` or `value`.
    what: &'static str,
    /// The name of the type.
    name: &'s str,
    kind: &'s Type,
    origin: Origin,
}

impl Field<'_> {
    /// Advice for a text that is not of the type.
    fn way_out(&self, notation: Notation, text: &[u8]) -> String {
        let Self { what, name, kind, origin } = self;
        let as_number = match kind.read(notation, text, Reading::Lenient) {
            Ok(_) => format!("--{what}s '{name}' stores that"),
            Err(_) => String::new(),
        };
        match origin {
            Origin::Named => {
                format!("{what}s of the map are `{name}`; --{what}s chooses the type in a new map")
            }
            Origin::Recorded if as_number.is_empty() => {
                format!("{what}s of the map are `{name}`; --{what}s chooses the type in a new map")
            }
            Origin::Recorded => format!("{what}s of the map are `{name}`; {as_number}"),
            Origin::Guessed => {
                let wide = match self.wide_type(notation, text) {
                    Some(wide) => format!("--{what}s {wide} takes them as they are"),
                    None => format!("--{what}s names another type"),
                };
                let or = if as_number.is_empty() { "" } else { ", and " };
                format!("the first {what} makes them `{name}`; {wide}{or}{as_number}")
            }
        }
    }

    /// A type that accepts all keys, or all values, of such a file.
    fn wide_type(&self, notation: Notation, text: &[u8]) -> Option<&'static str> {
        match notation {
            Notation::Binary if self.kind.is_lmdb_integer() && self.what == "key" => None,
            Notation::Binary => Some("bytes"),
            // JSON distinguishes numbers from strings, so that no type accepts both as keys.
            Notation::Json if self.what == "key" => {
                let wider: &[&str] = match self.kind {
                    Type::Int { signed: false, .. } => &["u128", "i128", "f64"],
                    Type::Int { .. } => &["i128", "f64"],
                    _ => &[],
                };
                let takes =
                    |name: &&&str| Type::named(name).read(notation, text, Reading::Exact).is_ok();
                wider.iter().find(takes).copied()
            }
            Notation::Json => Some("json"),
            _ if Type::Str.read(notation, text, Reading::Lenient).is_err() => Some("bytes"),
            _ => Some("str"),
        }
    }
}

/// Reads what comes before the entries. Also returns whether the first entry is the header that an export writes.
fn begin(lines: &mut Lines, style: Option<Style>, header: bool) -> Result<(Syntax, bool), Flaw> {
    let is_dump = |line: Option<&[u8]>| {
        line.is_some_and(|line| line.starts_with(MAGIC) && !line.contains(&b'\t'))
    };
    let first = match style {
        None | Some(Style::Tsv) => lines.peek(tsv::too_long)?.filter(|line| utf16::has_mark(line)),
        Some(Style::Json) => lines.peek(json::too_long)?.filter(|line| utf16::has_mark(line)),
        Some(Style::Csv) => lines.peek(csv::too_long)?.filter(|line| utf16::is_text(line)),
        Some(Style::Dump { .. } | Style::Lines) => None,
    };
    if let Some(line) = first {
        return Err(utf16::flaw(line));
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
    let mut is_headed = false;
    match syntax {
        Syntax::Csv if header => drop(csv::record(lines)?),
        Syntax::Tsv { .. } if header => drop(lines.next(|_| Some("the line is too long"))?),
        Syntax::Csv => is_headed = lines.peek(csv::too_long)?.is_some_and(names_columns),
        Syntax::Tsv { .. } => is_headed = lines.peek(tsv::too_long)?.is_some_and(names_columns),
        _ => {}
    }
    Ok((syntax, is_headed))
}

/// Whether a line is the header of an export.
fn names_columns(line: &[u8]) -> bool {
    matches!(line.trim_ascii_end(), b"key,value" | b"key\tvalue")
}
