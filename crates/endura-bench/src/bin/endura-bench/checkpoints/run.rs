//! Runs what was asked for, one part after the other.

use std::io::{Write, stdout};

use endura_bench::probes::checkpoints::{
    Bed, HoldsPlan, LongestPlan, PeersPlan, RecordsPlan, ThroughputPlan, holds, longest, peers,
    records, restore, throughput,
};
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use serde_json::{Map, Value, json};

use super::args::{Args, Part};
use super::tables;

pub(crate) fn run(args: &Args) -> Result {
    if args.threads.contains(&0) || args.keys == 0 || args.bytes == 0 {
        return Err(Failure::Usage("--threads, --keys and --bytes are above 0".into()));
    }
    let spinner = progress::spinner();
    let watch = |what: String| spinner.set_message(what);
    let mut all = Map::new();
    let mut tell = |name: &str, found: Value, write: &dyn Fn(&mut dyn Write) -> Result<()>| {
        all.insert(name.into(), found);
        match args.json.json {
            true => Ok(()),
            false => spinner.suspend(|| {
                let out = &mut stdout().lock();
                write(out)?;
                Ok(out.flush()?)
            }),
        }
    };
    let done = on_bytes(args, &watch, &mut tell).and_then(|()| on_keys(args, &watch, &mut tell));
    spinner.finish_and_clear();
    done?;
    if args.json.json {
        writeln!(stdout(), "{}", Value::from(all))?;
    }
    Ok(Answer::Yes)
}

/// Takes what one part found, by its name, as JSON, and how it is written as a table.
type Tell<'t> = dyn FnMut(&str, Value, &dyn Fn(&mut dyn Write) -> Result<()>) -> Result<()> + 't;

/// The parts whose pool has so many bytes.
fn on_bytes(args: &Args, watch: &dyn Fn(String), tell: &mut Tell<'_>) -> Result<()> {
    let (rounds, interval) = (args.rounds, args.interval);
    if let Some(rate) = args.rate.filter(|_| args.wants(Part::Holds)) {
        let plan = RecordsPlan { bytes: args.bytes, rate, rounds, interval };
        let found = records(args.place(), plan, watch)?;
        tell("holds_at_rate", json!(found), &|out| tables::records(out, &found))?;
    }
    let wants_holds = args.wants(Part::Holds) && args.rate.is_none();
    if !wants_holds && ![Part::Longest, Part::Restore].into_iter().any(|part| args.wants(part)) {
        return Ok(());
    }
    let bed = Bed::of_bytes(args.place(), args.bytes, watch)?;
    if wants_holds {
        let of = |share| holds(&bed, HoldsPlan { share, rounds, interval }, watch);
        let found = args.shares().map(of).collect::<endura_bench::Result<Vec<_>>>()?;
        tell("holds", json!(found), &|out| tables::holds(out, &found))?;
    }
    if args.wants(Part::Longest) {
        let (turn, turns, interval) = (args.seconds, args.turns, args.interval);
        let of = |share| longest(&bed, LongestPlan { share, turn, turns, interval }, watch);
        let found = args.shares().map(of).collect::<endura_bench::Result<Vec<_>>>()?;
        tell("longest", json!(found), &|out| tables::longest(out, args, &found))?;
    }
    if args.wants(Part::Restore) {
        let found = restore(&bed, args.rounds_of_restore, watch)?;
        tell("restore", json!(found), &|out| tables::restore(out, &found))?;
    }
    Ok(())
}

/// The parts whose pools have so many keys.
fn on_keys(args: &Args, watch: &dyn Fn(String), tell: &mut Tell<'_>) -> Result<()> {
    let (rounds, turn) = (args.rounds_of_throughput, args.turn);
    if args.wants(Part::Throughput) {
        let bed = Bed::of_keys(args.place(), args.keys, watch)?;
        let of = |&threads| throughput(&bed, ThroughputPlan { threads, rounds, turn }, watch);
        let found = args.threads.iter().map(of).collect::<endura_bench::Result<Vec<_>>>()?;
        tell("throughput", json!(found), &|out| tables::throughput(out, &found))?;
    }
    if args.wants(Part::Peers) {
        let (keys, turn) = (args.keys, turn / 3);
        let of = |&threads| peers(&args.dir, PeersPlan { keys, threads, rounds, turn }, watch);
        let found = args.threads.iter().map(of).collect::<endura_bench::Result<Vec<_>>>()?;
        tell("peers", json!(found), &|out| tables::peers(out, &found))?;
    }
    Ok(())
}
