//! Long random histories of small ROART trees, as `random` has them: nodes and arrays come, grow, shrink and
//! go all the time, with up to four crashes in a row.

use endura::lab::pool::PAGE;
use endura::lab::tree::roart::Techniques;
use endura_sim::explore::Explorer;
use endura_sim::model::Model;
use endura_sim::subjects::{ByteOp, MapOp, Roart};
use endura_sim::workload::{NUMBER_KEY, Workload};
use endura_variants::roart::{Tiny, WithoutArrays};

use crate::jobs::{self, GUARD, Outcome};
use crate::radix::STEPS;
use crate::random;

/// Every session after a crash takes new pages, one for each size of chunk.
const LIMIT: u64 = 96 * PAGE;

/// Operations of a history.
const OPS: usize = 12;

/// What key number `i` of a workload stands for: keys in one array or node, each a prefix of the next, with
/// fourteen bytes in common, with a part of them, with none.
fn spell(i: usize) -> Vec<u8> {
    let (deep, n) = (b"0123456789abcd".as_slice(), i / 5);
    match i % 5 {
        0 => vec![b'k', b'0' + n as u8],
        1 => vec![b'n'; 1 + n],
        2 => [deep, &[b'a' + n as u8]].concat(),
        3 => [&deep[..1 + n], b"!"].concat(),
        _ => vec![b'A' + n as u8],
    }
}

fn explore<T: Techniques>(model: Model, number: u64, keys: u64) -> Outcome {
    let Workload { keys, before, ops } = Workload::new(number, keys, OPS);
    let key = |key: u64| match keys.binary_search(&key) {
        Ok(i) if key != NUMBER_KEY => spell(i),
        _ => b"number".to_vec(),
    };
    let spelled = |ops: Vec<MapOp>| -> Vec<ByteOp> {
        let of = |op| match op {
            MapOp::Put(of, value) => ByteOp::Put(key(of), value),
            MapOp::Remove(of) => ByteOp::Remove(key(of)),
        };
        ops.into_iter().map(of).collect()
    };
    let subject = Roart::<T>::about(keys.iter().map(|&of| key(of)));
    let (before, ops) = (spelled(before), spelled(ops));
    let mut explorer = Explorer::new(&subject, model, LIMIT, random::EFFORT, number);
    let told = |failure| format!("{failure}");
    let start = explorer.start(&before).map_err(told)?;
    explorer.explore(&start, &ops, 0).map_err(told)?;
    Ok(explorer.tally)
}

const SHAPES: &[random::Shape] = &[
    ("arrays of four, 12 keys", explore::<Tiny>, 5),
    ("arrays of four, 30 keys", explore::<Tiny>, 23),
    ("without arrays, 12 keys", explore::<WithoutArrays>, 5),
    ("without arrays, 30 keys", explore::<WithoutArrays>, 23),
];

/// What takes two kills in a row is seldom: `radix` crosses it.
fn often() -> Vec<&'static str> {
    STEPS.into_iter().filter(|step| *step != "prune").collect()
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn crashes_of_random_histories_of_radix_trees_without_end() {
    let given = std::env::var("ENDURA_SIM_SEED").ok().and_then(|text| text.parse().ok());
    let first = given.unwrap_or(1);
    let report = jobs::run(random::jobs(SHAPES, first..), jobs::budget(), &often());
    let seeds = report.done.div_ceil(4 * SHAPES.len() as u64);
    report.assert_clean(&often());
    let images = report.sum(None).images;
    println!("seeds {first} to {}: {images} distinct images", first + seeds - 1);
}

#[test]
fn crashes_of_random_histories_of_radix_trees() {
    let report = jobs::run(random::jobs(&SHAPES[..1], 1..8), GUARD, &[]);
    report.assert_clean(&[]);
    assert!(report.sum(None).images > 1_000);
}
