//! The first or last entry of a chain of leaves, at one moment.
//!
//! The result is the nearest entry in the first leaf that has one. Empty leaves may precede that leaf. After the result
//! is found, each of these empty leaves is checked a *second* time. [`Leaves::was_empty`], which each kind of tree
//! implements, returns whether a leaf was empty throughout the time between the two checks. That period includes the
//! moment at which the leaf of the result was confirmed: the result was the end of the chain at that moment.
//!
//! A search is lock-free: an attempt fails only if a writer that made progress disturbed it.
//!
//! # Pins
//!
//! A search passes few empty leaves, because removes merge them. But a damaged map, or a map whose merges found no free
//! space, may have any number of them. So a pin ends after a fixed number of leaves, and the memory of a leaf passed in
//! an earlier pin may hold another leaf by the time of the second check. The check then counts only if no leaf of the
//! map was retired since the end of the first pin. To know that, the search does two things before it ends the first
//! pin: it reads the number of retired leaves ([`MapState::retired`]), and it checks the leaves passed so far once
//! more. After the second check the number must be the same. A thread that retires a leaf first takes it out of the
//! tree, so that a check notices, then counts it, and then allows its reuse.

use crate::media::Media;
use crate::space::{Guard, MapState, Space};
use crate::sync::Backoff;
use crate::{Error, Result};

/// The most leaves that a search passes, or other steps that it takes, in one pin.
pub(crate) const BITE: usize = 256;

/// The result of a look into a leaf, from a key on.
pub(crate) struct Look<L, K, E> {
    /// The nearest entry.
    pub(crate) entry: Option<E>,
    /// The key at which the next leaf starts, if there is one.
    pub(crate) beyond: Option<K>,
    /// The state for the second check. It borrows nothing from a pin.
    pub(crate) leaf: L,
    /// Whether the leaf is [quiet](Trust::Quiet), if the caller asked.
    pub(crate) is_quiet: bool,
}

/// What a look must establish about the leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Nothing. (A search finds the entry, unless the pool is damaged.)
    Blind,
    /// That a search finds the entry. A caller requires this after a search for the key of the entry has failed.
    Checked,
    /// For a pop: of the threads that were inserting when the look started, none is still inserting a key into a leaf
    /// up to that of the result.
    Quiet,
}

/// The wait of a look for the holder of a lock. It ends before it would sleep, because the look has a pin. The caller
/// of the look sleeps outside the pin ([`pop`](crate::tree::pops::pop)).
#[derive(Default)]
pub(crate) struct Wait {
    backoff: Backoff,
    times: u32,
}

impl Wait {
    const MOST: u32 = if cfg!(all(test, loom)) { 1 } else { Backoff::AWAKE };

    /// Waits, unless the look has already waited too long. Returns whether it waited.
    pub(crate) fn goes_on(&mut self) -> bool {
        self.times += 1;
        if self.times <= Self::MOST {
            self.backoff.wait();
        }
        self.times <= Self::MOST
    }
}

/// A tree with its entries in leaves, chained in the order of the keys.
pub(crate) trait Leaves<const UP: bool> {
    type Medium: Media;
    type Leaf;
    /// Where a look begins: at a key, or, if `UP` is false, at it or below it.
    type Key;
    type Entry: Copy;

    /// Where the first look begins.
    fn begin() -> Self::Key;

    /// A pin for a look that must establish `trust`.
    fn pin(&self, trust: Trust) -> Result<Guard<'_, Self::Medium>>;

    fn map(&self) -> &MapState;

    fn space(&self) -> &Space<Self::Medium>;

    /// Whether a look at `key` can start without a long preparation.
    fn is_prepared(&self, key: &Self::Key) -> bool {
        let _ = key;
        true
    }

    /// Prepares a look at `key`, outside of pins.
    fn prepare(&self, key: &Self::Key) -> Result<()> {
        let _ = key;
        Ok(())
    }

    /// The entry nearest to `key` in the leaf that covers `key`.
    fn look(
        &self,
        guard: &Guard<'_, Self::Medium>,
        key: Self::Key,
        trust: Trust,
    ) -> Result<Look<Self::Leaf, Self::Key, Self::Entry>>;

    /// Whether the leaf was empty, from the key of its look on, at every moment since that look.
    fn was_empty(&self, leaf: &Self::Leaf) -> bool;

    /// Whether a search misses `entry`, which `leaf` has, although no writer has changed the leaf.
    fn is_lost(&self, leaf: &Self::Leaf, entry: Self::Entry) -> Result<bool>;
}

/// The result of one attempt to find an end.
enum Attempt<E> {
    /// The entry, if there is one.
    Found(Option<E>),
    /// A writer intervened.
    Disturbed,
    /// A leaf did not become quiet while the look waited.
    Held,
}

/// What a pop learns about the entry that it has chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The entry is the end, and all leaves up to it are [quiet](Trust::Quiet).
    End,
    /// The entry is not the end, or a writer intervened.
    Another,
    /// The lock of a leaf up to the entry is still held. The pop asks again when the holder has had time to continue.
    Held,
}

/// The first entry; for `UP` = false the last.
pub(crate) fn end<const UP: bool, T: Leaves<UP>>(
    tree: &T,
    trust: Trust,
) -> Result<Option<T::Entry>> {
    loop {
        if let Attempt::Found(answer) =
            try_end(tree, trust).map_err(|error| tree.space().noted(error))?
        {
            return Ok(answer);
        }
    }
}

/// Whether the first entry (the last, unless `smallest`) `is_it`, and all leaves up to it are [quiet](Trust::Quiet).
pub(crate) fn is_end<T, E>(
    tree: &T,
    smallest: bool,
    is_it: impl FnOnce(E) -> bool,
) -> Result<Choice>
where
    E: Copy,
    T: Leaves<true, Entry = E> + Leaves<false, Entry = E>,
{
    let end = match smallest {
        true => try_end::<true, T>(tree, Trust::Quiet)?,
        false => try_end::<false, T>(tree, Trust::Quiet)?,
    };
    Ok(match end {
        Attempt::Found(Some(found)) if is_it(found) => Choice::End,
        Attempt::Found(_) | Attempt::Disturbed => Choice::Another,
        Attempt::Held => Choice::Held,
    })
}

fn try_end<const UP: bool, T: Leaves<UP>>(tree: &T, trust: Trust) -> Result<Attempt<T::Entry>> {
    let begin = T::begin();
    tree.prepare(&begin)?;
    let mut guard = tree.pin(trust)?;
    let (mut passed, mut answer, mut retired) = (Vec::new(), None, None);
    let mut next = Some(begin);
    while let Some(key) = next {
        let look = tree.look(&guard, key, trust)?;
        if !look.is_quiet {
            return Ok(Attempt::Held);
        }
        if let Some(entry) = look.entry {
            if trust == Trust::Checked && tree.is_lost(&look.leaf, entry)? {
                return Err(lost(tree.map().root()));
            }
            answer = look.entry;
            break;
        }
        next = look.beyond;
        passed.push(look.leaf);
        let ahead = next.as_ref().filter(|key| !tree.is_prepared(key));
        if passed.len().is_multiple_of(BITE) || ahead.is_some() {
            if retired.is_none() {
                // The number is read before the check below: a leaf that the check still finds in the tree is not in
                // the number.
                retired = Some(tree.map().retired());
                if !passed.iter().all(|leaf| tree.was_empty(leaf)) {
                    return Ok(Attempt::Disturbed);
                }
            }
            drop(guard);
            ahead.map_or(Ok(()), |key| tree.prepare(key))?;
            guard = tree.pin(trust)?;
        }
    }
    let mut bites = passed.chunks(BITE).peekable();
    while let Some(bite) = bites.next() {
        if !bite.iter().all(|leaf| tree.was_empty(leaf)) {
            return Ok(Attempt::Disturbed);
        }
        if bites.peek().is_some() {
            drop(guard);
            guard = tree.pin(trust)?;
        }
    }
    // The number is read after the loads of the second check, which are Acquire: if one of them saw another leaf in the
    // memory of a passed leaf, the retirement of the passed leaf is in the number.
    let is_one_moment = retired.is_none_or(|before| before == tree.map().retired());
    Ok(if is_one_moment { Attempt::Found(answer) } else { Attempt::Disturbed })
}

/// The error for an entry that no search finds.
pub(crate) fn lost(offset: u64) -> Error {
    Error::Corrupt { offset, what: "an entry that no search finds" }
}
