//! `endura bench pibench`: any mix, with the parameters of PiBench (Lersch et al., "Evaluating
//! persistent memory range indexes", PVLDB 13(4), 2019).

use endura_bench::suite::{Stage, Suite};
use endura_bench::workload::{Action, ScanLength, Workload};

use super::run::{RunArgs, SizeArgs};
use super::ycsb::{ChoiceArgs, Distribution};
use crate::args::ShapeArgs;
use endura_console::outcome::{Failure, Result};

const ABOUT: &str = "\
The parameters of PiBench that have a meaning here: -n, -p, -t, -k, -v, -r, -i, -u, -d, -s, --scan_size,
--distribution UNIFORM, SELFSIMILAR or ZIPFIAN, --skew, --seed. A record is removed that the thread
inserted the longest ago. Example:
  endura bench pibench -n 10_000_000 -p 1_000_000 -t 2 -r 0.5 -u 0.5 --distribution SELFSIMILAR --skew 0.2";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    /// The ratio of lookups [default: what the others leave of 1]
    #[arg(short, long, alias = "read_ratio", value_parser = ratio)]
    read_ratio: Option<f64>,
    /// The ratio of inserts
    #[arg(short, long, alias = "insert_ratio", value_parser = ratio, default_value = "0")]
    insert_ratio: f64,
    /// The ratio of updates
    #[arg(short, long, alias = "update_ratio", value_parser = ratio, default_value = "0")]
    update_ratio: f64,
    /// The ratio of removes
    #[arg(short = 'd', long, alias = "remove_ratio", value_parser = ratio, default_value = "0")]
    remove_ratio: f64,
    /// The ratio of scans
    #[arg(short, long, alias = "scan_ratio", value_parser = ratio, default_value = "0")]
    scan_ratio: f64,
    /// Records that a scan reads
    #[arg(long, alias = "scan_size", default_value_t = 100)]
    scan_size: u16,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    size: SizeArgs,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Ratios are kept as ten thousandths.
const WHOLE: f64 = 10_000.0;

fn ratio(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(ratio),
        _ => Err("a ratio lies between 0 and 1".into()),
    }
}

impl Args {
    fn workload(&self) -> Result<Workload> {
        let others = self.insert_ratio + self.update_ratio + self.remove_ratio + self.scan_ratio;
        let reads = self.read_ratio.unwrap_or(1.0 - others);
        if (reads + others - 1.0).abs() > 0.5 / WHOLE {
            return Err(Failure::Usage(format!(
                "the ratios are {} together, not 1",
                reads + others
            )));
        }
        let named = [
            ("read", Action::Read, reads),
            ("insert", Action::Insert, self.insert_ratio),
            ("update", Action::Update, self.update_ratio),
            ("remove", Action::Remove, self.remove_ratio),
            ("scan", Action::Scan, self.scan_ratio),
        ];
        let (mut mix, mut names) = (Vec::new(), Vec::new());
        for (name, action, ratio) in named {
            let weight = (ratio * WHOLE).round() as u32;
            if weight > 0 {
                mix.push((action, weight));
                names.push(
                    format!("{name} {ratio:.4}")
                        .trim_end_matches('0')
                        .trim_end_matches('.')
                        .to_string(),
                );
            }
        }
        let choice = self.choice.choice(Distribution::Uniform);
        let name = format!("{}, {}", names.join(" "), choice.name());
        let workload = Workload::new(name, &mix).with_choice(choice);
        Ok(workload.with_scan(ScanLength::Fixed(self.scan_size)))
    }
}

pub(crate) fn run(args: &Args) -> Result {
    let stage = Stage::new(args.workload()?, args.size.operations());
    let shape = args.shape.shape();
    let name = format!("pibench, {}", shape.name());
    let suite = Suite { name, keys: args.size.keys, shape, stages: vec![stage], parameter: None };
    args.run.run(&[suite])
}
