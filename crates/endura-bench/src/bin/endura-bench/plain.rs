//! `endura bench` by itself: the plain operations of one index beside a peer, in one process run.

use std::io::{Write, stdout};
use std::path::PathBuf;

use clap::ValueEnum;
use endura::Kind;
use endura::lab::media::Domain;
use endura_bench::contender::Contender;
use endura_bench::counts::{Counted, Nodes, counts as count};
use endura_bench::operation::{Operation, Sizes};
use endura_bench::run::{Config, Outcome, run as measure};
use endura_bench::store::Shape;
use endura_bench::summary::figures;
use serde_json::json;

use crate::contenders::contender;
use crate::flags;
use crate::{print, reopen};
use endura_console::args::{KindArgs, MediaArgs};
use endura_console::outcome::{Answer, Result};
use endura_console::progress;
use endura_console::text::{counted, parse_number};

/// More than any cache holds.
const MANY: u64 = 10_000_000;
const MANY_STRINGS: u64 = 2_000_000;

#[derive(clap::Args)]
#[group(id = "plain")]
pub(crate) struct Args {
    /// Keys that are loaded [default: 10000000, 2000000 with --kind roart; 1000000 with --counts]
    #[arg(long, alias = "entries", value_parser = parse_number)]
    pub(super) keys: Option<u64>,
    /// Operations of each kind but load and scan (a tenth of it) [default: a fifth of the keys]
    #[arg(long, value_parser = parse_number)]
    operations: Option<u64>,
    /// Numbers of threads, each measured by itself
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// How often everything is repeated; medians are shown
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Measure only these, after a load
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Measured>,
    /// Leave the peer out
    #[arg(long)]
    alone: bool,
    /// Who runs beside endura; redb, fjall, rocksdb and congee need a build with
    /// a feature of that name
    #[arg(long, value_parser = contender(), default_value = "lmdb", conflicts_with = "alone")]
    peer: Contender,
    /// Bytes of a key, with --kind roart
    #[arg(long, default_value_t = Shape::STRINGS.key_bytes)]
    key_bytes: usize,
    /// Bytes of a value, with --kind roart
    #[arg(long, default_value_t = Shape::STRINGS.value_bytes)]
    value_bytes: usize,
    /// Measure only the time to open a pool of --keys keys after SIGKILL and to find a key
    #[arg(long)]
    reopen: bool,
    /// Count flushes, fences, stores and loads per operation on persistent memory (ADR), exactly, in
    /// place of measuring time
    #[arg(long, conflicts_with = "reopen")]
    counts: bool,
    #[command(flatten)]
    dir: flags::Dir,
    #[command(flatten)]
    pub(super) layout: flags::Layout,
    /// Count with the nodes of FAST & FAIR's paper, 512 bytes on all levels, which no pool has
    #[arg(long, requires = "counts", conflicts_with = "layout")]
    paper_nodes: bool,
    #[command(flatten)]
    seed: flags::Seed,
    #[command(flatten)]
    pub(super) json: flags::Json,
    #[command(flatten)]
    pub(super) kind: KindArgs,
    #[command(flatten)]
    pub(super) media: MediaArgs,
}

/// The operations as arguments.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Measured {
    Load,
    Insert,
    Get,
    Miss,
    GetMany,
    Scan,
    Update,
    Zipf,
    Remove,
}

impl From<Measured> for Operation {
    fn from(measured: Measured) -> Self {
        match measured {
            Measured::Load => Self::Load,
            Measured::Insert => Self::Insert,
            Measured::Get => Self::Get,
            Measured::Miss => Self::Miss,
            Measured::GetMany => Self::GetMany,
            Measured::Scan => Self::Scan,
            Measured::Update => Self::Update,
            Measured::Zipf => Self::Zipf,
            Measured::Remove => Self::Remove,
        }
    }
}

impl Args {
    pub(super) fn shape(&self) -> Shape {
        match self.kind.kind() {
            Kind::Roart => Shape::fixed(self.key_bytes, self.value_bytes),
            _ => Shape::WORDS,
        }
    }

    fn many(&self) -> u64 {
        if self.kind.kind() == Kind::Roart { MANY_STRINGS } else { MANY }
    }
}

pub(crate) fn run(args: &Args) -> Result {
    if args.counts {
        return counts(args);
    }
    let dir = args.dir.path();
    if args.reopen {
        return reopen::run(args, args.keys.unwrap_or(args.many()), &dir);
    }
    let config = config(args, dir);
    let bar = progress::spinner();
    let outcome = measure(&config, &mut |at| {
        bar.set_message(format!(
            "{}/{}  round {}/{}, {}: {} {}",
            at.done + 1,
            at.total,
            at.round + 1,
            args.rounds,
            counted(at.threads as u64, "thread"),
            at.store,
            at.operation.name()
        ));
    });
    bar.finish_and_clear();
    let outcome = outcome?;
    if args.json.json {
        writeln!(stdout(), "{}", to_json(args, &config, &outcome))?;
    } else {
        print::write(&mut stdout().lock(), &config, &outcome)?;
    }
    Ok(Answer::Yes)
}

fn config(args: &Args, dir: PathBuf) -> Config {
    let mut operations: Vec<Operation> = args.only.iter().map(|&only| only.into()).collect();
    if operations.is_empty() {
        operations = Operation::ALL.to_vec();
    }
    // What is removed must be there.
    if operations.contains(&Operation::Remove) && !operations.contains(&Operation::Insert) {
        operations.push(Operation::Insert);
    }
    let keys = args.keys.unwrap_or(args.many());
    let sizes = Sizes { keys, operations: args.operations.unwrap_or(keys / 5).max(1) };
    Config {
        sizes,
        operations,
        threads: args.threads.clone(),
        rounds: args.rounds,
        dir,
        pool: args.media.options(),
        kind: args.kind.kind(),
        layout: args.layout.layout,
        shape: args.shape(),
        peer: (!args.alone).then_some(args.peer),
        alone: Vec::new(),
        seed: args.seed.seed,
    }
}

fn counts(args: &Args) -> Result {
    let keys = args.keys.unwrap_or(1_000_000);
    let spinner = progress::spinner();
    let counted = Counted {
        keys,
        kind: args.kind.kind(),
        domain: Domain::Adr,
        shape: args.shape(),
        nodes: if args.paper_nodes { Nodes::Paper } else { Nodes::Pool(args.layout.layout) },
    };
    let rows = count(counted);
    spinner.finish_and_clear();
    let rows = rows?;
    if args.json.json {
        writeln!(stdout(), "{}", json!({ "keys": keys, "per_operation": rows }))?;
    } else {
        print::write_counts(&mut stdout().lock(), keys, &rows)?;
    }
    Ok(Answer::Yes)
}

fn to_json(args: &Args, config: &Config, outcome: &Outcome) -> serde_json::Value {
    let settings: serde_json::Map<_, _> = outcome
        .settings
        .iter()
        .map(|(store, text)| (store.to_string(), text.clone().into()))
        .collect();
    json!({
        "keys": config.sizes.keys,
        "shape": config.shape,
        "operations": config.sizes.operations,
        "rounds": args.rounds,
        "seed": args.seed.seed,
        "dir": config.dir,
        "settings": settings,
        "space": outcome.space,
        "figures": figures(outcome),
    })
}
