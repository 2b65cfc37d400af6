//! The program `endura-explore`, which `endura explore` starts: random histories of small trees, crashed at every moment in every way that a
//! persistency model allows, until the time is up or something is found.

#![forbid(unsafe_code)]

mod args;
mod campaign;
mod fault;
mod report;

use std::io::{Write, stdout};
use std::process::ExitCode;
use std::time::Duration;

use args::Args;
use campaign::{Campaign, Sum};
use endura_console::interrupt;
use endura_console::outcome::{Answer, Result, arguments, exit};
use endura_console::progress;
use endura_console::text::grouped;
use report::Summary;

fn run(args: &Args) -> Result {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1 << 32));
    let mutant =
        args.without.as_deref().map(|place| fault::without(args.index, place)).transpose()?;
    let budget = Duration::from_secs(args.seconds);
    let campaign = Campaign::new(args.index, args.model.into(), mutant, seed, budget);
    let bar = progress::time_bar(budget);
    let sum = campaign.run(args.threads as usize, &|sum: &Sum, passed| {
        bar.set_position(passed.as_millis() as u64);
        bar.set_message(progress_text(sum, passed));
    });
    bar.finish_and_clear();
    let report = Summary { args, seed, sum };
    if args.json {
        writeln!(stdout(), "{}", report.json())?;
    } else {
        report.write(&mut stdout().lock())?;
    }
    Ok(Answer::yes_if(report.is_sound()))
}

fn main() -> ExitCode {
    interrupt::limit_files_by_errors();
    match arguments::<Args>("endura-explore") {
        Ok(args) => exit("endura-explore", run(&args)),
        Err(code) => code,
    }
}

fn progress_text(sum: &Sum, passed: Duration) -> String {
    let rate = sum.tally.images as f64 / passed.as_secs_f64().max(1e-3);
    let (histories, states) = (grouped(sum.histories), grouped(sum.tally.images));
    format!("{histories} histories, {states} states, {}/s", grouped(rate as u64))
}
