//! `endura bench instructions`, and the child whose instructions are counted.

use std::ffi::OsString;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use endura_bench::contender::Contender;
use endura_bench::probes::instructions::{Counted, InstructionCounts, count, work};
use endura_bench::workload::plain::Sizes;
use endura_engine::cpu::vectors::Vectors;

use crate::args::{contender, flags, vectors};
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use endura_console::text::{Table, parse_number};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Keys that are loaded
    #[arg(short = 'n', long, value_parser = parse_number, default_value = "1000000")]
    keys: u64,
    /// Operations of each kind that are counted, which takes microseconds an instruction
    #[arg(short = 'p', long, value_parser = parse_number, default_value = "100")]
    operations: u64,
    /// Scans of 100 strings in place of all operations on integers, beside LMDB's; counted in entries
    #[arg(long)]
    strings: bool,
    /// All operations on strings by FAST & FAIR, with key words and with pointers alone, as in its paper
    #[arg(long, conflicts_with_all = ["strings", "checkpoints"])]
    key_words: bool,
    /// In a pool that makes checkpoints: flushes note which pages have changed
    #[arg(long, conflicts_with = "strings")]
    checkpoints: bool,
    /// Search by these vectors in place of the best that this processor has: sse2, avx2, avx512, neon
    #[arg(long, value_parser = vectors)]
    vectors: Option<Vectors>,
    #[command(flatten)]
    dir: flags::Dir,
    #[command(flatten)]
    json: flags::Json,
}

pub(crate) fn run(args: &Args) -> Result {
    let dir = args.dir.path();
    let operations = args.operations.min(args.keys);
    let spinner = progress::spinner();
    let sizes = Sizes { keys: args.keys, operations };
    let counted = counted(args.strings, args.checkpoints, args.key_words);
    let counter = count_by_children(counted, args.vectors, sizes, &dir, |what| {
        spinner.set_message(what.to_string());
    });
    spinner.finish_and_clear();
    let counts = match counter? {
        InstructionCounts::None(why) => {
            return Err(Failure::Message(format!("nothing was counted: {why}")));
        }
        InstructionCounts::Stepped { counts, .. } => counts,
    };
    let out = &mut stdout().lock();
    if args.json.json {
        writeln!(out, "{}", serde_json::to_string(&counts)?)?;
        return Ok(Answer::Yes);
    }
    let mut table = Table::new(2, &["index", "operation", "instructions"]);
    for of in counts {
        table.row([of.index, of.operation, format!("{:.1}", of.count)]);
    }
    table.write(out)?;
    Ok(Answer::Yes)
}

/// The arguments of the child.
#[derive(clap::Args)]
pub(crate) struct ChildArgs {
    #[arg(value_parser = contender())]
    store: Contender,
    keys: u64,
    operations: u64,
    dir: PathBuf,
    #[arg(long)]
    strings: bool,
    #[arg(long)]
    checkpoints: bool,
    #[arg(long)]
    key_words: bool,
    #[arg(long, value_parser = vectors)]
    vectors: Option<Vectors>,
}

fn counted(strings: bool, checkpoints: bool, key_words: bool) -> Counted {
    match (strings, checkpoints, key_words) {
        (true, ..) => Counted::StringScans,
        (_, true, _) => Counted::NotedWords,
        (_, _, true) => Counted::KeyWords,
        _ => Counted::Words,
    }
}

pub(crate) fn work_stepwise(args: &ChildArgs) -> Result {
    let sizes = Sizes { keys: args.keys, operations: args.operations };
    // Those that the arguments let through are there.
    args.vectors.inspect(|vectors| assert!(vectors.force(), "{vectors} can be forced"));
    work(counted(args.strings, args.checkpoints, args.key_words), args.store, sizes, &args.dir)?;
    Ok(Answer::Yes)
}

/// Counts the instructions of all operations, by children of this program.
pub(super) fn all(
    sizes: Sizes,
    dir: &Path,
    observe: impl FnMut(&str),
) -> endura_bench::Result<InstructionCounts> {
    count_by_children(Counted::Words, None, sizes, dir, observe)
}

fn count_by_children(
    counted: Counted,
    vectors: Option<Vectors>,
    sizes: Sizes,
    dir: &Path,
    observe: impl FnMut(&str),
) -> endura_bench::Result<InstructionCounts> {
    let program = std::env::current_exe().map_err(|source| endura_bench::Error::Io {
        doing: "cannot find this program's own file".into(),
        source,
    })?;
    let arguments = |store: Contender| -> Vec<OsString> {
        let (keys, operations) = (sizes.keys.to_string(), sizes.operations.to_string());
        let words = ["instructions-child", store.argument(), &keys, &operations];
        let vectors = vectors.iter().flat_map(|vectors| ["--vectors", vectors.name()]);
        let counted = match counted {
            Counted::Words => None,
            Counted::NotedWords => Some("--checkpoints"),
            Counted::StringScans => Some("--strings"),
            Counted::KeyWords => Some("--key-words"),
        };
        let options = counted.into_iter().chain(vectors);
        let options = options.map(OsString::from);
        words.into_iter().map(OsString::from).chain([dir.into()]).chain(options).collect()
    };
    count(&program, counted, sizes, arguments, observe)
}
