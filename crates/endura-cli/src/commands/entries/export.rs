//! `endura export`: writes all entries to a file.

use std::fs::{self, Permissions};
use std::io::{self, BufWriter, Write, stdout};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use endura::Error;
use indicatif::ProgressBar;

use crate::format::{FORMATS, FormatName, Sink, Style};
use crate::pool::pool_args::{MapArgs, about, shown_name};
use crate::pool::target::{self, Target, cannot_write};
use crate::pool::uncounted::{check_len, counted as counted_entries};
use crate::values::escape::NOTATION;
use crate::values::map::OpenMap;
use endura_console::interrupt;
use endura_console::outcome::{Answer, Failure, Result, tell};
use endura_console::progress;
use endura_console::text::{counted, grouped, printable};

const ENTRIES_PER_TICK: u64 = 4096;

#[derive(clap::Args)]
#[command(after_help = format!("{FORMATS}\n\n{NOTATION}"))]
pub(crate) struct Args {
    #[command(flatten)]
    map: MapArgs,
    /// Where to; `-` is standard output. A file appears when it is complete and keeps the mode of the one
    /// that it replaces; pipes and devices are written to as they are. No writer can open the pool meanwhile
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Write all maps, each to a file of its own in this folder, which must not exist
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["file", "map"])]
    all: Option<PathBuf>,
    /// How entries are written
    #[arg(long, value_enum, default_value_t = FormatName::Auto)]
    format: FormatName,
    /// Begin with a line that names the columns (tsv, csv)
    #[arg(long)]
    header: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let named = args.all.as_deref().unwrap_or(&args.file);
    let style = args.format.style(named).unwrap_or(Style::Tsv);
    if args.header && !style.has_columns() {
        return Err(Failure::Usage("--header is for tsv and csv".into()));
    }
    let exported = match &args.all {
        Some(folder) => all(args, style, folder),
        None => one(args, style),
    };
    exported.map_err(|failure| about(&args.map.pool.pool, failure))?;
    Ok(Answer::Yes)
}

fn one(args: &Args, style: Style) -> Result<()> {
    let (pool, map) = args.map.open_read_only()?;
    let map_bytes = pool.stats()?.bytes_in_use;
    let mut sink = Sink::new(style, &map.schema);
    if style != Style::Json {
        map.schema.tell_unknown();
    }
    if args.file == Path::new("-") || target::is_stdout(&args.file) {
        let mut out = BufWriter::new(stdout().lock());
        let bar = ProgressBar::hidden();
        let written = write(args, &map, &mut sink, map_bytes, &mut out, &bar);
        out.flush()?;
        check_len(&map, written?, "what could be read is printed")?;
    } else {
        let target = Target::open(&args.file)?;
        let info = pool.maps()?.into_iter().find(|info| info.name == map.name());
        let total = info.as_ref().and_then(counted_entries);
        let (target, written) =
            export(args, &map, &mut sink, (map_bytes, total), target, &args.file)?;
        print(&[counted(written, "entry")])?;
        target.publish().map_err(|error| cannot_write(&args.file, &error))?;
    }
    tell_beyond_lmdb(&sink);
    Ok(())
}

/// Writes each map to a file of its own. The folder and the files appear when all are written.
fn all(args: &Args, style: Style, folder: &Path) -> Result<()> {
    // A dangling link also occupies the name.
    if fs::symlink_metadata(folder).is_ok() {
        return Err(Failure::Message(format!(
            "{} exists: --all makes a folder, give another path",
            folder.display()
        )));
    }
    let pool = args.map.pool.open_read_only()?;
    let map_bytes = pool.stats()?.bytes_in_use;
    let failure = |error: io::Error| cannot_write(folder, &error);
    // The folder is built beside its final place, so that nothing needs to be copied.
    let beside = target::folder(folder);
    let made = tempfile::Builder::new().prefix(".endura-export-").tempdir_in(beside);
    // The error must not show the temporary name.
    let made = made.map_err(|error| failure(io::Error::from(error.kind())))?;
    let doomed = interrupt::doomed(made.path());
    let mut lines = Vec::new();
    for info in pool.maps()? {
        let map = OpenMap::open(&pool, &info.name).map_err(|error| match error {
            Error::UnknownNodes { .. } => Failure::from(error)
                .noted("nothing was exported; `--map` in place of `--all` exports another map"),
            error => error.into(),
        })?;
        let name = file_name(&info.name, style);
        let path = made.path().join(&name);
        let mut sink = Sink::new(style, &map.schema);
        let (hidden, name) = (path.to_string_lossy(), folder.join(name));
        let target = Target::open(&path).map_err(|failure| {
            failure.reworded(|text| text.replacen(&*hidden, &name.to_string_lossy(), 1))
        })?;
        let sizes = (map_bytes, counted_entries(&info));
        let (target, written) = export(args, &map, &mut sink, sizes, target, &name)?;
        target.publish().map_err(failure)?;
        tell_beyond_lmdb(&sink);
        let map = shown_name(&info.name);
        let line = format!("{map}: {}, {}", counted(written, "entry"), name.display());
        lines.push(printable(&line, false));
    }
    print(&lines)?;
    fs::set_permissions(made.path(), Permissions::from_mode(0o755)).map_err(failure)?;
    let _section = interrupt::section();
    fs::rename(made.path(), folder).map_err(failure)?;
    doomed.keep();
    let _moved = made.keep();
    Ok(())
}

/// Reports what was written, before the file or folder gets its name, so that a command that cannot report leaves
/// nothing. A reader that has closed the pipe does not count as a failure to report.
fn print(lines: &[String]) -> Result<()> {
    let mut out = stdout().lock();
    let printed = lines.iter().try_for_each(|line| writeln!(out, "{line}"));
    match printed.and_then(|()| out.flush()).map_err(Failure::from) {
        Err(failure) if !failure.is_closed_pipe() => Err(failure),
        _ => Ok(()),
    }
}

/// A file name for a map: bytes that could mislead become `%` and two hexadecimal digits.
fn file_name(map: &str, style: Style) -> String {
    let mut name = String::new();
    for (i, byte) in map.bytes().enumerate() {
        let plain = byte.is_ascii_alphanumeric() || b"-_".contains(&byte) || byte == b'.' && i > 0;
        match char::from(byte) {
            c if plain => name.push(c),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    // A file name has at most 255 bytes; the number distinguishes names with the same start.
    if name.len() > 200 {
        name.truncate(180);
        let hash =
            map.bytes().fold(0_u64, |hash, byte| endura_console::keys::key(hash ^ u64::from(byte)));
        name.push_str(&format!("%{hash:016x}"));
    }
    format!("{name}.{}", style.ending())
}

fn tell_beyond_lmdb(sink: &Sink) {
    if sink.beyond_lmdb() > 0 {
        let count = grouped(sink.beyond_lmdb());
        tell(format_args!(
            "endura: keys that mdb_load will refuse, empty or longer than 511 bytes: {count}"
        ));
    }
}

fn export(
    args: &Args,
    map: &OpenMap,
    sink: &mut Sink,
    (map_bytes, total): (u64, Option<u64>),
    target: Target,
    path: &Path,
) -> Result<(Target, u64)> {
    let bar = match total {
        Some(total) => progress::count_bar(total, "entries"),
        None => progress::spinner(),
    };
    let mut out = BufWriter::with_capacity(1 << 16, target);
    let written = write(args, map, sink, map_bytes, &mut out, &bar).and_then(|written| {
        out.flush()?;
        check_len(map, written, "nothing was exported; an export to `-` prints what can be read")?;
        Ok(written)
    });
    bar.finish_and_clear();
    let written = written.map_err(|failure| {
        failure.reworded(|text| match text.starts_with("cannot write the output") {
            true => text.replacen("the output", &path.to_string_lossy(), 1),
            false => text,
        })
    })?;
    let target = out.into_inner().map_err(|error| cannot_write(path, error.error()))?;
    // A disk that fails reports it here at the latest, before anything is called written.
    target.sync().map_err(|error| cannot_write(path, &error))?;
    Ok((target, written))
}

fn write(
    args: &Args,
    map: &OpenMap,
    sink: &mut Sink,
    map_bytes: u64,
    out: &mut dyn Write,
    bar: &ProgressBar,
) -> Result<u64> {
    use std::ops::Bound::Unbounded;
    out.write_all(sink.begin(args.header, map_bytes))?;
    let mut entries = 0_u64;
    for entry in map.range(&Unbounded, &Unbounded) {
        out.write_all(sink.line(&entry?)?)?;
        entries += 1;
        if entries.is_multiple_of(ENTRIES_PER_TICK) {
            bar.set_position(entries);
        }
    }
    out.write_all(sink.end())?;
    Ok(entries)
}
