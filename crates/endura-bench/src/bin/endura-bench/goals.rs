//! `endura bench goals`: what we have set ourselves, and whether it is reached.

use std::io::{Write, stdout};

use endura_bench::goals::{Judged, RACES, Race};
use serde_json::json;

use crate::args::flags;
use crate::table::spread;
use endura_console::outcome::{Answer, Result};
use endura_console::progress;
use endura_console::text::{Table, bold, verdict};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these
    #[arg(long, value_delimiter = ',', value_parser = names())]
    only: Vec<String>,
    /// How often everything is measured; medians are shown
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Loads only one key in so many: goals are meant for all of them
    #[arg(long, default_value_t = 1)]
    divisor: u64,
    #[command(flatten)]
    dir: flags::Dir,
    #[command(flatten)]
    json: flags::Json,
}

fn names() -> clap::builder::PossibleValuesParser {
    RACES.map(|race| race.name).into()
}

/// Exit code 1 if one is not reached.
pub(crate) fn run(args: &Args) -> Result {
    let dir = args.dir.path();
    let is_wanted = |race: &&Race| match args.only.is_empty() {
        true => race.can_run(),
        false => args.only.iter().any(|name| name == race.name),
    };
    let races: Vec<&Race> = RACES.iter().filter(is_wanted).collect();
    let bar = progress::bar(1000 * races.len() as u64, "‰");
    let mut all = Vec::new();
    for (race, done) in races.into_iter().zip(0_u64..) {
        let judged = race.run(args.divisor, args.rounds, &dir, &mut |part, what| {
            bar.set_position(1000 * done + (part * 1000.0) as u64);
            bar.set_message(what.to_string());
        });
        all.extend(judged?);
    }
    bar.finish_and_clear();
    if args.json.json {
        writeln!(stdout(), "{}", json!({ "divisor": args.divisor, "goals": all }))?;
    } else {
        write(&all)?;
    }
    Ok(Answer::yes_if(all.iter().all(|judged| judged.is_reached)))
}

fn write(all: &[Judged]) -> Result<()> {
    let out = &mut stdout().lock();
    let mut races: Vec<&str> = all.iter().map(|judged| judged.race.as_str()).collect();
    races.dedup();
    for race in races {
        writeln!(out, "{}", bold(race))?;
        let mut table = Table::new(1, &["", "asked", "aim", "here", "+-", ""]);
        for judged in all.iter().filter(|judged| judged.race == race) {
            table.row([
                judged.goal.clone(),
                format!("{:.2}", judged.asked),
                judged.aim.map_or(String::new(), |aim| format!("{aim:.2}")),
                format!("{:.2}", judged.measured.median),
                spread(judged.measured),
                verdict(judged.verdict(), judged.is_reached),
            ]);
        }
        table.write(out)?;
        for judged in all.iter().filter(|judged| judged.race == race) {
            if let Some(reason) = judged.reason() {
                writeln!(out, "  {}: {reason}.", judged.goal)?;
            }
        }
    }
    Ok(())
}
