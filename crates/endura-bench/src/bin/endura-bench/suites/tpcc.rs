//! `endura bench tpcc`.

use clap::ValueEnum;
use endura_bench::store::Shape;
use endura_bench::suite;
use endura_bench::tpcc::{TpccScale, TransactionMix};

use super::run::RunArgs;
use endura_console::outcome::Result;
use endura_console::text::parse_number;

const ABOUT: &str = "\
New orders / payments / order statuses / deliveries / stock levels, in percent:
W1  34/43/5/4/14    W2  27/43/15/4/11    W3  20/43/25/4/8    W4  13/43/35/4/5
A warehouse has about 560,000 entries. What is measured is thousands of transactions a second; a new
order is about 60 operations on the maps, a stock level 200.";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    /// Which mixes [default: all]
    #[arg(long, value_enum, value_delimiter = ',', ignore_case = true)]
    mixes: Vec<MixName>,
    /// Warehouses, at least one per thread [default: as many as the most threads]
    #[arg(short, long)]
    warehouses: Option<u64>,
    /// Items; customers of a district are three hundredths of that
    #[arg(long, value_parser = parse_number, default_value = "100000")]
    items: u64,
    /// Transactions of each mix
    #[arg(short = 'p', long, alias = "operations", value_parser = parse_number, default_value = "50000")]
    transactions: u64,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MixName {
    W1,
    W2,
    W3,
    W4,
}

pub(crate) fn run(args: &Args) -> Result {
    let all = MixName::value_variants();
    let chosen = if args.mixes.is_empty() { all } else { &args.mixes };
    let mixes: Vec<(&str, TransactionMix)> =
        chosen.iter().map(|&name| TransactionMix::PAPER[name as usize]).collect();
    let most = args.run.threads.iter().copied().max().unwrap_or(1) as u64;
    let scale = TpccScale {
        warehouses: args.warehouses.unwrap_or(most),
        items: args.items,
        customers: args.items * 3 / 100 / 3 * 3,
    };
    let settings = args.run.settings(&[Shape::WORDS])?;
    args.run.measure(&settings.contenders, |results, observe| {
        suite::tpcc(scale, &mixes, args.transactions, &settings, results, observe)
    })
}
