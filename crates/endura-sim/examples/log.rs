//! A log in persistent memory, the classic way to get it wrong, and the explorer that finds it:
//! `cargo run --release -p endura-sim --example log`.

use endura_engine::media::{Media, Ordering, Span};
use endura_sim::choose::Random;
use endura_sim::explore::Explorer;
use endura_sim::model::Model;
use endura_sim::sim::Sim;
use endura_sim::subject::{Finding, Subject};
use endura_sim::tally::Effort;

// 1. The structure, over any medium. Persistent words have offsets, never references.

/// The first line holds the length, the next two the records.
const RECORDS: u64 = 64;
const CAPACITY: usize = 16;

struct Log<M> {
    medium: M,
    /// Whether a record is durable before the length counts it. It has to be.
    is_ordered: bool,
}

impl<M: Media> Log<M> {
    fn length(&self) -> endura_engine::Result<Span<'_, M, 1>> {
        Span::new(&self.medium, 0)
    }

    fn records(&self) -> endura_engine::Result<Span<'_, M, CAPACITY>> {
        Span::new(&self.medium, RECORDS)
    }

    /// Appends a record and returns its place, durably; `None` if the log is full.
    fn append(&self, record: u64) -> endura_engine::Result<Option<usize>> {
        let (length, records) = (self.length()?, self.records()?);
        let place = length.load(0, Ordering::Acquire) as usize;
        if place == CAPACITY {
            return Ok(None);
        }
        records.store(place, record, Ordering::Release);
        records.flush(place, 1);
        if self.is_ordered {
            // Before the length counts the record: they lie in different lines, which reach
            // persistence in any order.
            self.medium.fence();
        }
        length.store(0, place as u64 + 1, Ordering::Release);
        length.flush(0, 1);
        // Before the caller is told.
        self.medium.drain();
        Ok(Some(place))
    }

    fn read(&self) -> endura_engine::Result<Vec<u64>> {
        let count = self.length()?.load(0, Ordering::Acquire) as usize;
        let records = self.records()?;
        Ok((0..count.min(CAPACITY)).map(|i| records.load(i, Ordering::Acquire)).collect())
    }
}

// 2. What the explorer must know: how to make a log, open, use and read it, and what a log is.

struct Logs {
    is_ordered: bool,
}

fn told<T>(result: endura_engine::Result<T>) -> Result<T, Finding> {
    result.map_err(|error| error.to_string())
}

impl Subject for Logs {
    type Open = Log<Sim>;
    /// The record to append.
    type Op = u64;
    type Answer = Option<usize>;
    type Model = Vec<u64>;

    fn create(&self, medium: Sim) -> Result<Self::Open, Finding> {
        // An empty log is all zeros, as new media are.
        told(medium.grow(RECORDS + 8 * CAPACITY as u64))?;
        self.open(medium, 1)
    }

    fn open(&self, medium: Sim, _session: u64) -> Result<Self::Open, Finding> {
        Ok(Log { medium, is_ordered: self.is_ordered })
    }

    fn empty(&self) -> Vec<u64> {
        Vec::new()
    }

    fn apply(&self, log: &Self::Open, record: &u64) -> Result<Option<usize>, Finding> {
        told(log.append(*record))
    }

    fn specify(&self, model: &mut Vec<u64>, record: &u64) -> Option<usize> {
        (model.len() < CAPACITY).then(|| {
            model.push(*record);
            model.len() - 1
        })
    }

    fn observe(&self, log: &Self::Open) -> Result<Vec<u64>, Finding> {
        told(log.read())
    }

    /// A recovered log must not only be readable: it must still work.
    fn continuation(&self, model: &Vec<u64>, _: &mut Random) -> Vec<u64> {
        vec![1_000 + model.len() as u64; 2]
    }
}

// 3. Every crash of two appends to logs of every length, on the weakest hardware that there is.

/// How many crash images were looked at, with up to `depth` crashes in a row, and the first failure,
/// made as short as it goes.
fn explore(subject: &Logs, depth: u32) -> (u64, Option<String>) {
    let effort = Effort { depth, ..Effort::EXHAUSTIVE };
    let mut explorer = Explorer::new(subject, Model::WEAKEST_ADR, 4096, effort, 1);
    let failure = (0..=CAPACITY as u64).find_map(|len| {
        let before: Vec<u64> = (1..=len).collect();
        explorer.start(&before).and_then(|start| explorer.explore(&start, &[77, 78], 0)).err()
    });
    let images = explorer.tally.images;
    (images, failure.map(|failure| explorer.shrink(failure).to_string()))
}

fn main() {
    let (images, failure) = explore(&Logs { is_ordered: true }, 2);
    assert_eq!(failure, None);
    println!("with the fence: {images} crash images, no failure");

    let (images, failure) = explore(&Logs { is_ordered: false }, 1);
    let failure = failure.unwrap_or_default();
    assert!(failure.starts_with("found [0], expected [[], [78]]"), "{failure}");
    println!("without it: {images} crash images until a failure\n{failure}");
}
