//! The first entry of a chain of leaves, or the last, at one moment.
//!
//! The answer is the nearest entry in the first leaf that has one. Seen from that end, empty leaves may lie
//! before it. Each of them is looked at again *after* the answer: what says that it was empty all the time in
//! between is the tree's business ([`Leaves::was_empty`]). That time has the moment in it at which the answer's
//! leaf was confirmed: the answer is that of this moment.
//!
//! A look that is in vain was disturbed by a writer that got on: lock-free.
//!
//! # Pins
//!
//! Leaves that are passed are few, for removes merge them; but a damaged map, or one in which merges found no
//! room, may have any number. So a pin is given up after so many, and a leaf that was passed in an earlier one
//! may have become another one since. Then the second look counts only if none of the map's leaves was retired from
//! the end of the first pin on ([`MapState::retired`]). Before that end the leaves passed so far are looked at
//! again, behind the reading of that number: whoever retires a leaf takes it out of the tree, so that a second look
//! notices, then counts it, and then lets it be reused.

use crate::media::Media;
use crate::pool::{Guard, MapState};
use crate::{Error, Result};

/// Leaves, or what else was looked at, in one pin.
pub(crate) const BITE: usize = 256;

/// What was found in a leaf from a key on.
pub(crate) struct Look<L> {
    /// The nearest entry.
    pub(crate) entry: Option<(u64, u64)>,
    /// The key at which the next leaf begins, if there is one.
    pub(crate) beyond: Option<u64>,
    /// What a second look goes by. It borrows nothing from a pin.
    pub(crate) leaf: L,
}

/// Whether a search has to find what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// No: it does, but where the pool is damaged.
    Blind,
    /// Yes: somebody looked for the key in vain.
    Checked,
}

/// A tree that has its entries in leaves, which follow each other in the order of the keys.
pub(crate) trait Leaves<const UP: bool> {
    type Medium: Media;
    type Leaf;

    fn pin(&self) -> Result<Guard<'_, Self::Medium>>;

    fn map(&self) -> &MapState;

    /// Whether nothing that takes long has to come before a look at `key`.
    fn is_prepared(&self, key: u64) -> bool {
        let _ = key;
        true
    }

    /// Does that, outside of pins.
    fn prepare(&self, key: u64) -> Result<()> {
        let _ = key;
        Ok(())
    }

    /// The entry nearest to `key` in the leaf that covers it.
    fn look(&self, guard: &Guard<'_, Self::Medium>, key: u64) -> Result<Look<Self::Leaf>>;

    /// Whether nothing was in a leaf, from the key on, at any moment since it was passed.
    fn was_empty(&self, leaf: &Self::Leaf) -> bool;

    /// Whether no search finds `entry`, which `leaf` has, though nobody has touched it.
    fn is_lost(&self, leaf: &Self::Leaf, entry: (u64, u64)) -> Result<bool>;
}

/// The first entry; for `UP` = false the last.
pub(crate) fn end<const UP: bool>(
    tree: &impl Leaves<UP>,
    trust: Trust,
) -> Result<Option<(u64, u64)>> {
    loop {
        if let Some(answer) = try_end(tree, trust)? {
            return Ok(answer);
        }
    }
}

/// `None`: a writer came between.
fn try_end<const UP: bool, T: Leaves<UP>>(
    tree: &T,
    trust: Trust,
) -> Result<Option<Option<(u64, u64)>>> {
    let begin = if UP { 0 } else { u64::MAX };
    tree.prepare(begin)?;
    let mut guard = tree.pin()?;
    let (mut passed, mut answer, mut retired) = (Vec::new(), None, None);
    let mut next = Some(begin);
    while let Some(key) = next {
        let look = tree.look(&guard, key)?;
        if let Some(entry) = look.entry {
            if trust == Trust::Checked && tree.is_lost(&look.leaf, entry)? {
                return Err(lost(tree.map().root()));
            }
            answer = look.entry;
            break;
        }
        next = look.beyond;
        passed.push(look.leaf);
        let ahead = next.filter(|&key| !tree.is_prepared(key));
        if passed.len().is_multiple_of(BITE) || ahead.is_some() {
            if retired.is_none() {
                // Before the second look: what it still finds in its place was not counted.
                retired = Some(tree.map().retired());
                if !passed.iter().all(|leaf| tree.was_empty(leaf)) {
                    return Ok(None);
                }
            }
            drop(guard);
            ahead.map_or(Ok(()), |key| tree.prepare(key))?;
            guard = tree.pin()?;
        }
    }
    let mut bites = passed.chunks(BITE).peekable();
    while let Some(bite) = bites.next() {
        if !bite.iter().all(|leaf| tree.was_empty(leaf)) {
            return Ok(None);
        }
        if bites.peek().is_some() {
            drop(guard);
            guard = tree.pin()?;
        }
    }
    // Behind the second look (Acquire): if a leaf was another one by then, its end was counted before.
    let is_one_moment = retired.is_none_or(|before| before == tree.map().retired());
    Ok(is_one_moment.then_some(answer))
}

/// What no search finds.
pub(crate) fn lost(offset: u64) -> Error {
    Error::Corrupt { offset, what: "an entry that no search finds" }
}
