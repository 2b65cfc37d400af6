//! Power losses, kills and errors at every step of a round.

use std::collections::BTreeSet;

use super::disk::{Losing, Mutant};
use super::model::{Model, open};
use super::random::Random;
use crate::checkpoint::file::root::{ROOTS, SLOT};
use crate::checkpoint::file::runs::slots_of;
use crate::checkpoint::file::{CheckpointFile, Failure};

/// What may go wrong besides a loss of power.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Troubles {
    /// Processes are killed, and the next one finds what is in the page cache.
    kills: bool,
    /// Single calls fail.
    errors: bool,
    mutant: Option<Mutant>,
}

/// Makes rounds and cuts the power at moments of every kind. Returns what was found wrong.
fn lose_power(seed: u64, troubles: Troubles) -> Option<String> {
    lose_power_with(seed, troubles, &mut BTreeSet::new())
}

/// The same; also adds the mutants of the calls that it made.
fn lose_power_with(
    seed: u64,
    troubles: Troubles,
    mutants: &mut BTreeSet<Mutant>,
) -> Option<String> {
    let mut random = Random(seed);
    let (mut disk, mut kept) = (Losing::ending_at(random.below(60)), Model::default());
    // The models that the disk may hold in place of `kept`.
    let mut others: Vec<Model> = Vec::new();
    for life in 0..16 {
        {
            let mut state = disk.0.lock();
            (state.mutant, state.chance) = (troubles.mutant, random.next());
            if troubles.errors && random.below(2) == 0 {
                state.fails = Some((1 + random.below(30), random.below(2) == 0));
            }
        }
        let mut file = match open(disk.clone()) {
            Ok(file) => file,
            Err(failure) => return Some(format!("life {life}: {failure:?}")),
        };
        others.push(kept);
        let Some(found) = others.iter().position(|model| model.is_in(&file)) else {
            return Some(format!("life {life}: {:?} is none of {others:?}", file.newest()));
        };
        kept = others.swap_remove(found);
        if !troubles.kills {
            others.clear();
        }
        if let Err(wrong) =
            write_until_the_end(&mut file, &disk, &mut kept, &mut others, &mut random)
        {
            return Some(format!("life {life}: {wrong}"));
        }
        mutants.append(&mut disk.0.lock().mutants);
        let ends_at = random.below(60);
        disk = match troubles.kills && random.below(2) == 0 {
            true => disk.kill(ends_at),
            false => disk.cut(&mut random, ends_at),
        };
    }
    None
}

/// Makes rounds until the power ends, or the file is given up. `kept` is the last model that was whole then, and
/// `others` has the one of the round that was interrupted.
fn write_until_the_end(
    file: &mut CheckpointFile<Losing>,
    disk: &Losing,
    kept: &mut Model,
    others: &mut Vec<Model>,
    random: &mut Random,
) -> Result<(), &'static str> {
    let must = |holds: bool, what| if holds { Ok(()) } else { Err(what) };
    loop {
        let mut next = kept.clone();
        let changed = next.change(random);
        if random.below(4) == 0 {
            next.write_in_vain(file, random);
            must(kept.is_in(file), "a round that was dropped has changed something")?;
        }
        let mut done = next.write_in_parts(file, &changed, random);
        if let Err(failure) = &done {
            must(kept.is_in(file), "a round that failed has changed something")?;
            let is_given_up = matches!(failure, Failure::GivenUp(_));
            done = next.write_in_parts(file, &changed, random);
            let is_refused = matches!(done, Err(Failure::GivenUp(_)));
            must(!is_given_up || is_refused, "written to after it was given up")?;
            if done.is_err() && (is_given_up || disk.has_ended()) {
                others.push(next);
                return Ok(());
            }
        }
        if done.is_ok() {
            *kept = next;
            others.clear();
        }
        let runs = file.root.iter().flat_map(|root| &root.runs);
        let runs = runs.map(|run| slots_of(run.entries)).sum::<u32>();
        let count = u64::from(ROOTS + runs + file.table.count());
        must(file.bytes() == count * SLOT as u64, "slots that no root names are in use")?;
    }
}

const KINDS: [Troubles; 3] = [
    POWER_ONLY,
    Troubles { kills: true, ..POWER_ONLY },
    Troubles { kills: true, errors: true, ..POWER_ONLY },
];

const POWER_ONLY: Troubles = Troubles { kills: false, errors: false, mutant: None };

#[test]
fn a_power_loss_leaves_the_last_checkpoint_or_the_one_under_way() {
    for seed in 0..1_500 {
        assert_eq!(lose_power(seed, POWER_ONLY), None, "seed {seed}");
    }
}

/// The next process finds a root that may not be durable, and pages of the root before that it may not overwrite yet.
#[test]
fn so_does_one_after_kills() {
    for seed in 0..1_500 {
        assert_eq!(lose_power(seed, Troubles { kills: true, ..POWER_ONLY }), None, "seed {seed}");
    }
}

/// Calls fail, having done nothing or all of their work. After a failed sync no process knows what is durable, not even
/// the next one.
#[test]
fn so_does_one_after_errors() {
    for seed in 0..3_000 {
        let troubles = Troubles { kills: seed % 2 == 0, errors: true, mutant: None };
        assert_eq!(lose_power(seed, troubles), None, "seed {seed}");
    }
}

/// The last calls of a round fail, one at a time, having done nothing, all, or a part. Then this process or the next
/// one tries another round, of all pages or of one that is zeros, and the power ends at each of its calls. Returns what
/// was found wrong.
fn fail_at_the_end(mutant: Option<Mutant>, mutants: &mut BTreeSet<Mutant>) -> Option<String> {
    let mut random = Random(11);
    let model = |round: u64| {
        let bytes = (0..4).map(|page| (page, round as u8)).collect();
        Model { pages: 4, round, bytes }
    };
    let cases = (0..40).flat_map(|_| (3..6).flat_map(|call| (0..9).map(move |end| (call, end))));
    for (call, ends_at) in cases {
        let (mut models, all) = ([1, 2, 3].map(model), [0, 1, 2, 3]);
        let is_of_zeros = random.below(3) == 0;
        let disk = Losing::ending_at(u64::MAX);
        disk.0.lock().mutant = mutant;
        let mut file = open(disk.clone()).unwrap();
        models[0].write(&mut file, &all).unwrap();
        {
            let mut state = disk.0.lock();
            state.chance = random.next();
            state.fails = Some((state.calls + call, random.below(2) == 0));
        }
        assert!(models[1].write(&mut file, &all).is_err());
        let disk = if random.below(2) == 0 {
            let calls = disk.0.lock().calls;
            disk.0.lock().ends_at = calls + ends_at;
            disk
        } else {
            let disk = disk.kill(ends_at);
            disk.0.lock().mutant = mutant;
            file = open(disk.clone()).unwrap();
            disk
        };
        if is_of_zeros {
            let found = usize::from(models[1].is_in(&file));
            models[2] = Model { round: 3, ..models[found].clone() };
            models[2].bytes.insert(0, 0);
        }
        let _ = models[2].write(&mut file, if is_of_zeros { &all[..1] } else { &all });
        mutants.append(&mut disk.0.lock().mutants);
        let found = open(disk.cut(&mut random, 0)).ok();
        if !found.is_some_and(|found| models.iter().any(|model| model.is_in(&found))) {
            return Some(format!("call {call}, end {ends_at}"));
        }
    }
    None
}

#[test]
fn a_round_that_fails_at_its_end_damages_nothing() {
    assert_eq!(fail_at_the_end(None, &mut BTreeSet::new()), None);
}

/// Then only the root is written, and a part of it may be all that there is.
#[test]
fn the_first_round_may_have_no_pages() {
    let (mut random, model) = (Random(1), Model { pages: 9, round: 1, ..Model::default() });
    for ends_at in (0..6).cycle().take(600) {
        let disk = Losing::ending_at(ends_at);
        let done = model.write(&mut open(disk.clone()).unwrap(), &[]);
        let found = open(disk.cut(&mut random, 0)).unwrap();
        assert!(model.is_in(&found) || (done.is_err() && found.newest().is_none()));
    }
}

/// Returns where the mutant was noticed first.
fn noticed(mutant: Mutant) -> Option<String> {
    let at_the_end = || fail_at_the_end(Some(mutant), &mut BTreeSet::new());
    let lost = |seed: u64| {
        let troubles = Troubles { mutant: Some(mutant), ..KINDS[seed as usize % KINDS.len()] };
        lose_power(seed, troubles).map(|wrong| format!("seed {seed}, {wrong}"))
    };
    (0..90).find_map(lost).or_else(at_the_end).or_else(|| (90..900).find_map(lost))
}

/// Three kinds of mutants must be noticed, for every call of a round: a sync that does nothing, a write that takes
/// effect after the sync that has to cover it, and a sync that takes effect after the write that has to wait for it.
/// Two writes between two syncs have no order.
#[test]
fn each_sync_and_each_order_is_needed() {
    let mut mutants = BTreeSet::new();
    assert_eq!(fail_at_the_end(None, &mut mutants), None);
    for seed in 0..90 {
        let troubles = KINDS[seed as usize % KINDS.len()];
        assert_eq!(lose_power_with(seed, troubles, &mut mutants), None);
    }
    let syncs = mutants.iter().filter(|mutant| matches!(mutant, Mutant::Without(_))).count();
    assert!(syncs == 3 && mutants.len() >= 12, "{mutants:?}");
    for &mutant in &mutants {
        let noticed = noticed(mutant);
        println!("{mutant:?}: {:.40}", noticed.as_deref().unwrap_or("not noticed"));
        assert!(noticed.is_some(), "{mutant:?} is not noticed");
    }
}
