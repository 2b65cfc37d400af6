//! The names of the formats.

use std::path::Path;

use clap::ValueEnum;

/// The text of `--help` about formats.
pub(crate) const FORMATS: &str = "\
Formats. The end of the file's name chooses one, else tsv; a dump is also known by its first line:
  tsv (.tsv): KEY<tab>VALUE, with escapes
  csv (.csv): KEY,VALUE as in RFC 4180, any bytes, quoted where that is needed
  json (.json .jsonl .ndjson): one {\"key\":K,\"value\":V} per line; bytes that are not UTF-8 are {\"hex\":\"00ff\"}
  mdb (.mdb .dump): the text of LMDB's mdb_dump, for mdb_load
  mdb-print: the same, with readable keys and values (mdb_dump -p)
  lines: each line is a key as it is, every value is empty";

/// The formats, as arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    Auto,
    Tsv,
    Csv,
    #[value(alias = "jsonl")]
    Json,
    Mdb,
    MdbPrint,
    Lines,
}

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Tsv,
    Csv,
    Json,
    Dump { print: bool },
    Lines,
}

impl FormatName {
    /// The format of the file at `path`; `None` if its name does not say.
    pub(crate) fn style(self, path: &Path) -> Option<Style> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        Some(match self {
            Self::Auto => match &*ending.to_ascii_lowercase() {
                "csv" => Style::Csv,
                "tsv" => Style::Tsv,
                "json" | "jsonl" | "ndjson" => Style::Json,
                "mdb" | "dump" => Style::Dump { print: false },
                _ => return None,
            },
            Self::Tsv => Style::Tsv,
            Self::Csv => Style::Csv,
            Self::Json => Style::Json,
            Self::Mdb => Style::Dump { print: false },
            Self::MdbPrint => Style::Dump { print: true },
            Self::Lines => Style::Lines,
        })
    }
}

impl Style {
    /// The ending of its files' names.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Tsv => "tsv",
            Self::Csv => "csv",
            Self::Json => "jsonl",
            Self::Dump { .. } => "dump",
            Self::Lines => "txt",
        }
    }

    /// Whether the first line may name the columns.
    pub(crate) fn has_columns(self) -> bool {
        matches!(self, Self::Tsv | Self::Csv)
    }
}
