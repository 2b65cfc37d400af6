//! What the program is asked for.

use clap::{Parser, ValueEnum};
use endura_sim::model;

const EXIT_CODES: &str = "\
Exit codes:
  0  nothing was found
  1  something was found
  2  usage error
  3  it did not work";

/// Crashes an index in every way the hardware allows, for as long as there is time.
#[derive(Parser)]
#[command(name = "endura-explore", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// What is crashed
    #[arg(value_enum, default_value_t = Index::FastFair)]
    pub(crate) index: Index,
    /// After so many seconds no further operation is crashed
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seconds: u64,
    /// What the hardware promises of the order in which stores become durable
    #[arg(long, value_enum, default_value_t = Model::WeakestAdr)]
    pub(crate) model: Model,
    /// Threads that explore
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub(crate) threads: u64,
    /// The number of the first history; that of a failure finds it again [default: random]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Leave this call out of the program (`tree/fast_fair/write.rs:12:34`): to see that it is missed.
    /// A place where there is none tells which there are
    #[arg(long, value_name = "PLACE")]
    pub(crate) without: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What can be explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Index {
    /// FAST & FAIR trees of three to eight entries a node
    FastFair,
    /// NBTrees of three to seven slots a block
    #[value(name = "nbtree", alias = "nb-tree")]
    NbTree,
    /// FAST & FAIR trees of byte strings, of four to seven entries a node
    FastFairStrings,
    /// NBTrees of byte strings, of four to eight slots a block
    #[value(name = "nbtree-strings", alias = "nb-tree-strings")]
    NbTreeStrings,
    /// ROART trees with leaf arrays of four records, and without arrays
    Roart,
    /// FAST & FAIR trees of integers with records
    FastFairRecords,
    /// NBTrees of integers with records
    #[value(name = "nbtree-records", alias = "nb-tree-records")]
    NbTreeRecords,
}

/// The persistency models as arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Model {
    /// The least that any machine promises: order within a line after Release only
    WeakestAdr,
    /// x86: order within a line, and fences in atomic exchanges
    X86Adr,
    /// Persistent caches behind a store buffer that is lost
    Eadr,
    /// The end of the process, which the page cache survives
    PageCache,
}

impl From<Model> for model::Model {
    fn from(model: Model) -> Self {
        match model {
            Model::WeakestAdr => Self::WEAKEST_ADR,
            Model::X86Adr => Self::X86_ADR,
            Model::Eadr => Self::EADR,
            Model::PageCache => Self::PAGE_CACHE,
        }
    }
}

/// How an argument is written.
pub(crate) fn name(of: &impl ValueEnum) -> String {
    of.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
