//! The look into a leaf for [`ends`].
//!
//! A leaf was empty throughout if it was empty in both checks and no primitive ran in between except the one that was
//! announced at the first check: one primitive cannot insert an entry and remove it. A leaf that was replaced in between
//! is obsolete, which its version shows.

use crate::Result;
use crate::media::Media;
use crate::space::{Guard, MapState, Space};
use crate::tree::Bytes;
use crate::tree::ends::{self, Choice, Leaves, Look, Trust, Wait};
use crate::tree::fast_fair::nodes::lock_word::{Direction, LockWord};
use crate::tree::fast_fair_bytes::nodes::contents::{has_copies, references_while_moving};
use crate::tree::fast_fair_bytes::nodes::leaf::record_at;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, last_below};
use crate::tree::fast_fair_bytes::nodes::search::rank;
use crate::tree::fast_fair_bytes::path::aim::Aim;
use crate::tree::fast_fair_bytes::path::right::{NOT_AHEAD, check_ahead};
use crate::tree::fast_fair_bytes::path::trail::Trail;
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::key_word::KeyWord;
use crate::tree::lock_word::IMPOSSIBLE;
use crate::tree::records::fingerprint::Sought;
use crate::tree::records::record::Record;

/// A leaf, and the key from which on, or below which, the look examined it.
pub(crate) struct Passed {
    start: Option<Vec<u8>>,
    at: u64,
    version: LockWord,
    high: u64,
}

/// What a look with this start aims at.
fn aim_of<const UP: bool>(start: Option<&[u8]>) -> Aim<'_> {
    match start {
        Some(key) if UP => Aim::At(key),
        Some(key) => Aim::Below(key),
        None if UP => Aim::At(&[]),
        None => Aim::End,
    }
}

/// The offset of the nearest record of a leaf from `start` on (with `UP` = false: below `start`).
fn nearest<const UP: bool, M: Media, const W: usize>(
    node: &ByteNode<'_, M, W>,
    high: u64,
    moving: Option<Direction>,
    start: Option<&[u8]>,
) -> Result<Option<u64>> {
    let is_due = |at: u64| match start {
        None => Ok(true),
        Some(start) => {
            Record::enter(node.media(), at).map(|record| record.compare(start, 0).is_lt() != UP)
        }
    };
    match moving {
        None if !has_copies(node) => {
            // All slots with a word below the limit are live.
            let live = rank(node, last_below(node.limit()));
            first_due::<UP>((0..live).map(|slot| node.peek_reference(slot)), is_due)
        }
        moving => {
            let direction = moving.unwrap_or(Direction::Right);
            first_due::<UP>(references_while_moving(node, high, direction).into_iter(), is_due)
        }
    }
}

/// The first (with `UP` = false: the last) of these records that is due.
fn first_due<const UP: bool>(
    references: impl DoubleEndedIterator<Item = u64>,
    is_due: impl Fn(u64) -> Result<bool>,
) -> Result<Option<u64>> {
    let mut records = references.map(record_at);
    while let Some(at) = if UP { records.next() } else { records.next_back() } {
        if is_due(at)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

impl<M, const INNER: usize, const LEAF: usize, K, const UP: bool> Leaves<UP>
    for Tree<M, INNER, LEAF, K>
where
    M: Media,
    K: KeyWord,
{
    type Medium = M;
    type Leaf = Passed;
    type Key = Option<Vec<u8>>;
    /// The offset of a record.
    type Entry = u64;

    fn begin() -> Option<Vec<u8>> {
        None
    }

    fn pin(&self, _: Trust) -> Result<Guard<'_, M>> {
        self.open.pin()
    }

    fn space(&self) -> &Space<M> {
        self.open.space()
    }

    fn map(&self) -> &MapState {
        self.open.map()
    }

    fn look(
        &self,
        guard: &Guard<'_, M>,
        start: Option<Vec<u8>>,
        trust: Trust,
    ) -> Result<Look<Passed, Option<Vec<u8>>, u64>> {
        let mut trail = Trail::default();
        let aim = aim_of::<UP>(start.as_deref());
        let at = self.descend(guard, &mut trail, aim, 0)?.ok_or_else(|| self.no_leaf())?;
        let generation = guard.space().generation();
        let read = |node: &ByteNode<'_, M, LEAF>, high, moving| {
            let nearest = nearest::<UP, M, LEAF>(node, high, moving, start.as_deref());
            nearest.map(|nearest| (nearest, high))
        };
        let mut seen = self.read_leaf(guard, &mut trail, at, aim, read)?;
        // A writer that inserts a key locks the leaf before it looks for an announced pop, and holds the lock until the
        // key is in the leaf.
        let is_held = |version: LockWord| trust == Trust::Quiet && version.is_held(generation);
        let mut wait = Wait::default();
        while is_held(seen.version) && wait.goes_on() {
            seen = self.read_leaf(guard, &mut trail, seen.node.at(), aim, read)?;
        }
        let is_quiet = !is_held(seen.version);
        if !is_quiet && !guard.space().has_set_lock(seen.node.at()) {
            return Err(seen.node.corrupt(IMPOSSIBLE));
        }
        if seen.version.in_flight() && guard.media().needs_flush() {
            seen.node.help_flush();
        }
        let beyond = match UP {
            true if seen.right == 0 => None,
            true => Some(check_ahead(&seen.node, seen.right)?),
            false => Some(seen.node.low_key()?).filter(|low| !low.is_empty()),
        };
        // Without this check, a look through a damaged tree might never end.
        if UP && beyond.as_ref().is_some_and(|key| start.as_ref().is_some_and(|start| key <= start))
        {
            return Err(seen.node.corrupt(NOT_AHEAD));
        }
        let (entry, high) = seen.found?;
        let leaf = Passed { at: seen.node.at(), version: seen.version, high, start };
        Ok(Look { entry, beyond: beyond.map(Some), leaf, is_quiet })
    }

    fn was_empty(&self, leaf: &Passed) -> bool {
        let Passed { start, at, version, high } = leaf;
        // The offset was inside the pool when the leaf was passed.
        let media = self.open.space().media();
        let Ok(node) = ByteNode::<M, LEAF>::fresh(media, *at) else { return false };
        match version.moving(self.open.space().generation()) {
            // No writer was at work at the first check. If none has begun since, nothing has changed.
            None => node.is_still(version.unlocked()),
            moving => {
                let again = nearest::<UP, M, LEAF>(&node, *high, moving, start.as_deref());
                matches!(again, Ok(None)) && node.high() == *high && node.confirms(*version)
            }
        }
    }

    fn is_lost(&self, leaf: &Passed, entry: u64) -> Result<bool> {
        let guard = self.open.pin()?;
        let key = Record::enter(guard.media(), entry)?.key().to_vec();
        if self.lookup(&guard, &Sought::new(&key))?.is_some_and(|found| found.at() == entry) {
            return Ok(false);
        }
        let node = ByteNode::<M, LEAF>::fresh(guard.media(), leaf.at)?;
        let was_quiet = leaf.version.moving(guard.space().generation()).is_none();
        Ok(was_quiet && node.is_still(leaf.version.unlocked()))
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// The result of `read` for the first entry (for `smallest` = false: the last).
    pub(crate) fn end<R>(
        &self,
        smallest: bool,
        trust: Trust,
        read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R,
    ) -> Result<Option<R>> {
        // The record that is found is read inside this pin, which encloses those of the search.
        let guard = self.open.pin()?;
        let end = match smallest {
            true => ends::end::<true, _>(self, trust)?,
            false => ends::end::<false, _>(self, trust)?,
        };
        let record = end.map(|at| Record::enter(guard.media(), at)).transpose()?;
        Ok(record.map(|record| read(record.key(), record.value())))
    }

    /// Whether an entry is the first (the last, unless `smallest`), and all leaves up to it are [quiet](Trust::Quiet).
    pub(crate) fn is_end(&self, smallest: bool, key: &[u8], value: &[u8]) -> Result<Choice> {
        let guard = self.open.pin()?;
        ends::is_end(self, smallest, |at: u64| {
            Record::enter(guard.media(), at)
                .is_ok_and(|end| end.key() == *key && end.value() == *value)
        })
    }
}
