//! Power losses, kills and errors at every step of a round.

use super::disk::Losing;
use super::model::{Model, open};
use super::random::Random;
use crate::pool::checkpoint::file::root::{ROOTS, SLOT};
use crate::pool::checkpoint::file::runs::slots_of;
use crate::pool::checkpoint::file::{CheckpointFile, Failure};

/// What may go wrong beside a loss of power.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Troubles {
    /// Processes are killed, and the next one finds what is in the page cache.
    kills: bool,
    /// Single calls fail.
    errors: bool,
    /// A sync that does nothing: `true` for that of a root.
    skips: Option<bool>,
}

/// Rounds and power losses, at every kind of moment. What was found wrong.
fn lose_power(seed: u64, troubles: Troubles) -> Option<String> {
    let mut random = Random(seed);
    let (mut disk, mut kept) = (Losing::ending_at(random.below(60)), Model::default());
    // What the disk may hold in place of `kept`.
    let mut others: Vec<Model> = Vec::new();
    for life in 0..16 {
        {
            let mut state = disk.0.lock();
            (state.skips, state.chance) = (troubles.skips, random.next());
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
        let ends_at = random.below(60);
        disk = match troubles.kills && random.below(2) == 0 {
            true => disk.kill(ends_at),
            false => disk.cut(&mut random, ends_at),
        };
    }
    None
}

/// Rounds until the power ends, or the file is given up. `kept` is the last one that was whole then, and `others` has the
/// one that was under way.
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

const POWER_ONLY: Troubles = Troubles { kills: false, errors: false, skips: None };

#[test]
fn a_power_loss_leaves_the_last_checkpoint_or_the_one_under_way() {
    for seed in 0..1_500 {
        assert_eq!(lose_power(seed, POWER_ONLY), None, "seed {seed}");
    }
}

/// The next process finds a root that may not be durable, and pages of the one before that it may not write over yet.
#[test]
fn so_does_one_after_kills() {
    for seed in 0..1_500 {
        assert_eq!(lose_power(seed, Troubles { kills: true, ..POWER_ONLY }), None, "seed {seed}");
    }
}

/// Calls fail, having done nothing or all; after a sync that failed nobody knows what is durable, also in the next process.
#[test]
fn so_does_one_after_errors() {
    for seed in 0..3_000 {
        let troubles = Troubles { kills: seed % 2 == 0, errors: true, skips: None };
        assert_eq!(lose_power(seed, troubles), None, "seed {seed}");
    }
}

/// The last calls of a round fail, one at a time, having done nothing, all, or a part; then this process or the next one tries
/// another round, and the power ends at each of its calls.
#[test]
fn a_round_that_fails_at_its_end_damages_nothing() {
    let mut random = Random(11);
    let model = |round: u64| {
        let bytes = (0..4).map(|page| (page, round as u8)).collect();
        Model { pages: 4, round, bytes }
    };
    let cases = (0..40).flat_map(|_| (3..6).flat_map(|call| (0..9).map(move |end| (call, end))));
    for (call, ends_at) in cases {
        let (models, all) = ([1, 2, 3].map(model), [0, 1, 2, 3]);
        let disk = Losing::ending_at(u64::MAX);
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
            let _ = models[2].write(&mut file, &all);
            disk
        } else {
            let disk = disk.kill(ends_at);
            let _ = models[2].write(&mut open(disk.clone()).unwrap(), &all);
            disk
        };
        let found = open(disk.cut(&mut random, 0)).unwrap();
        assert!(models.iter().any(|model| model.is_in(&found)), "call {call}, end {ends_at}");
    }
}

/// Then nothing but the root is written: a part of it may be all that there is.
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

/// Without the sync of the pages, or without that of the root, it shows.
#[test]
fn each_sync_is_needed() {
    for is_of_root in [false, true] {
        let troubles = Troubles { skips: Some(is_of_root), ..POWER_ONLY };
        let finds = (0..300).filter(|&seed| lose_power(seed, troubles).is_some()).count();
        assert!(finds > 10, "without that of a root, {is_of_root}: {finds}");
    }
}
