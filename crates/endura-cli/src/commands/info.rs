//! `endura info`: shows what is in a pool.

use std::io::{BufWriter, Write, stdout};

use endura::{Domain, Kind, MapInfo, NodeLayout, Stats};
use serde_json::json;

use crate::pool::pool_args::{PoolArgs, shown_name};
use crate::pool::uncounted::counted;
use crate::values::json::path_json;
use endura_console::outcome::{Answer, Result};
use endura_console::text::{Table, bytes, grouped, printable};

const FLUSHED_IN_VAIN: &str = "the pool is opened as persistent memory, which it does not lie on: flushes cost time \
     here, and a power loss may tear it all the same (--media page-cache)";

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pool: PoolArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let pool = args.pool.open_read_only()?;
    let failure = |error| args.pool.at(&error);
    let (mut stats, maps) = (pool.stats().map_err(failure)?, pool.maps().map_err(failure)?);
    drop(pool);
    if stats.domain != Domain::PageCache && !stats.power_safe {
        stats.warnings.push(FLUSHED_IN_VAIN);
    }
    if args.json {
        print_json(args, &stats, &maps)?;
    } else {
        print(args, &stats, &maps)?;
    }
    Ok(Answer::Yes)
}

fn print(args: &Args, stats: &Stats, maps: &[MapInfo]) -> Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    writeln!(out, "{}", printable(&args.pool.pool.to_string_lossy(), false))?;
    let mut table = Table::new(2, &[]);
    let mut line = |name: &str, text: String| table.row([name.to_string(), text]);
    line("medium", format!("{} on {}", stats.domain, stats.filesystem));
    line("file", bytes(stats.file_bytes));
    line("in use", format!("{} in {} pages", bytes(stats.page_bytes_in_use), stats.pages_in_use));
    line("free in pages", bytes(stats.free_chunk_bytes));
    line("generation", grouped(stats.generation));
    line("last session", if stats.clean_open { "closed" } else { "ended without a close" }.into());
    table.write(&mut out)?;
    for warning in &stats.warnings {
        writeln!(out, "  warning: {warning}")?;
    }
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
    if maps.iter().any(|map| counted(map).is_none()) {
        writeln!(
            out,
            "  not known: an unclean end lost the number; `endura count` counts, and so does"
        )?;
        writeln!(out, "  the next command that writes")?;
    }
    Ok(out.flush()?)
}

fn length(map: &MapInfo) -> String {
    counted(map).map_or_else(|| "not known".into(), grouped)
}

fn print_json(args: &Args, stats: &Stats, maps: &[MapInfo]) -> Result<()> {
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
    let whole = json!({
        "pool": path_json(&args.pool.pool),
        "format": endura::FORMAT,
        "domain": stats.domain.to_string(),
        "filesystem": stats.filesystem,
        "file_bytes": stats.file_bytes,
        "pages_in_use": stats.pages_in_use,
        "page_bytes_in_use": stats.page_bytes_in_use,
        "free_chunk_bytes": stats.free_chunk_bytes,
        "limbo_bytes": stats.limbo_bytes,
        "generation": stats.generation,
        "clean_open": stats.clean_open,
        "warnings": stats.warnings,
        "maps": maps,
    });
    Ok(writeln!(stdout(), "{whole}")?)
}
