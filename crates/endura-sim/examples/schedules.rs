//! Runs schedules of several threads with crashes for as long as it is told to.
//!
//! ```sh
//! cargo run --release -p endura-sim --example schedules -- [fast-fair|nbtree|roart] SECONDS [FIRST_SEED [SEEDS]]
//! ```
//!
//! Each seed is one schedule of every family on every kind of tree below: of FAST & FAIR unless another is named. The first that goes
//! wrong is printed, with what it takes to run it again, and ends the run with status 1.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use endura_engine::space::PAGE;
use endura_engine::tree::roart::Techniques;
use endura_sim::model::Model;
use endura_sim::schedule::{Campaign, Family, Figures};
use endura_sim::subjects::{FastFair, LIMIT, NbTree, NumberTree, Numbers, SPELLINGS, Spellings};
use endura_sim::tally::Tally;
use endura_variants::roart::{Tiny, WithoutArrays};

/// Seeds that one kind of tree runs before the next one.
const BATCH: u64 = 50;

/// Moments at which each schedule is crashed.
const CRASHES: usize = 3;

fn keys() -> Vec<u64> {
    (1..=12).map(|i| 10 * i).collect()
}

/// The seeds from `from` on, every family; what was come across, or what went wrong.
type Runner = Box<dyn FnMut(std::ops::Range<u64>) -> Result<Figures, String>>;

fn runner<T: NumberTree>(
    name: &'static str,
    subject: Numbers<T>,
    model: Model,
    limit: u64,
) -> Runner {
    let mut campaign = Campaign::new(subject, model, limit, CRASHES);
    Box::new(move |seeds| {
        for family in Family::ALL.into_iter().chain([Family::Recovery]) {
            campaign
                .family(family, seeds.clone())
                .map_err(|unsound| format!("{name}, {family:?}: {unsound}"))?;
        }
        Ok(std::mem::take(&mut campaign.figures))
    })
}

fn fast_fair() -> Vec<Runner> {
    fn of<const I: usize, const L: usize>(name: &'static str, model: Model) -> Runner {
        runner(name, FastFair::<I, L>::about(keys()), model, LIMIT)
    }
    vec![
        of::<14, 14>("3 records, ADR", Model::WEAKEST_ADR),
        of::<16, 16>("4 records, ADR", Model::WEAKEST_ADR),
        of::<16, 24>("4 and 8 records, ADR", Model::WEAKEST_ADR),
        of::<14, 14>("3 records, eADR", Model::EADR),
    ]
}

fn nbtree() -> Vec<Runner> {
    fn of<const W: usize, const F: usize>(name: &'static str, model: Model) -> Runner {
        runner(name, NbTree::<W, F>::about(keys()), model, LIMIT)
    }
    vec![
        of::<8, 4>("3 slots, ADR", Model::WEAKEST_ADR),
        of::<16, 4>("7 slots, ADR", Model::WEAKEST_ADR),
        of::<8, 4>("3 slots, eADR", Model::EADR),
    ]
}

fn roart() -> Vec<Runner> {
    fn of<T: Techniques>(name: &'static str, keys: usize, model: Model) -> Runner {
        // Every session after a crash takes new spans, one for each size of chunk.
        runner(name, Spellings::<T>::first(keys as u64), model, 64 * PAGE)
    }
    vec![
        of::<Tiny>("arrays of four, 14 keys, ADR", 14, Model::WEAKEST_ADR),
        of::<Tiny>("arrays of four, 21 keys, ADR", SPELLINGS.len(), Model::WEAKEST_ADR),
        of::<WithoutArrays>("without arrays, ADR", SPELLINGS.len(), Model::WEAKEST_ADR),
        of::<Tiny>("arrays of four, 14 keys, eADR", 14, Model::EADR),
    ]
}

fn print(all: &Figures, seeds: &std::ops::Range<u64>, since: Instant) {
    let Figures { schedules, traces, moves, switches, tally } = all;
    let Tally { points, images, same_images, .. } = tally;
    let seconds = since.elapsed().as_secs_f64();
    println!(
        "seeds {}..{}: {schedules} schedules ({traces} different), {moves} moves, {switches} \
         changes of turn; {points} crashes, {images} images, {same_images} of them met before; \
         {seconds:.0} s",
        seeds.start, seeds.end
    );
}

fn main() -> ExitCode {
    let (names, numbers): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|argument| argument.parse::<u64>().is_err());
    let numbers: Vec<u64> = numbers.iter().filter_map(|n| n.parse().ok()).collect();
    let trees = match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["fast-fair"] => Some(fast_fair()),
        ["nbtree"] => Some(nbtree()),
        ["roart"] => Some(roart()),
        _ => None,
    };
    let (Some(mut runners), [seconds, rest @ ..]) = (trees, &numbers[..]) else {
        eprintln!("schedules [fast-fair|nbtree|roart] SECONDS [FIRST_SEED [SEEDS]]");
        return ExitCode::from(2);
    };
    let first = rest.first().copied().unwrap_or(0);
    let end = rest.get(1).map_or(u64::MAX, |seeds| first + seeds);
    let (since, budget) = (Instant::now(), Duration::from_secs(*seconds));
    let (mut all, mut next) = (Figures::default(), first);
    while next < end && since.elapsed() < budget {
        let seeds = next..(next + BATCH).min(end);
        for run in &mut runners {
            match run(seeds.clone()) {
                Ok(figures) => all.add(&figures),
                Err(unsound) => {
                    println!("{unsound}");
                    return ExitCode::FAILURE;
                }
            }
        }
        next = seeds.end;
        if (next - first) % (20 * BATCH) == 0 {
            print(&all, &(first..next), since);
        }
    }
    print(&all, &(first..next), since);
    println!("steps crossed: {:?}", all.tally.steps);
    println!("images inside: {:?}", all.tally.inside);
    ExitCode::SUCCESS
}
