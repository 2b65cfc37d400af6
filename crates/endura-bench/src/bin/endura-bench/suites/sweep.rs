//! `endura bench sweep`: one thing varied.

use clap::ValueEnum;
use endura_bench::results::Parameter;
use endura_bench::suite::{Stage, Suite};
use endura_bench::workload::{Action, ScanLength, Workload, papers};

use super::run::{RunArgs, SizeArgs};
use crate::args::ShapeArgs;
use endura_console::outcome::{Failure, Result};

const ABOUT: &str = "\
scan     scans of 1 to 10,000 entries
size     lookups, inserts and updates at a hundredth of --keys, then ever more up to --keys
threads  the same, and YCSB A, with 1, 2, 4, 8 and 16 threads, or with those of --threads
skew     half lookups, half updates, by Zipf's law of 0.5 to 1.2 (NBTree figure 9a, ROART 19)
writes   lookups and 0 to 100 % updates by Zipf's law of 0.99 (NBTree figure 9b)";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    /// What is varied
    #[arg(value_enum)]
    what: What,
    /// Where it is looked at, in place of the usual points: entries, keys, exponents or percent
    #[arg(long, value_delimiter = ',')]
    points: Vec<f64>,
    #[command(flatten)]
    size: SizeArgs,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    Scan,
    Size,
    Threads,
    Skew,
    Writes,
}

pub(crate) fn run(args: &Args) -> Result {
    if args.what == What::Threads {
        let stages = single(args.size.operations(), None);
        let threads: &[usize] =
            if args.run.threads == [1] { &[1, 2, 4, 8, 16] } else { &args.run.threads };
        return args.run.run_with_threads(threads, &[suite(args, args.size.keys, stages, None)]);
    }
    let usual = usual_points(args);
    let points = if args.points.is_empty() { &usual } else { &args.points };
    let suites = if args.what == What::Size {
        let of = |&keys: &f64| suite_of_size(args, keys);
        points.iter().map(of).collect::<Result<Vec<_>>>()?
    } else {
        let stages = points.iter().map(|&point| stage(args, point)).collect::<Result<Vec<_>>>()?;
        vec![suite(args, args.size.keys, stages, None)]
    };
    args.run.run(&suites)
}

fn usual_points(args: &Args) -> Vec<f64> {
    match args.what {
        What::Scan => [1.0, 10.0, 100.0, 1000.0, 10_000.0].into(),
        What::Size => [100, 30, 10, 3, 1].map(|part| (args.size.keys / part).max(2) as f64).into(),
        What::Skew => papers::SKEWS.into(),
        What::Writes => papers::WRITE_PERCENTS.map(f64::from).into(),
        What::Threads => Vec::new(),
    }
}

fn suite(args: &Args, keys: u64, stages: Vec<Stage>, parameter: Option<Parameter>) -> Suite {
    let name = args.what.to_possible_value();
    let name = name.as_ref().map_or("", |name| name.get_name());
    let shape = args.shape.shape();
    Suite { name: format!("sweep {name}, {}", shape.name()), keys, shape, stages, parameter }
}

fn parameter(name: &str, unit: &str, value: f64) -> Parameter {
    Parameter { name: name.into(), unit: unit.into(), value }
}

fn suite_of_size(args: &Args, keys: f64) -> Result<Suite> {
    let keys = whole(keys, 2, 1 << 31)?;
    let operations = args.size.operations().min(keys);
    let size = parameter("keys", "", keys as f64);
    Ok(suite(args, keys, single(operations, None), Some(size)))
}

/// The operations that show how an index scales.
fn single(operations: u64, parameter: Option<Parameter>) -> Vec<Stage> {
    let workloads = [
        Workload::only("lookup", Action::Read),
        Workload::only("insert", Action::Insert),
        Workload::only("update", Action::Update),
        Workload { name: "A zipfian 0.99".into(), ..papers::skewed_halves(0.99) },
    ];
    let stage = |workload| Stage { workload, operations, parameter: parameter.clone() };
    workloads.into_iter().map(stage).collect()
}

fn stage(args: &Args, point: f64) -> Result<Stage> {
    let operations = args.size.operations();
    Ok(match args.what {
        What::Scan => {
            let length = whole(point, 1, u16::MAX.into())?;
            let scan = ScanLength::Fixed(length as u16);
            Stage {
                workload: Workload::only("scan", Action::Scan).with_scan(scan),
                // As many entries at every length, within reason.
                operations: (operations / length).clamp(operations.min(1000), operations),
                parameter: Some(parameter("scan length", "entries", point)),
            }
        }
        What::Writes => {
            let percent = whole(point, 0, 100)? as u32;
            let workload = Workload {
                name: "read:write, zipfian 0.99".into(),
                ..papers::nbtree_writes(percent, 0.99)
            };
            Stage { workload, operations, parameter: Some(parameter("writes", "%", point)) }
        }
        _ => {
            let workload = Workload {
                name: "50:50 read:write, zipfian".into(),
                ..papers::skewed_halves(point)
            };
            Stage { workload, operations, parameter: Some(parameter("skew", "", point)) }
        }
    })
}

fn whole(point: f64, least: u64, most: u64) -> Result<u64> {
    if point.fract() == 0.0 && point >= least as f64 && point <= most as f64 {
        return Ok(point as u64);
    }
    Err(Failure::Usage(format!("{point}: a point here is a whole number from {least} to {most}")))
}
