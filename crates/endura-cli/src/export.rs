//! `endura export`: all entries, one per line.

use std::fs::Permissions;
use std::io::{self, BufWriter, Write, stdout};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use endura::{AnyMap, Len};
use indicatif::ProgressBar;

use crate::outcome::{Answer, Failure, Result};
use crate::pool_args::MapArgs;
use crate::progress;
use crate::text::counted;

const LINES_PER_TICK: u64 = 4096;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    map: MapArgs,
    /// Where to; `-` is standard output. A file appears when it is complete
    #[arg(default_value = "-")]
    file: PathBuf,
    /// What stands between key and value; auto is a comma if the file is called *.csv
    #[arg(long, value_enum, default_value_t = Format::Auto)]
    format: Format,
    /// Begin with a line that names the columns
    #[arg(long)]
    header: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Auto,
    Tsv,
    Csv,
}

impl Args {
    fn separator(&self) -> char {
        let csv = match self.format {
            Format::Auto => self.file.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv")),
            Format::Csv => true,
            Format::Tsv => false,
        };
        if csv { ',' } else { '\t' }
    }
}

pub(crate) fn run(args: &Args) -> Result {
    let (_pool, map) = args.map.open_read_only()?;
    let (Len::Exact(total) | Len::AtLeast(total)) = map.len()?;
    if args.file == Path::new("-") {
        let mut out = BufWriter::new(stdout().lock());
        write(args, &map, &mut out, &ProgressBar::hidden())?;
        out.flush()?;
        return Ok(Answer::Yes);
    }
    let failure =
        |error: io::Error| Failure::io(format!("cannot write {}", args.file.display()), &error);
    let folder = match args.file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    // Written beside its place and renamed: nobody ever finds half an export under that name.
    let readable = Permissions::from_mode(0o666);
    let file = tempfile::Builder::new().permissions(readable).tempfile_in(folder);
    let file = file.map_err(failure)?;
    let bar = progress::bar(total, "entries");
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let written = write(args, &map, &mut out, &bar);
    bar.finish_and_clear();
    let written = written?;
    let file = out.into_inner().map_err(|error| failure(error.into_error()))?;
    file.as_file().sync_all().map_err(failure)?;
    file.persist(&args.file).map_err(|error| failure(error.error))?;
    writeln!(stdout(), "{}", counted(written, "line"))?;
    Ok(Answer::Yes)
}

fn write(args: &Args, map: &AnyMap, out: &mut dyn Write, bar: &ProgressBar) -> Result<u64> {
    let separator = args.separator();
    if args.header {
        writeln!(out, "key{separator}value")?;
    }
    let mut lines = 0_u64;
    for entry in map.iter() {
        let (key, value) = entry?;
        writeln!(out, "{key}{separator}{value}")?;
        lines += 1;
        if lines.is_multiple_of(LINES_PER_TICK) {
            bar.set_position(lines);
        }
    }
    Ok(lines)
}
