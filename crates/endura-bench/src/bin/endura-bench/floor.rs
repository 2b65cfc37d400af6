//! `endura bench floor`: the hardware, and the emulator against its setting.

use std::io::{Write, stdout};

use endura_bench::figures::Median;
use endura_bench::probes::chain::{GetFloor, get_floor};
use endura_bench::probes::floor::{AHEAD, Chase, Floor, RECORD_BYTES, chase, floor};
use serde_json::json;

use crate::args::flags;
use endura_console::outcome::{Answer, Result};
use endura_console::progress;
use endura_console::text::{Table, bytes, grouped, parse_number, parse_size};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Bytes that are gone over: as many as an index of interest takes (320M: the records of two million
    /// keys of 24 bytes with values of 100)
    #[arg(long, value_parser = parse_size, default_value = "256M")]
    bytes: u64,
    /// Numbers of keys for which the loads of an NbTree's get are made that wait for each other
    #[arg(long, value_parser = parse_number, value_delimiter = ',', default_value = "100000,1000000")]
    keys: Vec<u64>,
    /// Latencies that the emulator is set to, in nanoseconds
    #[arg(long, value_delimiter = ',', default_value = "300,600,900")]
    latencies: Vec<u64>,
    /// How often everything is repeated; medians are shown
    #[arg(long, default_value_t = 9)]
    rounds: u32,
    #[command(flatten)]
    dir: flags::Dir,
    #[command(flatten)]
    json: flags::Json,
}

/// Exit code 1 if a chase over emulated memory is more than 10 % off.
pub(crate) fn run(args: &Args) -> Result {
    let spinner = progress::spinner();
    spinner.set_message("loads, stores, a pass over all lines, records");
    let floor = floor(&args.dir.path(), args.bytes, args.rounds)?;
    spinner.set_message("the loads of a get");
    let gets = args.keys.iter().map(|&keys| get_floor(&args.dir.path(), keys, args.rounds));
    let gets = gets.collect::<endura_bench::Result<Vec<_>>>()?;
    spinner.set_message("chases over emulated memory");
    let chases = args.latencies.iter().map(|&ns| chase(ns, 100_000, args.rounds));
    let chases = chases.collect::<endura_bench::Result<Vec<_>>>()?;
    spinner.finish_and_clear();
    if args.json.json {
        writeln!(stdout(), "{}", json!({ "floor": floor, "gets": gets, "chases": chases }))?;
    } else {
        write(&floor, &gets, &chases)?;
    }
    let near = |chase: &Chase| (chase.wall_ns.median / chase.set_ns as f64 - 1.0).abs() <= 0.10;
    Ok(Answer::yes_if(chases.iter().all(near)))
}

fn cells(median: Median) -> [String; 2] {
    [format!("{:.1} ns", median.median), format!("{:.0}%", median.spread_percent)]
}

fn write(floor: &Floor, gets: &[GetFloor], chases: &[Chase]) -> Result<()> {
    let out = &mut stdout().lock();
    let mut table = Table::new(1, &[&format!("over {}", bytes(floor.bytes)), "each", "+-"]);
    for (name, median) in [
        ("dependent load of a random line", floor.dependent_load_ns),
        ("store to a random line, write-back, fence", floor.durable_store_ns),
        ("next line of a pass over all", floor.sequential_line_ns),
    ] {
        table.row([name.to_string()].into_iter().chain(cells(median)));
    }
    for (ahead, record) in AHEAD.into_iter().zip(floor.record_ns) {
        let asked = match ahead {
            0 => "not asked for ahead".to_string(),
            n => format!("asked for {n} ahead"),
        };
        let name = format!("record of {RECORD_BYTES} bytes at a random place, {asked}");
        table.row([name].into_iter().chain(cells(record)));
    }
    table.write(out)?;
    writeln!(out)?;
    let header = ["the loads of an NbTree get", "loads", "one by one", "+-", "overlapping", "+-"];
    let mut table = Table::new(1, &header);
    for get in gets {
        let first = [format!("{} keys", grouped(get.keys)), get.loads.to_string()];
        let [alone, overlapping] = [get.alone_ns, get.overlapping_ns].map(cells);
        table.row(first.into_iter().chain(alone).chain(overlapping));
    }
    table.write(out)?;
    writeln!(out)?;
    let header = ["emulated read latency", "by the clock", "+-", "off", "charged"];
    let mut table = Table::new(1, &header);
    for chase in chases {
        let off = (chase.wall_ns.median / chase.set_ns as f64 - 1.0) * 100.0;
        let rest = [format!("{off:+.1}%"), format!("{:.1} ns", chase.charged_ns)];
        let set = format!("{} ns", chase.set_ns);
        table.row([set].into_iter().chain(cells(chase.wall_ns)).chain(rest));
    }
    Ok(table.write(out)?)
}
