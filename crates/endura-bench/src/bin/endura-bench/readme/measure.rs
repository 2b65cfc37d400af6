//! The measurements of the page, in their order.

use std::path::Path;
use std::time::{Duration, Instant};

use endura_bench::contender::Contender;
use endura_bench::readme::{Backing, Page, Plan, Surroundings, backing};
use endura_bench::results::Results;
use endura_bench::store::{Shape, StoreOptions, temporary};
use endura_bench::suite::{self, Settings, Turns};
use endura_console::outcome::Result;

use crate::args::flags::command_line;
use crate::suites::after_kill;

const SEED: u64 = 1;

/// Measures what `plan` names, with files in `dir`; returns the page.
pub(super) fn page(mut plan: Plan, surroundings: &Surroundings, dir: &Path) -> Result<String> {
    let clock = Instant::now();
    let tell = |what: &str| eprintln!("{:>4} s  {what}", clock.elapsed().as_secs());
    let missing = leave_out(&mut plan, dir)?;
    for (contender, why) in &missing {
        tell(&format!("{} is left out: {why}", contender.name()));
    }
    let backing = memory(&plan, dir, &tell)?;
    let mut results = Results::new(command_line(), SEED);
    for section in &plan.sections {
        tell(&section.title);
        let rounds = rounds(plan.rounds, clock.elapsed());
        let settings = Settings {
            rounds,
            turns: Turns::ByStage,
            patience: section.patience,
            ..Settings::new(section.contenders.clone(), dir.into(), SEED)
        };
        let mut round = None;
        suite::run(&[section.suite()], &settings, &mut results, &mut |at| {
            if round != Some(at.round) {
                round = Some(at.round);
                tell(&format!("  round {} of {}", at.round + 1, rounds));
            }
        })?;
    }
    let mut reopened = Vec::new();
    for &contender in &plan.killed {
        tell(&format!("{} after SIGKILL", contender.name()));
        reopened.push((contender, after_kill::first_answer(contender, plan.killed_keys, dir)?));
    }
    tell("done");
    let (plan, results) = (&plan, &results);
    let (reopened, backing, missing) = (&reopened, &backing, &missing);
    Ok(Page { plan, surroundings, results, reopened, backing, missing }.markdown())
}

/// How often a section that begins now is measured: less often on a slow machine.
fn rounds(planned: u32, elapsed: Duration) -> u32 {
    match elapsed.as_secs() {
        0..240 => planned,
        240..360 => planned.min(2),
        _ => 1,
    }
}

/// Takes stores out of the plan that cannot be opened here.
fn leave_out(plan: &mut Plan, dir: &Path) -> Result<Vec<(Contender, String)>> {
    let mut missing = Vec::new();
    for &contender in &plan.killed {
        let folder = temporary(dir)?;
        let options = StoreOptions::new(folder.path().join("store"), Shape::WORDS, 1000);
        if let Err(error) = contender.open(&options) {
            missing.push((contender, error.to_string()));
        }
    }
    let is_there = |c: &Contender| !missing.iter().any(|(other, _)| other == c);
    plan.killed.retain(is_there);
    plan.sections.iter_mut().for_each(|section| section.contenders.retain(is_there));
    Ok(missing)
}

fn memory(plan: &Plan, dir: &Path, tell: &dyn Fn(&str)) -> Result<Vec<(Contender, Backing)>> {
    tell("huge pages");
    let of = |&contender: &Contender| {
        let shape = Shape::WORDS;
        Ok((contender, backing(contender, shape, plan.backed_keys, dir)?))
    };
    plan.killed.iter().map(of).collect()
}
