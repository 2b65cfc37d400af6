//! What is measured, how much of it, and where.

use endura::Kind;
use endura_bench::contender::Contender;
use endura_bench::probes::counts::{CountSetup, NodeSizes};
use endura_bench::store::Shape;
use endura_bench::suite::{Settings, Suite, Turns};
use endura_bench::workload::plain::{Operation, Sizes};
use endura_console::args::{KindArgs, MediaArgs};
use endura_console::outcome::{Failure, Result};
use endura_console::text::parse_number;
use endura_engine::cpu::vectors::Vectors;
use endura_engine::media::Domain;

use crate::args::{contender, flags, one_of, vectors};

/// More than any cache holds.
const MANY: u64 = 10_000_000;
const MANY_STRINGS: u64 = 2_000_000;

#[derive(clap::Args)]
#[group(id = "plain")]
pub(crate) struct Args {
    /// Keys that are loaded [default: 10000000, 2000000 of strings; 1000000 with --counts]
    #[arg(long, alias = "entries", value_parser = parse_number)]
    keys: Option<u64>,
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
    #[arg(long, value_parser = one_of(Operation::ALL, Operation::argument), value_delimiter = ',')]
    only: Vec<Operation>,
    /// Leave the peer out
    #[arg(long)]
    alone: bool,
    /// Who runs beside endura; redb, fjall, rocksdb and congee need a build with
    /// a feature of that name
    #[arg(long, value_parser = contender(), default_value = "lmdb", conflicts_with = "alone")]
    peer: Contender,
    /// Bytes of a key, with --kind roart; with --kind fast-fair strings in place of integers [default: 24]
    #[arg(long)]
    key_bytes: Option<usize>,
    /// Bytes of a value, with --kind roart; with --kind fast-fair strings in place of integers [default: 100]
    #[arg(long)]
    value_bytes: Option<usize>,
    /// Count flushes, fences, stores and loads per operation on persistent memory (ADR), exactly, in
    /// place of measuring time
    #[arg(long)]
    pub(super) counts: bool,
    /// Search by these vectors, one after the other, in place of the best that this processor has:
    /// sse2, avx2, avx512, neon; or all
    #[arg(long, value_parser = searches, value_delimiter = ',', conflicts_with = "counts")]
    vectors: Vec<Searches>,
    #[command(flatten)]
    dir: flags::Dir,
    #[command(flatten)]
    layout: flags::Layout,
    /// Count with the nodes of FAST & FAIR's paper, which no pool has: 512 bytes on all levels, and of strings with pointers
    /// in the place of keys
    #[arg(long, requires = "counts", conflicts_with = "layout")]
    paper_nodes: bool,
    #[command(flatten)]
    seed: flags::Seed,
    #[command(flatten)]
    pub(super) json: flags::Json,
    #[command(flatten)]
    kind: KindArgs,
    #[command(flatten)]
    media: MediaArgs,
}

/// What `--vectors` names.
#[derive(Debug, Clone, Copy)]
enum Searches {
    All,
    By(Vectors),
}

fn searches(name: &str) -> std::result::Result<Searches, String> {
    if name == "all" { Ok(Searches::All) } else { vectors(name).map(Searches::By) }
}

impl Args {
    /// The vectors by which everything is measured in turn; none: the best only.
    pub(super) fn vectors(&self) -> Vec<Vectors> {
        let of = |searches: &Searches| match *searches {
            Searches::All => Vectors::available().collect(),
            Searches::By(vectors) => vec![vectors],
        };
        self.vectors.iter().flat_map(of).collect()
    }

    fn shape(&self) -> Shape {
        let kind = self.kind.kind();
        let asks = self.key_bytes.is_some() || self.value_bytes.is_some();
        if kind.holds_words() && !(asks && kind == Kind::FastFair) {
            return Shape::WORDS;
        }
        Shape::fixed(
            self.key_bytes.unwrap_or(Shape::STRINGS.key_bytes),
            self.value_bytes.unwrap_or(Shape::STRINGS.value_bytes),
        )
    }

    fn keys(&self) -> u64 {
        self.keys.unwrap_or(if self.shape() == Shape::WORDS { MANY } else { MANY_STRINGS })
    }

    /// What is measured in time, by these vectors.
    pub(super) fn suite(&self, vectors: Option<Vectors>) -> Result<Suite> {
        let mut operations = self.only.clone();
        if operations.is_empty() {
            operations = Operation::ALL.to_vec();
        }
        // What is removed must be there.
        if operations.contains(&Operation::Remove) {
            operations.push(Operation::Insert);
        }
        let (keys, shape) = (self.keys(), self.shape());
        if !(2..=u64::from(u32::MAX)).contains(&keys) {
            let message = "the number of keys lies between 2 and 4294967295";
            return Err(Failure::Usage(message.into()));
        }
        let sizes = Sizes { keys, operations: self.operations.unwrap_or(keys / 5).max(1) };
        let (key, value) = (shape.key_bytes, shape.value_bytes);
        let by = vectors.map_or(String::new(), |vectors| format!(", by {vectors}"));
        let name = format!("uniform keys of {key} bytes, values of {value} bytes{by}");
        Ok(Suite::plain(&name, sizes, shape, &operations))
    }

    /// Who takes part, and how.
    pub(super) fn settings(&self) -> Result<Settings> {
        let mut contenders = vec![Contender::of(self.kind.kind())?];
        if !self.alone && self.peer != contenders[0] {
            contenders.push(self.peer);
        }
        Ok(Settings {
            threads: self.threads.clone(),
            rounds: self.rounds,
            turns: Turns::ByStage,
            pool: self.media.options().checkpoints(endura::Checkpoints::off()),
            layout: self.layout.layout,
            ..Settings::new(contenders, self.dir.path(), self.seed.seed)
        })
    }

    /// What is counted.
    pub(super) fn counted(&self) -> CountSetup {
        let layout = self.layout.layout;
        CountSetup {
            keys: self.keys.unwrap_or(1_000_000),
            kind: self.kind.kind(),
            domain: Domain::Adr,
            shape: self.shape(),
            nodes: if self.paper_nodes { NodeSizes::Paper } else { NodeSizes::Pool(layout) },
        }
    }
}
