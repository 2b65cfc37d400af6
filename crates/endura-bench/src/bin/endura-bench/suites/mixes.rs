//! `endura bench mixes`: the mixes of the papers.

use clap::ValueEnum;
use endura_bench::store::Shape;
use endura_bench::suite::{Stage, Suite};
use endura_bench::workload::{Action, Workload, papers};

use super::run::{RunArgs, SizeArgs};
use endura_console::outcome::Result;

const ABOUT: &str = "\
fast-fair  4 inserts, 16 searches, 1 delete in turn (FAST & FAIR, figure 8c)
nbtree     lookups and updates by Zipf's law of 0.99, 0 to 100 % updates (NBTree, figures 8 and 9)
roart      lookup, insert, update, scan, remove, and five mixes of them, keys of 4 to 128 bytes
           (ROART, figures 14 and 15)";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    /// Whose mixes [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    papers: Vec<Paper>,
    #[command(flatten)]
    size: SizeArgs,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Paper {
    FastFair,
    #[value(name = "nbtree")]
    NbTree,
    Roart,
}

pub(crate) fn run(args: &Args) -> Result {
    let papers = if args.papers.is_empty() { Paper::value_variants() } else { &args.papers };
    let (keys, operations) = (args.size.keys, args.size.operations());
    let stage = |workload: Workload| {
        let scans = workload.has(Action::Scan);
        Stage::new(workload, if scans { (operations / 10).max(1) } else { operations })
    };
    let suite = |name: &str, shape, workloads: Vec<Workload>| Suite {
        name: name.into(),
        keys,
        shape,
        stages: workloads.into_iter().map(stage).collect(),
        parameter: None,
    };
    let suites: Vec<Suite> = papers
        .iter()
        .map(|paper| match paper {
            Paper::FastFair => {
                suite("FAST & FAIR mixed", Shape::WORDS, vec![papers::fast_fair_mixed()])
            }
            Paper::NbTree => {
                let shares =
                    papers::WRITE_PERCENTS.map(|percent| papers::nbtree_writes(percent, 0.99));
                suite("NBTree read:write", Shape::WORDS, shares.into())
            }
            Paper::Roart => {
                let mut all = papers::roart_five();
                all.extend(papers::roart_single());
                suite("ROART, keys of 4 to 128 bytes", Shape::ROART, all)
            }
        })
        .collect();
    args.run.run(&suites)
}
