//! What one thread passes on its way while another one stands in the middle of a change, in a radix tree:
//! the traces V12 and V13 of `docs/trees.md`.
//!
//! | line | word |
//! | --- | --- |
//! | 0 | what leads to the key 1: nothing, its record, an array |
//! | 1 | whether the key 1 is in the array |
//! | 2 | whether the node has a child |
//! | 3 | whether the index of the node says so; it means nothing after a crash |

use std::cell::Cell;

use endura_engine::media::{Media, Ordering};
use endura_sim::choose::Random;
use endura_sim::sim::Sim;
use endura_sim::subject::{Finding, Subject};

use crate::hunt::{Campaign, Hunt, words};
use crate::table::Planted;

const LINK: u64 = 0;
const ARRAY: u64 = 64;
const CHILD: u64 = 128;
const INDEX: u64 = 192;

const RECORD: u64 = 1;
const IN_ARRAY: u64 = 2;

/// The tree, with a fault or without.
pub(crate) struct Passing(pub(crate) Option<Planted>);

pub(crate) struct Open {
    medium: Sim,
    bug: Option<Planted>,
    /// Whether a writer has locked the node in this session: readers use the index from then on.
    is_ready: Cell<bool>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// Enters the key 1.
    Enter,
    /// Another thread puts an array with another key in the place of the record, and stands before its
    /// flush.
    Pair,
    /// It goes on.
    Settle,
    /// Takes the key 1 out.
    Remove,
    /// Does the first of the two stores that a new child of the node takes, and stands.
    Begin,
    /// It goes on.
    End,
    /// A reader that came before the node was ready, and then one that came after.
    Look,
}

use Op::{Begin, End, Enter, Look, Pair, Remove, Settle};

impl Open {
    fn load(&self, at: u64) -> Result<u64, Finding> {
        Ok(words::<1>(&self.medium, at)?.load(0, Ordering::Acquire))
    }

    fn store(&self, at: u64, value: u64) -> Result<(), Finding> {
        words::<1>(&self.medium, at)?.store(0, value, Ordering::Release);
        Ok(())
    }

    fn flush(&self, at: u64) -> Result<(), Finding> {
        words::<1>(&self.medium, at)?.flush(0, 1);
        self.medium.fence();
        Ok(())
    }

    fn commit(&self, at: u64, value: u64) -> Result<(), Finding> {
        self.store(at, value)?;
        self.flush(at)
    }

    fn has_key(&self) -> Result<bool, Finding> {
        Ok(match self.load(LINK)? {
            IN_ARRAY => self.load(ARRAY)? != 0,
            link => link == RECORD,
        })
    }

    fn remove(&self) -> Result<(), Finding> {
        if self.load(LINK)? != IN_ARRAY {
            return self.commit(LINK, 0);
        }
        if self.bug != Some(Planted::V12) {
            // Before anything is acknowledged that lies behind this word.
            self.flush(LINK)?;
        }
        self.commit(ARRAY, 0)
    }

    /// The two stores of a new child, in the order in which they must be made.
    fn half_of_a_child(&self, is_first: bool) -> Result<(), Finding> {
        if is_first && !self.is_ready.replace(true) {
            self.store(INDEX, self.load(CHILD)?)?;
        }
        match is_first == (self.bug != Some(Planted::V13)) {
            true => self.store(INDEX, 1),
            false => self.commit(CHILD, 1),
        }
    }

    fn look(&self) -> Result<(), Finding> {
        let by_search = self.load(CHILD)? != 0;
        let by_index = match self.is_ready.get() {
            true => self.load(INDEX)? != 0 && self.load(CHILD)? != 0,
            false => by_search,
        };
        match by_search && !by_index {
            true => Err("a reader sees a child that the next one misses".to_owned()),
            false => Ok(()),
        }
    }
}

impl Subject for Passing {
    type Open = Open;
    type Op = Op;
    type Answer = ();
    /// Whether the key 1 is there.
    type Model = bool;

    fn create(&self, medium: Sim) -> Result<Open, Finding> {
        medium.grow(4096).map_err(|error| error.to_string())?;
        self.open(medium, 1)
    }

    fn open(&self, medium: Sim, _: u64) -> Result<Open, Finding> {
        Ok(Open { medium, bug: self.0, is_ready: Cell::new(false) })
    }

    fn empty(&self) -> bool {
        false
    }

    fn apply(&self, open: &Open, op: &Op) -> Result<(), Finding> {
        match op {
            Enter if open.load(LINK)? == IN_ARRAY => open.commit(ARRAY, 1),
            Enter => open.commit(LINK, RECORD),
            Pair if open.load(LINK)? == RECORD => {
                open.commit(ARRAY, 1)?;
                open.store(LINK, IN_ARRAY)
            }
            Pair => Ok(()),
            Settle => open.flush(LINK),
            Remove => open.remove(),
            Begin => open.half_of_a_child(true),
            End => open.half_of_a_child(false),
            Look => open.look(),
        }
    }

    fn specify(&self, model: &mut bool, op: &Op) {
        match op {
            Enter => *model = true,
            Remove => *model = false,
            _ => {}
        }
    }

    fn observe(&self, open: &Open) -> Result<bool, Finding> {
        open.has_key()
    }

    fn continuation(&self, _: &bool, _: &mut Random) -> Vec<Op> {
        vec![Enter, Pair, Settle, Remove, Look, Begin, Look, End, Look]
    }
}

/// Two threads, of which one stands while the other goes by.
pub(crate) fn hunt(bug: Option<Planted>) -> Hunt {
    let runs = [
        vec![Pair, Settle, Remove, Enter],
        vec![Begin, Look, End, Look],
        vec![Pair, Remove, Settle, Enter, Remove],
    ];
    Campaign::of(&[Enter, Remove, Look])
        .from([vec![Enter], vec![Enter, Pair, Settle]])
        .and(runs)
        .hunt(&Passing(bug), None)
}
