//! `endura info`: shows what is in a pool.

use std::io::{BufWriter, Write, stdout};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;

use endura::dynamic::DynamicMap;
use endura::{
    AfterPowerLoss, CheckpointProblem, CheckpointStats, Domain, Kind, MapInfo, NodeLayout, Pool,
    SizeUse, Stats,
};
use serde_json::json;

use crate::pool::checkpoint_args::{FileArgs, shown_file};
use crate::pool::moment::since;
use crate::pool::pool_args::{PoolArgs, shown_name};
use crate::pool::uncounted::counted;
use crate::values::json::path_json;
use crate::words::of_library;
use endura_console::outcome::{Answer, Result};
use endura_console::progress;
use endura_console::text::{Table, bytes, grouped, printable, wrapped};

const FLUSHED_IN_VAIN: &str = "the pool is opened as persistent memory, which it does not lie on: flushes cost time \
     here, and a power loss may tear it all the same (--media page-cache)";

/// The widest text in the second column, so that no line is wider than 60 columns.
const WIDE: usize = 41;

const ENTRIES_PER_TICK: u64 = 4096;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pool: PoolArgs,
    #[command(flatten)]
    checkpoints: FileArgs,
    /// Read all entries as well, and tell payload, structure and free space, by size of chunk
    #[arg(long)]
    space: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let pool = args.pool.open_read_only_as(args.checkpoints.choice())?;
    let failure = |error| args.pool.at(&error);
    let (mut stats, maps) = (pool.stats().map_err(failure)?, pool.maps().map_err(failure)?);
    let space = args.space.then(|| Space::of(&pool, &stats, &maps).map_err(failure)).transpose()?;
    drop(pool);
    if stats.domain != Domain::PageCache && !stats.power_safe {
        stats.warnings.push(FLUSHED_IN_VAIN.into());
    }
    if args.json {
        print_json(args, &stats, &maps, space.as_ref())?;
    } else {
        print(args, &stats, &maps, space.as_ref())?;
    }
    Ok(Answer::Yes)
}

fn print(args: &Args, stats: &Stats, maps: &[MapInfo], space: Option<&Space>) -> Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    writeln!(out, "{}", printable(&args.pool.pool.to_string_lossy(), false))?;
    let mut table = Table::new(2, &[]);
    let mut line = |name: &str, text: String| table.row([name.to_string(), text]);
    line("medium", format!("{} on {}", stats.domain, stats.filesystem));
    line("file", bytes(stats.file_bytes));
    let bound = if stats.clean_open { "" } else { "at most " };
    line("in use", format!("{bound}{}", bytes(stats.bytes_in_use)));
    if let Some(space) = space {
        line("  payload", format!("{} of keys and values", bytes(space.payload)));
        line("  structure", bytes(space.structure));
    }
    line("  free in spans", bytes(stats.free_chunk_bytes));
    let mut in_lines = |name: &str, text: &str| {
        for (nth, part) in wrapped(text, WIDE).into_iter().enumerate() {
            table.row([if nth == 0 { name } else { "" }.to_owned(), part]);
        }
    };
    for (name, text) in after_power_loss(&args.pool.pool, stats) {
        in_lines(name, &text);
    }
    in_lines("generation", &grouped(stats.generation));
    in_lines("last session", if stats.clean_open { "closed" } else { "ended without a close" });
    for warning in &stats.warnings {
        in_lines("warning", &of_library(warning));
    }
    table.write(&mut out)?;
    writeln!(out)?;
    let mut table = Table::new(3, &["map", "types", "kind", "entries", "leaf/inner bytes"]);
    for map in maps {
        let nodes = match map.layout {
            Some(layout) => format!("{}/{}", layout.leaf_bytes(), layout.inner_bytes()),
            None if !map.is_known => "unknown to this build".into(),
            None => "-".into(),
        };
        let types = format!("{} → {}", map.types.key, map.types.value);
        let types = printable(&types, false);
        let kind = map.kind.map_or_else(|| "unknown to this build".into(), |kind| kind.to_string());
        table.row([shown_name(&map.name), types, kind, length(map), nodes]);
    }
    table.write(&mut out)?;
    if space.is_some() {
        writeln!(out)?;
        let mut table = Table::new(0, &["chunks of", "in spans of", "free", "part"]);
        for size in &stats.sizes {
            let free = 100 * size.free_bytes / size.span_bytes.max(1);
            table.row([
                bytes(size.chunk_bytes),
                bytes(size.span_bytes),
                bytes(size.free_bytes),
                format!("{free} %"),
            ]);
        }
        table.write(&mut out)?;
    }
    if maps.iter().any(|map| counted(map).is_none()) {
        writeln!(out, "  not known: an earlier session did not close the pool,")?;
        writeln!(out, "  and no command has counted since (`endura count`)")?;
    }
    Ok(out.flush()?)
}

/// The rows about power losses and checkpoints, of a table with two columns.
fn after_power_loss(pool: &Path, stats: &Stats) -> Vec<(&'static str, String)> {
    let state = match &stats.after_power_loss {
        AfterPowerLoss::Checkpoint { .. } | AfterPowerLoss::Survived | AfterPowerLoss::Kept => {
            stats.after_power_loss.to_string()
        }
        AfterPowerLoss::Refused { .. } => "the pool would be refused".into(),
        other => other.to_string(),
    };
    let mut rows = vec![("power loss", state)];
    let Some(kept) = &stats.checkpoints else {
        rows.push(("checkpoints", "none".into()));
        return rows;
    };
    rows.push(("checkpoints", rhythm(kept)));
    let path = shown_file(pool, &kept.path);
    if !path.is_empty() {
        rows.push(("  file", path));
    }
    let newest = match (&kept.newest, &kept.problem) {
        (_, Some(CheckpointProblem::NotNamed)) => "--checkpoint-file has to name the file".into(),
        (None, Some(problem)) if refuses_writers(problem) => {
            format!("{problem}: an open for writing is refused")
        }
        (None, Some(problem)) => problem.to_string(),
        (None, None) => CheckpointProblem::NotYet.to_string(),
        (Some(newest), _) if kept.in_memory => format!("{} old, in memory", since(*newest)),
        (Some(newest), _) => format!("{} old", since(*newest)),
    };
    rows.push(("  newest", newest));
    if kept.bytes > 0 {
        rows.push(("  size", bytes(kept.bytes)));
    }
    rows
}

/// Whether the pool cannot be opened for writing while its checkpoint is like this.
fn refuses_writers(problem: &CheckpointProblem) -> bool {
    matches!(
        problem,
        CheckpointProblem::Foreign
            | CheckpointProblem::Stale
            | CheckpointProblem::Older
            | CheckpointProblem::Damaged
            | CheckpointProblem::NoCheckpoint
            | CheckpointProblem::OtherVersion
            | CheckpointProblem::NameTooLong
            | CheckpointProblem::Unreadable { .. }
    )
}

/// When checkpoints are made, and what they leave to a power loss.
fn rhythm(kept: &CheckpointStats) -> String {
    let every = kept.every.map(|every| format!("every {} s", every.as_secs_f64()));
    let after = kept.after_bytes.map(|changed| format!("after {} of changes", bytes(changed)));
    let all = [every, after].into_iter().flatten().collect::<Vec<_>>();
    match (all.is_empty(), kept.in_memory) {
        (true, _) => "on demand".into(),
        (false, true) => all.join(" or "),
        (false, false) => {
            all.join(" or ") + ": while the pool is open, a power loss costs that and one round"
        }
    }
}

fn checkpoints_json(kept: &CheckpointStats) -> serde_json::Value {
    let made = |newest: SystemTime| newest.duration_since(SystemTime::UNIX_EPOCH).ok();
    json!({
        "path": path_json(&kept.path),
        "every_seconds": kept.every.map(|every| every.as_secs_f64()),
        "after_bytes": kept.after_bytes,
        "newest_unix_seconds": kept.newest.and_then(made).map(|since| since.as_secs_f64()),
        "age_seconds": kept.newest.map(|newest| newest.elapsed().unwrap_or_default().as_secs_f64()),
        "bytes": kept.bytes,
        "in_memory": kept.in_memory,
        "problem": kept.problem.as_ref().map(CheckpointProblem::code),
        "problem_text": kept.problem.as_ref().map(CheckpointProblem::to_string),
    })
}

/// The parts of the bytes in use.
struct Space {
    payload: u64,
    structure: u64,
}

impl Space {
    /// Reads all entries of all maps that this build knows.
    fn of(pool: &Pool, stats: &Stats, maps: &[MapInfo]) -> endura::Result<Self> {
        let bar = progress::spinner();
        let mut payload = 0;
        for map in maps.iter().filter(|map| map.is_known) {
            let mut read = 0_u64;
            let _ = DynamicMap::open(pool, &map.name)?.iter().visit(true, |key, value| {
                payload += (key.len() + value.len()) as u64;
                read += 1;
                if read.is_multiple_of(ENTRIES_PER_TICK) {
                    bar.inc(ENTRIES_PER_TICK);
                }
                ControlFlow::Continue(())
            })?;
        }
        bar.finish_and_clear();
        let rest = stats.bytes_in_use.saturating_sub(stats.free_chunk_bytes);
        let structure = rest.saturating_sub(payload);
        Ok(Self { payload, structure })
    }
}

fn length(map: &MapInfo) -> String {
    counted(map).map_or_else(|| "not known".into(), grouped)
}

fn print_json(args: &Args, stats: &Stats, maps: &[MapInfo], space: Option<&Space>) -> Result<()> {
    let maps: Vec<_> = maps
        .iter()
        .map(|map| {
            json!({
                "name": map.name,
                "key_type": map.types.key,
                "value_type": map.types.value,
                "kind": map.kind.map(Kind::name),
                "is_known": map.is_known,
                "entries": counted(map),
                "leaf_bytes": map.layout.map(NodeLayout::leaf_bytes),
                "inner_bytes": map.layout.map(NodeLayout::inner_bytes),
            })
        })
        .collect();
    let mut whole = json!({
        "pool": path_json(&args.pool.pool),
        "format": endura::FORMAT,
        "domain": stats.domain.to_string(),
        "filesystem": stats.filesystem,
        "file_bytes": stats.file_bytes,
        "bytes_in_use": stats.bytes_in_use,
        "free_chunk_bytes": stats.free_chunk_bytes,
        "limbo_bytes": stats.limbo_bytes,
        "power_loss": stats.after_power_loss.code(),
        "checkpoints": stats.checkpoints.as_ref().map(checkpoints_json),
        "generation": stats.generation,
        "clean_open": stats.clean_open,
        "warnings": stats.warnings,
        "maps": maps,
    });
    if let Some(space) = space {
        let size = |size: &SizeUse| {
            json!({
                "chunk_bytes": size.chunk_bytes,
                "span_bytes": size.span_bytes,
                "free_bytes": size.free_bytes,
            })
        };
        whole["payload_bytes"] = space.payload.into();
        whole["structure_bytes"] = space.structure.into();
        whole["sizes"] = stats.sizes.iter().map(size).collect();
    }
    Ok(writeln!(stdout(), "{whole}")?)
}
