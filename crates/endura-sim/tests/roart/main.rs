//! Crash states of ROART trees with arrays of four: every operation on every small start, every
//! content of the lines that the crash left open, and work that goes on afterwards.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod mutation;
mod stopped;
mod threads;

use std::collections::BTreeSet;

use endura::lab::pool::PAGE;
use endura::lab::tree::roart::Techniques;
use endura_sim::explore::Explorer;
use endura_sim::failure::Failure;
use endura_sim::model::Model;
use endura_sim::subjects::{ByteOp, Roart};
use endura_sim::tally::{Effort, Tally};
use endura_variants::roart::{Tiny, WithoutArrays};

/// Every session after a crash takes new pages, one for each size of chunk.
const LIMIT: u64 = 64 * PAGE;

type Failed = Failure<ByteOp>;

/// What is explored: each operation after each start, under one model.
struct Campaign<'a> {
    model: Model,
    effort: Effort,
    starts: &'a [&'a [&'a str]],
    operations: &'a [ByteOp],
}

impl Campaign<'_> {
    fn subject<T: Techniques>(&self) -> Roart<T> {
        let keys = self.starts.iter().flat_map(|keys| keys.iter().map(|key| key.as_bytes()));
        let of_operations = self.operations.iter().map(|op| op.about().as_slice());
        Roart::about(keys.chain(of_operations).collect::<BTreeSet<_>>())
    }

    fn run<T: Techniques>(&self) -> Result<Tally, Failed> {
        let subject = self.subject::<T>();
        let mut explorer = Explorer::new(&subject, self.model, LIMIT, self.effort, 1);
        for keys in self.starts {
            let before: Vec<_> = keys.iter().map(|key| put(key, 3)).collect();
            let start = explorer.start(&before)?;
            for op in self.operations {
                explorer.explore(&start, std::slice::from_ref(op), 0)?;
            }
        }
        Ok(explorer.tally)
    }

    /// Explores, and gives how many images there were.
    fn passes<T: Techniques>(&self) -> u64 {
        self.run::<T>().unwrap_or_else(|failure| panic!("{:?}\n{failure}", self.model)).images
    }
}

fn put(key: &str, value: u64) -> ByteOp {
    ByteOp::Put(key.as_bytes().to_vec(), value)
}

fn remove(key: &str) -> ByteOp {
    ByteOp::Remove(key.as_bytes().to_vec())
}

/// Crashes of the operation, and of the session that finds what it left.
const TWICE: Effort = Effort { exhaustive: 40, samples: 6, deep_points: 5, ..Effort::EXHAUSTIVE };
const ONCE: Effort = Effort { depth: 1, ..TWICE };

/// Everything under the weakest model, one crash under the others.
const MODELS: [(Model, Effort); 4] = [
    (Model::WEAKEST_ADR, TWICE),
    (Model::X86_ADR, ONCE),
    (Model::EADR, ONCE),
    (Model::PAGE_CACHE, ONCE),
];

const ARRAYS: [&[&str]; 6] = [
    &[],
    &["a1"],
    &["a1", "a2"],
    &["a1", "a2", "a3", "a4"],
    &["a1", "a2", "a3x", "a3y"],
    &["a", "a1", "a2", "a3", "a4"],
];

const NODES: [&[&str]; 4] = [
    &["n1", "n2", "n3", "n4", "n"],
    &["p", "pq1", "pq2", "pq3", "pq4", "pq5"],
    &["0123456789a1", "0123456789a2", "0123456789a3", "0123456789a4", "0123456789a5"],
    &["a1x", "a2", "b"],
];

#[test]
fn arrays_come_fill_split_and_go() {
    let operations = [put("a2", 77), put("a5", 12), put("a", 5), remove("a1"), remove("a")];
    let campaign = |(model, effort)| {
        Campaign { model, effort, starts: &ARRAYS, operations: &operations }.passes::<Tiny>()
    };
    let images: u64 = MODELS.map(campaign).iter().sum();
    assert!(images > 2_000, "{images} images");
}

#[test]
fn nodes_grow_split_and_collapse() {
    let operations = [put("n5", 7), remove("p"), put("0123x", 1), remove("a1x"), remove("pq1")];
    let campaign = |(model, effort)| {
        let campaign = Campaign { model, effort, starts: &NODES, operations: &operations };
        campaign.passes::<Tiny>() + campaign.passes::<WithoutArrays>()
    };
    let images: u64 = MODELS.map(campaign).iter().sum();
    assert!(images > 2_000, "{images} images");
}
