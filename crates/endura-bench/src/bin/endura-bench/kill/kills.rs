//! `endura bench kills`: which stores lose what they acknowledged.

use std::collections::BTreeMap;
use std::io::{Write, stdout};
use std::path::Path;

use endura_bench::contender::Contender;
use endura_bench::results::Promise;
use endura_bench::store::temporary;
use endura_console::args::MediaArgs;
use endura_console::outcome::{Answer, Result};
use endura_console::progress;
use endura_console::text::{Table, grouped, verdict};
use serde_json::json;

use super::round::{KillCounts, Victim};
use crate::args::contender;
use crate::args::flags;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Who is killed [default: all of this build that promise to survive it]
    #[arg(long, value_parser = contender(), value_delimiter = ',')]
    stores: Vec<Contender>,
    /// How many kills of each
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Writer threads
    #[arg(short, long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=16))]
    threads: u64,
    #[command(flatten)]
    seed: flags::Seed,
    #[command(flatten)]
    dir: flags::Dir,
    #[command(flatten)]
    json: flags::Json,
    #[command(flatten)]
    media: MediaArgs,
}

pub(crate) fn run(args: &Args) -> Result {
    let mut stores = args.stores.clone();
    if stores.is_empty() {
        let survives = |store: &Contender| store.promise() == Promise::Sigkill;
        stores = Contender::usual().filter(survives).collect();
    }
    let dir = args.dir.path();
    let spinner = progress::spinner();
    let mut all = Vec::new();
    for &contender in &stores {
        spinner.set_message(format!("killing {} {} times", contender.name(), args.rounds));
        let victim = Victim {
            contender,
            threads: args.threads as usize,
            seed: args.seed.seed,
            media: args.media,
        };
        all.push((contender, killed(victim, args.rounds, &dir)?));
    }
    spinner.finish_and_clear();
    let out = &mut stdout().lock();
    if args.json.json {
        let stores: Vec<_> = all
            .iter()
            .map(|(store, found)| json!({ "store": store.name(), "found": found }))
            .collect();
        writeln!(out, "{}", json!({ "seed": args.seed.seed, "stores": stores }))?;
    } else {
        write(out, &all)?;
    }
    Ok(Answer::yes_if(all.iter().all(|(_, found)| found.lost == 0)))
}

fn write(out: &mut dyn Write, all: &[(Contender, KillCounts)]) -> Result<()> {
    let header = ["store", "kills", "acknowledged", "in flight", "of them kept", "lost"];
    let mut table = Table::new(1, &header);
    for (store, found) in all {
        let KillCounts { kills, acknowledged, in_flight, in_flight_kept, lost } = *found;
        let numbers = [kills, acknowledged, in_flight, in_flight_kept, lost].map(grouped);
        table.row([store.name().to_string()].into_iter().chain(numbers));
    }
    table.write(out)?;
    for (store, found) in all.iter().filter(|(_, found)| found.lost > 0) {
        let text = format!("{} LOSES WHAT IT ACKNOWLEDGED", store.name());
        writeln!(out, "{}: {} keys", verdict(&text, false), grouped(found.lost))?;
    }
    if all.iter().all(|(_, found)| found.lost == 0) {
        writeln!(out, "{}", verdict("Nothing was lost.", true))?;
    }
    Ok(())
}

/// Kills each of `contenders` that promises to survive it `kills` times; gives those that lost something.
pub(crate) fn broken(contenders: &[Contender], kills: u64, seed: u64) -> Result<Vec<Contender>> {
    let mut broken = Vec::new();
    if kills == 0 {
        return Ok(broken);
    }
    let spinner = progress::spinner();
    for &contender in contenders {
        if contender.promise() == Promise::Sigkill {
            spinner.set_message(format!("killing {} {kills} times", contender.name()));
            let victim = Victim { contender, threads: 2, seed, media: MediaArgs::AUTO };
            if killed(victim, kills, &flags::default_dir())?.lost > 0 {
                broken.push(contender);
            }
        }
    }
    spinner.finish_and_clear();
    Ok(broken)
}

/// Kills a store in a folder of its own, until it loses something or `kills` times.
fn killed(victim: Victim, kills: u64, dir: &Path) -> Result<KillCounts> {
    let folder = temporary(dir)?;
    let (mut found, mut contents) = (KillCounts::default(), BTreeMap::new());
    for round in 0..kills {
        victim.round(round, folder.path(), &mut contents, &mut found)?;
        if found.lost > 0 {
            break;
        }
    }
    Ok(found)
}
