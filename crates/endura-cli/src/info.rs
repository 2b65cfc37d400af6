//! `endura info`: what is in a pool.

use std::io::{BufWriter, Write, stdout};

use endura::{Len, MapInfo, NodeLayout, Stats};
use serde_json::json;

use crate::pool_args::PoolArgs;
use endura_console::outcome::{Answer, Result};
use endura_console::text::{Table, bytes, grouped};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pool: PoolArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let pool = args.pool.open_read_only()?;
    let (stats, maps) = (pool.stats()?, pool.maps()?);
    if args.json {
        print_json(args, &stats, &maps)?;
    } else {
        print(args, &stats, &maps)?;
    }
    Ok(Answer::Yes)
}

fn print(args: &Args, stats: &Stats, maps: &[MapInfo]) -> Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    writeln!(out, "{}", args.pool.pool.display())?;
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
    let mut table = Table::new(2, &["map", "kind", "entries", "leaf/inner bytes"]);
    for map in maps {
        let nodes = match map.layout {
            Some(layout) => format!("{}/{}", layout.leaf_bytes(), layout.inner_bytes()),
            None if map.kind == "unknown" => "unknown to this build".into(),
            None => "-".into(),
        };
        table.row([map.name.clone(), map.kind.to_string(), length(map.len), nodes]);
    }
    table.write(&mut out)?;
    Ok(out.flush()?)
}

fn length(len: Len) -> String {
    match len {
        Len::Exact(n) => grouped(n),
        Len::AtLeast(n) => format!("at least {}", grouped(n)),
    }
}

fn print_json(args: &Args, stats: &Stats, maps: &[MapInfo]) -> Result<()> {
    let maps: Vec<_> = maps
        .iter()
        .map(|map| {
            let (len, exact) = match map.len {
                Len::Exact(n) => (n, true),
                Len::AtLeast(n) => (n, false),
            };
            json!({
                "name": map.name,
                "kind": map.kind,
                "entries": len,
                "entries_exact": exact,
                "leaf_bytes": map.layout.map(NodeLayout::leaf_bytes),
                "inner_bytes": map.layout.map(NodeLayout::inner_bytes),
            })
        })
        .collect();
    let whole = json!({
        "pool": args.pool.pool,
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
