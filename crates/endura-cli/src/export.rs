//! `endura export`: all entries.

use std::fs::Permissions;
use std::io::{self, BufWriter, Write, stdout};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use endura::Len;
use indicatif::ProgressBar;

use crate::entries::{Entries, on_map};
use crate::escape::NOTATION;
use crate::format::{FORMATS, FormatName, Sink, Style};
use crate::pool_args::MapArgs;
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use endura_console::text::{counted, grouped};

const ENTRIES_PER_TICK: u64 = 4096;

#[derive(clap::Args)]
#[command(after_help = format!("{FORMATS}\n\n{NOTATION}"))]
pub(crate) struct Args {
    #[command(flatten)]
    map: MapArgs,
    /// Where to; `-` is standard output. A file appears when it is complete
    #[arg(default_value = "-")]
    file: PathBuf,
    /// How entries are written
    #[arg(long, value_enum, default_value_t = FormatName::Auto)]
    format: FormatName,
    /// Begin with a line that names the columns (tsv, csv)
    #[arg(long)]
    header: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let style = args.format.style(&args.file).unwrap_or(Style::Tsv);
    if args.header && !style.has_columns() {
        return Err(Failure::Usage("--header is for tsv and csv".into()));
    }
    let (pool, map) = args.map.open_read_only()?;
    let map_bytes = pool.stats()?.page_bytes_in_use;
    let mut sink = Sink::new(style);
    on_map!(&map, map => export(args, map, &mut sink, map_bytes))?;
    if sink.beyond_lmdb() > 0 {
        let count = grouped(sink.beyond_lmdb());
        eprintln!(
            "endura: keys that mdb_load will refuse, empty or longer than 511 bytes: {count}"
        );
    }
    Ok(Answer::Yes)
}

fn export<E: Entries>(args: &Args, map: &E, sink: &mut Sink, map_bytes: u64) -> Result<()> {
    let (Len::Exact(total) | Len::AtLeast(total)) = map.len()?;
    if args.file == Path::new("-") {
        let mut out = BufWriter::new(stdout().lock());
        write(args, map, sink, map_bytes, &mut out, &ProgressBar::hidden())?;
        return Ok(out.flush()?);
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
    let written = write(args, map, sink, map_bytes, &mut out, &bar);
    bar.finish_and_clear();
    let written = written?;
    let file = out.into_inner().map_err(|error| failure(error.into_error()))?;
    file.as_file().sync_all().map_err(failure)?;
    file.persist(&args.file).map_err(|error| failure(error.error))?;
    Ok(writeln!(stdout(), "{}", counted(written, "entry"))?)
}

fn write<E: Entries>(
    args: &Args,
    map: &E,
    sink: &mut Sink,
    map_bytes: u64,
    out: &mut dyn Write,
    bar: &ProgressBar,
) -> Result<u64> {
    use std::ops::Bound::Unbounded;
    out.write_all(sink.begin::<E::Datum>(args.header, map_bytes))?;
    let mut entries = 0_u64;
    for entry in map.range(Unbounded, Unbounded) {
        let (key, value) = entry?;
        out.write_all(sink.line(&key, &value)?)?;
        entries += 1;
        if entries.is_multiple_of(ENTRIES_PER_TICK) {
            bar.set_position(entries);
        }
    }
    out.write_all(sink.end())?;
    Ok(entries)
}
