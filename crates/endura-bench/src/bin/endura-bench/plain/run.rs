//! `endura bench` by itself: the plain operations of one index beside a peer, in one process run.

use std::io::{Write, stdout};

use endura_bench::head_to_head::{Config, Outcome, figures, run as measure};
use endura_bench::probes::counts::counts as count;
use endura_console::outcome::{Answer, Result};
use endura_console::progress;
use endura_console::text::counted;
use serde_json::json;

use super::args::Args;
use super::{print, reopen};

pub(crate) fn run(args: &Args) -> Result {
    if args.counts {
        return counts(args);
    }
    let dir = args.dir.path();
    if args.reopen {
        return reopen::run(args, args.keys(), &dir);
    }
    let config = args.config(dir);
    let bar = progress::spinner();
    let outcome = measure(&config, &mut |at| {
        bar.set_message(format!(
            "{}/{}  round {}/{}, {}: {} {}",
            at.done + 1,
            at.total,
            at.round + 1,
            config.rounds,
            counted(at.threads as u64, "thread"),
            at.store,
            at.workload
        ));
    });
    bar.finish_and_clear();
    let outcome = outcome?;
    if args.json.json {
        writeln!(stdout(), "{}", to_json(&config, &outcome))?;
    } else {
        print::write(&mut stdout().lock(), &config, &outcome)?;
    }
    Ok(Answer::Yes)
}

fn counts(args: &Args) -> Result {
    let counted = args.counted();
    let keys = counted.keys;
    let spinner = progress::spinner();
    let rows = count(counted);
    spinner.finish_and_clear();
    let rows = rows?;
    if args.json.json {
        writeln!(stdout(), "{}", json!({ "keys": keys, "per_operation": rows }))?;
    } else {
        print::write_counts(&mut stdout().lock(), keys, &rows)?;
    }
    Ok(Answer::Yes)
}

fn to_json(config: &Config, outcome: &Outcome) -> serde_json::Value {
    let settings: serde_json::Map<_, _> = outcome
        .settings
        .iter()
        .map(|(store, text)| (store.to_string(), text.clone().into()))
        .collect();
    json!({
        "keys": config.sizes.keys,
        "shape": config.shape,
        "operations": config.sizes.operations,
        "rounds": config.rounds,
        "seed": config.seed,
        "dir": config.dir,
        "settings": settings,
        "space": outcome.space,
        "figures": figures(outcome),
    })
}
