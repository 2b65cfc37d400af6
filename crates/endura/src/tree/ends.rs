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
use crate::sync::Backoff;
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
    /// Whether the leaf is [quiet](Trust::Quiet), where that was asked.
    pub(crate) is_quiet: bool,
}

/// Whether a search has to find what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// No: it does, but where the pool is damaged.
    Blind,
    /// Yes: somebody looked for the key in vain.
    Checked,
    /// No; but nobody may be entering a key in any leaf up to the answer's who was about to when the look began. For
    /// a pop.
    Quiet,
}

/// How long a look waits for a holder of a lock to let go of it: as long as a wait does not sleep, for the look has a
/// pin. Its caller sleeps outside of the pin ([`pop`](crate::tree::pops::pop)).
#[derive(Default)]
pub(crate) struct Wait {
    backoff: Backoff,
    times: u32,
}

impl Wait {
    const MOST: u32 = if cfg!(all(test, loom)) { 1 } else { Backoff::AWAKE };

    /// Waits, if it is not too long by now.
    pub(crate) fn goes_on(&mut self) -> bool {
        self.times += 1;
        if self.times <= Self::MOST {
            self.backoff.wait();
        }
        self.times <= Self::MOST
    }
}

/// A tree that has its entries in leaves, which follow each other in the order of the keys.
pub(crate) trait Leaves<const UP: bool> {
    type Medium: Media;
    type Leaf;

    /// A pin for such a look.
    fn pin(&self, trust: Trust) -> Result<Guard<'_, Self::Medium>>;

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
    fn look(
        &self,
        guard: &Guard<'_, Self::Medium>,
        key: u64,
        trust: Trust,
    ) -> Result<Look<Self::Leaf>>;

    /// Whether nothing was in a leaf, from the key on, at any moment since it was passed.
    fn was_empty(&self, leaf: &Self::Leaf) -> bool;

    /// Whether no search finds `entry`, which `leaf` has, though nobody has touched it.
    fn is_lost(&self, leaf: &Self::Leaf, entry: (u64, u64)) -> Result<bool>;
}

/// What an attempt to find an end came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// The entry, if there is one.
    Found(Option<(u64, u64)>),
    /// A writer came between.
    Disturbed,
    /// A leaf was not quiet for as long as a look waits.
    Held,
}

/// What a pop learns of the entry that it has chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// It is the end, and all is [quiet](Trust::Quiet) up to it.
    End,
    /// It is not, or a writer came between.
    Another,
    /// The holder of a lock up to it keeps that: to be asked again when it has had time to go on.
    Held,
}

/// The first entry; for `UP` = false the last.
pub(crate) fn end<const UP: bool>(
    tree: &impl Leaves<UP>,
    trust: Trust,
) -> Result<Option<(u64, u64)>> {
    loop {
        if let Attempt::Found(answer) = try_end(tree, trust)? {
            return Ok(answer);
        }
    }
}

/// Whether an entry is the first (the last, unless `smallest`), and all is [quiet](Trust::Quiet) up to it.
pub(crate) fn is_end<T>(tree: &T, smallest: bool, entry: (u64, u64)) -> Result<Choice>
where
    T: Leaves<true> + Leaves<false>,
{
    let end = match smallest {
        true => try_end::<true, T>(tree, Trust::Quiet)?,
        false => try_end::<false, T>(tree, Trust::Quiet)?,
    };
    Ok(match end {
        Attempt::Found(Some(found)) if found == entry => Choice::End,
        Attempt::Found(_) | Attempt::Disturbed => Choice::Another,
        Attempt::Held => Choice::Held,
    })
}

fn try_end<const UP: bool, T: Leaves<UP>>(tree: &T, trust: Trust) -> Result<Attempt> {
    let begin = if UP { 0 } else { u64::MAX };
    tree.prepare(begin)?;
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
        let ahead = next.filter(|&key| !tree.is_prepared(key));
        if passed.len().is_multiple_of(BITE) || ahead.is_some() {
            if retired.is_none() {
                // Before the second look: what it still finds in its place was not counted.
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
    // Behind the second look (Acquire): if a leaf was another one by then, its end was counted before.
    let is_one_moment = retired.is_none_or(|before| before == tree.map().retired());
    Ok(if is_one_moment { Attempt::Found(answer) } else { Attempt::Disturbed })
}

/// What no search finds.
pub(crate) fn lost(offset: u64) -> Error {
    Error::Corrupt { offset, what: "an entry that no search finds" }
}
