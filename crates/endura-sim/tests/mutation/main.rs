//! Every flush, fence, drain, store, exchange and `Release` of FAST & FAIR, and of the pool below it, is
//! faulted in turn, and a campaign must notice. What it does not notice is listed, with the reason, in
//! `listed.rs`.
//!
//! The campaign has thousands of parts (`parts.rs`). `killers.txt` says for each fault which part was
//! the first to notice it; the quick test runs that one part with the fault, and all those parts
//! without. The long one begins with that part and goes on with all others (with an empty table: looks
//! for everything anew), tries the listed ones in all parts, and prints the table that belongs in
//! `killers.txt`. `ENDURA_MUTANT` chooses faults by pieces of their names,
//! with `|` between, `ENDURA_PART` parts of the campaign; `ENDURA_SIM_SECONDS` is what each fault gets at
//! most.
//!
//! ```text
//! cargo test --release -p endura-sim --test mutation -- --ignored --nocapture
//! ```

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod duels;
mod listed;
mod parts;
mod plans;
mod pool;
mod sweeps;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use endura_sim::mutant::Mutant;
use endura_sim::mutate::{Calls, Fate, Report, judge, name};

use listed::{LISTED, Why};
use parts::{Part, Runner};

/// Which part notices what: a line each, the part and the fault.
const KILLERS: &str = include_str!("killers.txt");

fn killers() -> BTreeMap<&'static str, &'static str> {
    KILLERS.lines().filter_map(|line| line.split_once(" | ")).map(|(by, of)| (of, by)).collect()
}

fn is_meant(file: &str) -> bool {
    file.contains("tree/fast_fair/") || file.contains("endura/src/pool/")
}

/// Runs parts without a fault: what each of them calls, and whether it passes.
fn sound(parts: &[Part]) -> Vec<(Part, Calls)> {
    let (next, all) = (Mutex::new(parts.iter()), Mutex::new(Vec::new()));
    let work = || {
        while let Some(&part) = { next.lock().unwrap().next() } {
            let mut runner = Runner::new(None, true);
            runner.run(part).unwrap_or_else(|finding| panic!("{part}, without a fault: {finding}"));
            let mut calls = runner.calls.unwrap();
            calls.made.retain(|call, _| is_meant(call.site.file()));
            calls.releases.retain(|call| is_meant(call.site.file()));
            all.lock().unwrap().push((part, calls));
        }
    };
    thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(work)));
    all.into_inner().unwrap()
}

fn name_of(mutant: Mutant) -> String {
    name(mutant, &Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

fn is_listed(mutant: &Mutant) -> bool {
    let name = name_of(*mutant);
    LISTED.iter().any(|(listed, ..)| *listed == name)
}

fn print_listed() {
    for why in [Why::Costs, Why::Unseen] {
        let reasons = LISTED.iter().filter(|(_, of, _)| *of == why);
        println!("{why:?}: {}", reasons.clone().count());
        reasons.for_each(|(name, _, reason)| println!("  {name} ({reason})"));
    }
}

#[test]
fn what_is_not_listed_is_killed() {
    let killers = killers();
    let by_name: HashMap<String, Part> =
        parts::all().into_iter().map(|part| (part.to_string(), part)).collect();
    let used: BTreeSet<&str> = killers.values().copied().collect();
    let used: Vec<Part> = used.into_iter().map(|by| by_name[by]).collect();
    let mut calls = Calls::default();
    sound(&used).into_iter().for_each(|(_, of)| calls.add(of));
    let (listed, others): (Vec<_>, Vec<_>) = calls.mutants().partition(is_listed);
    let count = listed.len() + others.len();
    let is_known = |mutant: &Mutant| killers.contains_key(name_of(*mutant).as_str());
    let (tried, open): (Vec<_>, Vec<_>) = others.into_iter().partition(is_known);
    let report = judge(&tried, 2, |mutant| {
        let part = by_name[*killers.get(name_of(mutant).as_str())?];
        Runner::new(Some(mutant), false).run(part).err().map(|finding| (part.to_string(), finding))
    });
    let alive: Vec<String> = report.survivors().map(name_of).collect();
    println!("{report}and of {count} in all {} are listed, {} open:", listed.len(), open.len());
    open.iter().for_each(|mutant| println!("open      {}", name_of(*mutant)));
    print_listed();
    assert!(alive.is_empty(), "not noticed where it should be; see above:\n{}", alive.join("\n"));
    let there: BTreeSet<String> = listed.iter().copied().map(name_of).collect();
    let gone: Vec<_> = LISTED.iter().filter(|(name, ..)| !there.contains(*name)).collect();
    assert!(gone.is_empty(), "listed and not there: {gone:#?}");
    assert!(10 * listed.len() <= count, "more than a tenth is listed");
    assert!(open.is_empty(), "{} that nothing is known to notice", open.len());
}

/// Whether a variable of the environment chooses this name.
fn is_chosen(variable: &str, name: &str) -> bool {
    let wanted = std::env::var(variable).unwrap_or_default();
    wanted.split('|').any(|piece| name.contains(piece))
}

fn wanted_parts() -> Vec<Part> {
    let all = parts::all().into_iter();
    all.filter(|part| is_chosen("ENDURA_PART", &part.to_string())).collect()
}

/// Looks for each mutant in all parts that make its call, first in the one that noticed it before.
fn look_for_all(mutants: &[Mutant], made: &HashMap<String, Calls>) -> Report {
    let (all, killers) = (wanted_parts(), killers());
    let given = std::env::var("ENDURA_SIM_SECONDS").ok().and_then(|text| text.parse().ok());
    let most = Duration::from_secs(given.unwrap_or(600));
    judge(mutants, 2, |mutant| {
        let mut runner = Runner::new(Some(mutant), false);
        let is_worth_it = |part: &&Part| {
            let made = made.get(&parts::kind(**part));
            let makes_it = made.is_none_or(|calls| calls.made.contains_key(&mutant.call()));
            makes_it && part.may_notice(mutant)
        };
        let before = killers.get(name_of(mutant).as_str());
        let known = before.and_then(|&by| all.iter().find(|part| part.to_string() == by));
        let begin = Instant::now();
        let is_near = |part: &&Part| {
            let made = made.get(&parts::duel(**part));
            made.is_none_or(|calls| calls.made.contains_key(&mutant.call()))
        };
        let (near, far): (Vec<&Part>, Vec<&Part>) =
            all.iter().filter(is_worth_it).partition(is_near);
        let parts = known.into_iter().chain(near).chain(far);
        let found = parts
            .take_while(|_| begin.elapsed() < most)
            .find_map(|&part| runner.run(part).err().map(|finding| (part.to_string(), finding)));
        match &found {
            Some((by, _)) => println!("{by} | {}", name_of(mutant)),
            None => println!("NOBODY | {}", name_of(mutant)),
        }
        found
    })
}

#[test]
#[ignore = "an hour: looks for everything anew"]
fn everything_anew() {
    // Of the schedules some are enough to know what they call.
    let few = |part: &Part| match part {
        Part::Duel { seed, .. } => *seed < 6,
        _ => true,
    };
    let few: Vec<Part> = wanted_parts().into_iter().filter(few).collect();
    let (mut calls, mut made) = (Calls::default(), HashMap::new());
    for (part, of) in sound(&few) {
        calls.add(of.clone());
        for name in BTreeSet::from([parts::kind(part), parts::duel(part)]) {
            made.entry(name).or_insert_with(Calls::default).add(of.clone());
        }
    }
    let is_wanted = |mutant: &Mutant| is_chosen("ENDURA_MUTANT", &name_of(*mutant));
    let mutants: Vec<Mutant> = calls.mutants().filter(is_wanted).collect();
    println!("{} mutants", mutants.len());
    let report = look_for_all(&mutants, &made);
    println!("{report}");
    let mut table: Vec<String> = Vec::new();
    for (mutant, fate) in &report.fates {
        if let Fate::Killed { by, .. } = fate {
            table.push(format!("{by} | {}", name_of(*mutant)));
        }
    }
    table.sort_by(|a, b| {
        a.split_once(" | ").map(|(_, of)| of).cmp(&b.split_once(" | ").map(|(_, of)| of))
    });
    println!("---\n{}\n---", table.join("\n"));
    let dead: Vec<String> = report
        .fates
        .iter()
        .filter(|(mutant, fate)| *fate != Fate::Survived && is_listed(mutant))
        .map(|(mutant, _)| name_of(*mutant))
        .collect();
    assert!(dead.is_empty(), "listed and killed after all:\n{}", dead.join("\n"));
    let alive: Vec<String> =
        report.survivors().filter(|mutant| !is_listed(mutant)).map(name_of).collect();
    assert!(alive.is_empty(), "nobody notices:\n{}", alive.join("\n"));
}
