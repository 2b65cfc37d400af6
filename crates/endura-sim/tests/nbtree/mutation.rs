//! Every flush, fence, drain, store, exchange and `Release` of the NBTree is faulted in turn, and a part of
//! a campaign must notice. `killers.txt` says which part notices what; `listed.txt` what none can, and why.
//!
//! The quick test runs the recorded part with each fault, and all recorded parts without one. The long
//! one looks for each fault in all parts and prints the table:
//!
//! ```text
//! cargo test --release -p endura-sim --test nbtree -- --ignored --nocapture everything_anew
//! ```

mod after;
mod parts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use endura_sim::mutant::Mutant;
use endura_sim::mutate::{Calls, Fate, Report, judge, name};
use endura_sim::subject::{Finding, guarded};

use parts::Part;

/// The second halves of the lines of a table, with the first. Read when it is needed, not built in.
fn table(file: &str) -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nbtree").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let pairs = text.lines().filter_map(|line| line.split_once(" | "));
    pairs.map(|(by, of)| (of.to_owned(), by.to_owned())).collect()
}

/// Which part notices what.
fn killers() -> BTreeMap<String, String> {
    table("killers.txt")
}

/// What nothing can find, and why. It must not grow.
fn listed() -> BTreeMap<String, String> {
    table("listed.txt")
}

fn name_of(mutant: Mutant) -> String {
    name(mutant, &Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// What parts call of the tree. None of them finds anything where nothing is at fault.
fn sound(parts: &[Part]) -> Calls {
    let (next, all) = (Mutex::new(parts.iter()), Mutex::new(Calls::default()));
    let work = || {
        while let Some(part) = { next.lock().unwrap().next() } {
            let mut calls = Some(Calls::default());
            part.run(None, &mut calls).unwrap_or_else(|found| panic!("{part}, sound: {found}"));
            let mut calls = calls.unwrap();
            let is_meant = |file: &str| file.contains("tree/nbtree/");
            calls.made.retain(|call, _| is_meant(call.site.file()));
            calls.releases.retain(|call| is_meant(call.site.file()));
            all.lock().unwrap().add(calls);
        }
    };
    thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(work)));
    all.into_inner().unwrap()
}

fn noticed(part: &Part, mutant: Mutant) -> Option<(String, Finding)> {
    let run = || part.run(Some(mutant), &mut None);
    guarded(run).err().map(|finding| (part.to_string(), finding))
}

fn assert_all_killed(report: &Report) {
    let alive: Vec<String> = report.survivors().map(name_of).collect();
    assert!(alive.is_empty(), "nobody notices:\n{}", alive.join("\n"));
}

#[test]
fn what_is_not_listed_is_killed() {
    let (killers, reasons, all) = (killers(), listed(), parts::all());
    let by_name = |by: &str| *all.iter().find(|part| part.to_string() == by).expect("a part");
    let used: BTreeSet<&String> = killers.values().collect();
    let used: Vec<Part> = used.into_iter().map(|by| by_name(by)).collect();
    let calls = sound(&used);
    let (listed, tried): (Vec<Mutant>, Vec<Mutant>) =
        calls.mutants().partition(|mutant| reasons.contains_key(&name_of(*mutant)));
    let (tried, open): (Vec<Mutant>, Vec<Mutant>) =
        tried.into_iter().partition(|mutant| killers.contains_key(&name_of(*mutant)));
    let report =
        judge(&tried, 2, |mutant| noticed(&by_name(killers.get(&name_of(mutant))?), mutant));
    println!("{report}and {} are listed, {} open:", listed.len(), open.len());
    open.iter().for_each(|mutant| println!("open      {}", name_of(*mutant)));
    assert_all_killed(&report);
    let there: BTreeSet<String> = calls.mutants().map(name_of).collect();
    let gone: Vec<&String> =
        killers.keys().chain(reasons.keys()).filter(|name| !there.contains(*name)).collect();
    assert!(gone.is_empty(), "in a table and not there: {gone:#?}");
    assert!(10 * listed.len() <= there.len(), "more than a tenth is listed");
    assert!(open.is_empty(), "{} that nothing is known to notice", open.len());
}

#[test]
#[ignore = "looks for everything anew"]
fn everything_anew() {
    let all = parts::all();
    let calls = sound(&all);
    let mutants: Vec<Mutant> = calls.mutants().collect();
    println!("{} mutants, {} parts", mutants.len(), all.len());
    let (killers, reasons) = (killers(), listed());
    let report = judge(&mutants, 2, |mutant| {
        let before = killers.get(&name_of(mutant));
        let known = before.and_then(|by| all.iter().find(|part| part.to_string() == *by));
        let found = known.into_iter().chain(&all).find_map(|part| noticed(part, mutant));
        println!("{} | {}", found.as_ref().map_or("NOBODY", |(by, _)| by), name_of(mutant));
        found
    });
    let mut table: Vec<(String, String)> = Vec::new();
    for (mutant, fate) in &report.fates {
        if let Fate::Killed { by, .. } = fate {
            table.push((name_of(*mutant), by.clone()));
        }
    }
    table.sort();
    println!("{report}---");
    table.iter().for_each(|(of, by)| println!("{by} | {of}"));
    println!("---");
    let dead: Vec<_> = table.iter().filter(|(of, _)| reasons.contains_key(of)).collect();
    assert!(dead.is_empty(), "listed and killed after all: {dead:#?}");
    let mut alive: Vec<String> = report.survivors().map(name_of).collect();
    alive.retain(|name| !reasons.contains_key(name));
    assert!(alive.is_empty(), "nobody notices:\n{}", alive.join("\n"));
}
