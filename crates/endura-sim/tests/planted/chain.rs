//! Two FAIR nodes and their right neighbour: how a range of keys changes hands, and who may act on
//! it when.
//!
//! A node is a header line (`low`, `high`, `sib` with a tag) and a line of values, one word for each
//! of the keys 0 to 7; a node owns `low..high` of them. L is split at 3 into L and N, and merged
//! again; R stands right of both. The faults are the traces V8 to V11 of `docs/trees.md`, which
//! exhaustive models found in a design that had been thought through: each is about two threads.
//! One splits, and stands still after a step; the other comes by.

use std::cell::Cell;

use endura_engine::media::{Media, Ordering, Span};
use endura_sim::choose::Random;
use endura_sim::sim::{Sim, act_as};
use endura_sim::subject::{Finding, Subject};

use crate::hunt::{Campaign, Hunt, words};
use crate::table::Planted;

const L: u64 = 0;
const N: u64 = 128;
const R: u64 = 256;
const LOW: usize = 0;
const HIGH: usize = 1;
const SIB: usize = 2;
const VALUES: usize = 8;
const SPLITTING: u64 = 1 << 48;
const MERGING: u64 = 2 << 48;
const OFFSET: u64 = (1 << 48) - 1;
/// Where L is split, and the end of what it owned until then.
const SEPARATOR: u64 = 3;
const END: u64 = 6;
/// What the split enters.
const NEW: u64 = 4;
const NEW_VALUE: u64 = 99;

/// The steps of a split, each a store or a flush of L's header after the first.
const COPY: u32 = 0;
const LINK: u32 = 1;
const HAND_OVER: u32 = 2;
const UNTAG: u32 = 3;
const SETTLE: u32 = 4;
const DONE: u32 = 5;

/// The chain, with a fault or without.
pub(crate) struct Chain(pub(crate) Option<Planted>);

pub(crate) struct Open {
    medium: Sim,
    /// What the splitting thread does next. Until it is done it holds L, and N from its copy on.
    next: Cell<u32>,
    /// Whether its split enters `NEW`.
    enters: Cell<bool>,
    bug: Option<Planted>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Get(u64),
    Put(u64, u64),
    /// L absorbs N, if there is one.
    Merge,
    /// A reader of this key stands still after it has read `high`; L absorbs N.
    GetAcrossMerge(u64),
    /// A writer splits L and stands still before this step; the other thread does what is said. The
    /// split enters `NEW` if that is a look; it only makes room if that is a write.
    DuringSplit(u32, Visit),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Visit {
    Get(u64),
    Put(u64, u64),
}

impl Open {
    fn has(&self, bug: Planted) -> bool {
        self.bug == Some(bug)
    }

    fn node(&self, at: u64) -> Result<Span<'_, Sim, 16>, Finding> {
        words(&self.medium, at)
    }

    fn load(&self, at: u64, word: usize) -> Result<u64, Finding> {
        Ok(self.node(at)?.load(word, Ordering::Acquire))
    }

    fn store(&self, at: u64, word: usize, value: u64) -> Result<(), Finding> {
        self.node(at)?.store(word, value, Ordering::Release);
        Ok(())
    }

    fn flush(&self, at: u64, word: usize, count: usize) -> Result<(), Finding> {
        self.node(at)?.flush(word, count);
        self.medium.fence();
        Ok(())
    }

    fn is_held(&self, at: u64) -> bool {
        self.next.get() < DONE && (at == L || at == N && !self.has(Planted::V8))
    }

    /// The node that owns `key`. After each look at a `high` that leads to the right, `meanwhile`
    /// happens.
    fn find(&self, key: u64, reads: bool, mut meanwhile: impl FnMut()) -> Result<u64, Finding> {
        let mut at = L;
        loop {
            let high = self.load(at, HIGH)?;
            if key < high {
                return Ok(at);
            }
            meanwhile();
            let sibling = self.load(at, SIB)? & OFFSET;
            if self.load(at, HIGH)? != high && !self.has(Planted::V10) {
                continue;
            }
            if reads && self.is_held(at) && !self.has(Planted::V9) {
                // The answer depends on a `high` that its writer may not have made durable yet.
                self.node(at)?.help_flush(LOW, 3);
            }
            at = sibling;
        }
    }

    fn get(&self, key: u64) -> Result<u64, Finding> {
        self.load(self.find(key, true, || ())?, VALUES + key as usize)
    }

    /// Waits for a lock, then for nothing: whoever holds it goes on.
    fn put(&self, key: u64, value: u64) -> Result<(), Finding> {
        let mut at = self.find(key, false, || ())?;
        if self.is_held(at) {
            self.go_on(DONE)?;
            at = self.find(key, false, || ())?;
        }
        self.repair(at)?;
        self.store(at, VALUES + key as usize, value)?;
        self.flush(at, VALUES, 8)
    }

    /// The splitting thread goes on until it stands before `step`.
    fn go_on(&self, step: u32) -> Result<(), Finding> {
        act_as(1);
        let went = (self.next.get()..step).try_for_each(|step| self.split(step));
        act_as(0);
        self.next.set(step);
        went
    }

    fn split(&self, step: u32) -> Result<(), Finding> {
        match step {
            COPY => {
                self.repair(L)?;
                let after = self.load(L, SIB)?;
                [SEPARATOR, END, after]
                    .into_iter()
                    .enumerate()
                    .try_for_each(|(word, value)| self.store(N, word, value))?;
                for key in SEPARATOR..END {
                    let word = VALUES + key as usize;
                    let is_new = key == NEW && self.enters.get();
                    let value = if is_new { NEW_VALUE } else { self.load(L, word)? };
                    self.store(N, word, value)?;
                }
                self.flush(N, LOW, 16)
            }
            LINK => self.store(L, SIB, N | SPLITTING),
            HAND_OVER => self.store(L, HIGH, SEPARATOR),
            UNTAG => self.store(L, SIB, N),
            _ => self.flush(L, LOW, 3),
        }
    }

    fn merge(&self) -> Result<(), Finding> {
        self.repair(L)?;
        if self.load(L, SIB)? != N {
            return Ok(());
        }
        for word in SEPARATOR as usize..END as usize {
            self.store(L, VALUES + word, self.load(N, VALUES + word)?)?;
        }
        self.flush(L, VALUES, 8)?;
        self.store(L, SIB, N | MERGING)?;
        self.store(L, HIGH, END)?;
        self.store(L, SIB, self.load(N, SIB)?)?;
        self.flush(L, LOW, 3)
    }

    /// Ends what a crash interrupted. A split that had not handed its range over is taken back:
    /// readers have answered from the old state.
    fn repair(&self, at: u64) -> Result<(), Finding> {
        let sibling = self.load(at, SIB)?;
        let high = self.load(at, HIGH)?;
        let stays = match sibling & !OFFSET {
            SPLITTING if self.has(Planted::V11) => {
                self.store(at, HIGH, SEPARATOR)?;
                true
            }
            SPLITTING => high == SEPARATOR,
            MERGING => high != END,
            _ => return Ok(()),
        };
        self.store(at, SIB, if stays { N } else { self.load(N, SIB)? })?;
        self.flush(at, LOW, 3)
    }
}

impl Subject for Chain {
    type Open = Open;
    type Op = Op;
    type Answer = u64;
    type Model = [u64; 8];

    fn create(&self, medium: Sim) -> Result<Open, Finding> {
        medium.grow(4096).map_err(|error| error.to_string())?;
        let open = self.open(medium, 1)?;
        for (at, node) in [(L, [0, END, R]), (R, [END, 8, 0])] {
            for (word, value) in node.into_iter().enumerate() {
                open.store(at, word, value)?;
            }
            for key in node[LOW]..node[HIGH] {
                open.store(at, VALUES + key as usize, self.empty()[key as usize])?;
            }
            open.flush(at, LOW, 16)?;
        }
        Ok(open)
    }

    fn open(&self, medium: Sim, _: u64) -> Result<Open, Finding> {
        Ok(Open { medium, next: Cell::new(DONE), enters: Cell::new(true), bug: self.0 })
    }

    /// All keys but `NEW` are there; 0 is no value.
    fn empty(&self) -> Self::Model {
        [10, 11, 12, 13, 0, 15, 16, 17]
    }

    fn apply(&self, open: &Open, op: &Op) -> Result<u64, Finding> {
        match *op {
            Op::Get(key) => return open.get(key),
            Op::Put(key, value) => open.put(key, value)?,
            Op::Merge => open.merge()?,
            Op::GetAcrossMerge(key) => {
                let mut merged = Ok(());
                let at = open.find(key, true, || merged = open.merge())?;
                merged?;
                return open.load(at, VALUES + key as usize);
            }
            Op::DuringSplit(step, visit) => {
                open.next.set(COPY);
                open.enters.set(matches!(visit, Visit::Get(_)));
                open.go_on(step)?;
                match visit {
                    Visit::Get(key) => return open.get(key),
                    Visit::Put(key, value) => open.put(key, value)?,
                }
            }
        }
        Ok(0)
    }

    fn specify(&self, model: &mut Self::Model, op: &Op) -> u64 {
        match *op {
            Op::Get(key) | Op::GetAcrossMerge(key) => model[key as usize],
            Op::Put(key, value) | Op::DuringSplit(_, Visit::Put(key, value)) => {
                model[key as usize] = value;
                0
            }
            Op::Merge => 0,
            Op::DuringSplit(step, Visit::Get(key)) => {
                if step > HAND_OVER {
                    model[NEW as usize] = NEW_VALUE;
                }
                model[key as usize]
            }
        }
    }

    fn observe(&self, open: &Open) -> Result<Self::Model, Finding> {
        let mut found = [0; 8];
        for key in 0..8 {
            found[key as usize] = open.get(key)?;
        }
        Ok(found)
    }

    fn continuation(&self, _: &Self::Model, _: &mut Random) -> Vec<Op> {
        vec![Op::Put(1, 21), Op::Merge, Op::Put(5, 25), Op::Get(NEW)]
    }
}

/// A split that stands still before each of its steps while each key is read or written; merges.
pub(crate) fn hunt(bug: Option<Planted>) -> Hunt {
    let visits = [Visit::Get(NEW), Visit::Get(5), Visit::Put(1, 31), Visit::Put(5, 35)];
    let whole = Op::DuringSplit(DONE, Visit::Get(NEW));
    let during =
        (LINK..=SETTLE).flat_map(|step| visits.map(|visit| vec![Op::DuringSplit(step, visit)]));
    let merges = [Op::Merge, Op::GetAcrossMerge(5), Op::GetAcrossMerge(7)];
    let merges = merges.map(|merge| vec![whole, merge]);
    Campaign::of(&[whole, Op::Put(5, 35)]).and(during).and(merges).hunt(&Chain(bug), None)
}
