//! Two maps of each pair of kinds beside two models: batches with and without conditions, transactions, and opens between
//! them.

use std::collections::BTreeMap;

use endura::{Error, Pool};

use crate::maps::{KINDS, Numbers, Random};

type Model = [BTreeMap<u64, u64>; 2];

fn step(pool: &Pool, maps: &[Numbers; 2], model: &mut Model, random: &mut Random) {
    let mut batch = pool.batch();
    let (mut changed, mut unmet) = (model.clone(), None);
    let most = if random.below(20) == 0 { 300 } else { 12 };
    let parts = 1 + random.below(most);
    for index in 0..parts as usize {
        let (map, key) = (random.below(2) as usize, random.below(400));
        match random.below(8) {
            0 => {
                let right = model[map].get(&key).copied();
                let expected = match random.below(12) {
                    0 => Some(random.below(9)),
                    1 => None,
                    _ => right,
                };
                maps[map].expect_in(&mut batch, key, expected);
                if expected != right {
                    unmet.get_or_insert(index);
                }
            }
            1 | 2 => {
                maps[map].set_in(&mut batch, key, None).unwrap();
                changed[map].remove(&key);
            }
            _ => {
                let value = random.below(1 << 40);
                maps[map].set_in(&mut batch, key, Some(value)).unwrap();
                changed[map].insert(key, value);
            }
        }
    }
    assert_eq!(batch.len(), parts as usize);
    match (batch.commit(), unmet) {
        (Ok(()), None) => {
            *model = changed;
            assert!(batch.is_empty());
        }
        (Err(Error::Unmet { index }), Some(first)) => {
            assert_eq!(index, first);
            assert_eq!(batch.len(), parts as usize, "a batch that fails stays as it was");
        }
        other => panic!("{other:?}"),
    }
}

/// Moves an amount from a key of one map to one of the other.
fn transfer(pool: &Pool, maps: &[Numbers; 2], model: &mut Model, random: &mut Random) {
    let (from, to, amount) = (random.below(400), random.below(400), random.below(1_000));
    let moved = pool
        .transact(|tx| {
            let left = maps[0].get_in(tx, from)?.unwrap_or(0);
            if left < amount {
                return Ok(false);
            }
            maps[0].put_in(tx, from, left - amount)?;
            // Reads its own writes.
            assert_eq!(maps[0].get_in(tx, from)?, Some(left - amount));
            let had = maps[1].get_in(tx, to)?.unwrap_or(0);
            maps[1].put_in(tx, to, had.wrapping_add(amount))?;
            Ok(true)
        })
        .unwrap();
    let left = model[0].get(&from).copied().unwrap_or(0);
    assert_eq!(moved, left >= amount);
    if moved {
        model[0].insert(from, left - amount);
        *model[1].entry(to).or_default() += amount;
    }
}

fn expect(maps: &[Numbers; 2], model: &Model) {
    for (map, model) in maps.iter().zip(model) {
        assert!(map.all().into_iter().eq(model.iter().map(|(&key, &value)| (key, value))));
        assert_eq!(map.map.len().unwrap(), model.len());
    }
}

#[test]
fn two_maps_are_what_two_models_are() {
    let folder = tempfile::tempdir().unwrap();
    for first in 0..KINDS.len() {
        for second in 0..KINDS.len() {
            let path = folder.path().join(format!("{first}{second}"));
            let mut random = Random((first * 7 + second + 1) as u64);
            let mut model = Model::default();
            for _ in 0..3 {
                let pool = Pool::open(&path).unwrap();
                let maps = [(0, first), (1, second)]
                    .map(|(i, kind): (u32, usize)| Numbers::open(&pool, &i.to_string(), kind));
                expect(&maps, &model);
                for round in 0..60 {
                    step(&pool, &maps, &mut model, &mut random);
                    transfer(&pool, &maps, &mut model, &mut random);
                    if round % 20 == 0 {
                        expect(&maps, &model);
                    }
                }
                expect(&maps, &model);
                pool.verify().unwrap();
                pool.close().unwrap();
            }
        }
    }
}
