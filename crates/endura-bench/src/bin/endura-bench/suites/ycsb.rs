//! `endura bench ycsb`.

use clap::ValueEnum;
use endura_bench::suite::{Stage, Suite};
use endura_bench::workload::{Choice, Workload, Zipf, ycsb};

use super::run::{RunArgs, SizeArgs};
use crate::args::ShapeArgs;
use endura_console::outcome::{Failure, Result};

const ABOUT: &str = "\
A  50 % reads, 50 % updates          D  95 % reads of the latest, 5 % inserts
B  95 % reads, 5 % updates           E  95 % scans of 1 to 100, 5 % inserts
C  reads                             F  50 % reads, 50 % read-modify-writes
D reads the latest by Zipf's law whatever --distribution says.
Each runs on what the ones before it left, after a tenth of its operations unmeasured. Every answer is
checked. Examples:
  endura bench ycsb --stores fast-fair,nbtree,lmdb -n 10_000_000
  endura bench ycsb --workloads A,E --strings --threads 1,2,8
  endura bench ycsb --workloads A --rate 200000 --distribution uniform";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    /// Which workloads, by their letters [default: all]
    #[arg(long, value_delimiter = ',', ignore_case = true)]
    workloads: Vec<char>,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    size: SizeArgs,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Which keys the operations fall on.
#[derive(clap::Args)]
pub(super) struct ChoiceArgs {
    /// Which keys the operations fall on [default: zipfian; of pibench uniform]
    #[arg(long, value_enum, ignore_case = true)]
    distribution: Option<Distribution>,
    /// The exponent of Zipf's law [default: 0.99], or the share of the keys that a self-similar choice
    /// prefers [default: 0.2]
    #[arg(long)]
    skew: Option<f64>,
}

impl ChoiceArgs {
    pub(super) fn choice(&self, usual: Distribution) -> Choice {
        let theta = self.skew.unwrap_or(Zipf::YCSB);
        match self.distribution.unwrap_or(usual) {
            Distribution::Uniform => Choice::Uniform,
            Distribution::Zipfian => Choice::Zipf(theta),
            Distribution::Latest => Choice::Latest(theta),
            Distribution::SelfSimilar => Choice::SelfSimilar(self.skew.unwrap_or(0.2)),
        }
    }
}

/// A choice of keys as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Distribution {
    Uniform,
    #[value(alias = "zipf")]
    Zipfian,
    Latest,
    #[value(alias = "selfsimilar")]
    SelfSimilar,
}

pub(crate) fn run(args: &Args) -> Result {
    let choice = args.choice.choice(Distribution::Zipfian);
    let operations = args.size.operations();
    let workloads = chosen(&args.workloads, ycsb::with_choice(choice))?;
    let stage = |workload: Workload| {
        // A scan reads fifty entries on average.
        let scans = workload.name.starts_with('E');
        Stage::new(workload, if scans { (operations / 10).max(1) } else { operations })
    };
    let suite = Suite {
        name: format!("ycsb, {}", args.shape.shape().name()),
        keys: args.size.keys,
        shape: args.shape.shape(),
        stages: workloads.into_iter().map(stage).collect(),
        parameter: None,
    };
    args.run.run(&[suite])
}

fn chosen(letters: &[char], all: Vec<Workload>) -> Result<Vec<Workload>> {
    if letters.is_empty() {
        return Ok(all);
    }
    let of = |letter: &char| {
        let letter = letter.to_ascii_uppercase();
        let found = all.iter().find(|workload| workload.name.starts_with(letter));
        let failure = || Failure::Usage(format!("{letter} is no workload of YCSB: A to F are"));
        found.cloned().ok_or_else(failure)
    };
    letters.iter().map(of).collect()
}
