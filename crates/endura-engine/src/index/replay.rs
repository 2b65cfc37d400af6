//! Changes that a killed process has committed and not applied: an open applies them.
//!
//! Each change has a fixed outcome, so it may be applied twice; and no single write of one of the keys can be newer, because
//! it would have waited. So a crash during the replay needs no care.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::leak_recovery::Background;
use super::table;
use super::tree::Tree;
use crate::media::Media;
use crate::space::{
    Change, Intent, OwnedKey, Plan, Session, Space, Unfinished, keep_words, unfinished,
};
use crate::tree::records::record::Record;
use crate::{Error, Result};

/// Applies all unfinished changes of the last session; returns how many there were. Called before another thread uses the
/// pool, and before its leak recovery begins: until then no chunk of the last session is reused. In a pool that is opened
/// although it may be torn (`accepts`), changes that are not whole are forgotten.
///
/// # Errors
///
/// [`Error::NeedsRecovery`] if there are some, and the session is read-only; [`Error::Corrupt`]; those of a write. Nothing
/// is lost then: the next open begins again.
pub fn replay<M: Media>(space: &Arc<Space<M>>, accepts: bool) -> Result<usize> {
    let Session { clean, read_only, .. } = space.session();
    if !clean && !read_only {
        keep_words(space.media())?;
    }
    let left = unfinished(space.media())?;
    if left.is_empty() {
        return Ok(0);
    }
    if read_only {
        return Err(Error::NeedsRecovery);
    }
    let mut intents = Vec::new();
    for commit in left {
        match whole(space.media(), commit) {
            Ok(intent) => intents.push((commit.flight, intent)),
            Err(_) if accepts => space.finish_intent(commit.flight, None)?,
            Err(error) => return Err(error),
        }
    }
    let mut trees: BTreeMap<u64, Tree<M>> = BTreeMap::new();
    let changed: BTreeSet<u64> = intents.iter().flat_map(|(_, intent)| intent.maps()).collect();
    for map in space.maps()?.into_iter().filter(|map| changed.contains(&map.entry())) {
        trees.insert(map.entry(), table::of(&map)?.open(space, map)?);
    }
    let mut changes = 0;
    for (i, &(flight, intent)) in intents.iter().enumerate() {
        match apply_all(&trees, intent) {
            Err(Error::Full { .. }) => {
                // Chunks of intents that are finished may have been reused.
                recover_leaks(space, &trees, &intents[i..])?;
                apply_all(&trees, intent)?;
            }
            applied => applied?,
        }
        changes += intent.changes()?;
        space.finish_intent(flight, Some(intent))?;
    }
    Ok(changes)
}

fn apply_all<M: Media>(trees: &BTreeMap<u64, Tree<M>>, intent: Intent<'_, M>) -> Result<()> {
    (0..intent.len()).try_for_each(|i| apply(trees, intent.get(i)?))
}

/// Finishes the leak recovery at once, because the pool has no room for the changes otherwise. No walk meets the chunks of
/// these intents, so they are marked here. Records of maps that were dropped become free.
fn recover_leaks<M: Media>(
    space: &Arc<Space<M>>,
    trees: &BTreeMap<u64, Tree<M>>,
    intents: &[(usize, Intent<'_, M>)],
) -> Result<()> {
    let guard = space.pin_mut()?;
    for &(_, intent) in intents {
        let needed = chunks_of(space.media(), intent, |map| trees.contains_key(&map))?;
        needed.into_iter().for_each(|(at, bytes)| guard.keep(at, bytes));
    }
    drop(guard);
    Background::begin(space, 0).finish().map(drop)
}

/// The intent of a commit, of which everything was read, and all records.
fn whole<M: Media>(media: &M, commit: Unfinished) -> Result<Intent<'_, M>> {
    let intent = commit.intent(media)?;
    intent.check()?;
    for i in 0..intent.len() {
        if let Change { key: OwnedKey::Bytes(key), plan: Plan::Put(at), .. } = intent.get(i)? {
            check_record(media, at, &key)?;
        }
    }
    Ok(intent)
}

/// Applies one change, unless its map was dropped.
fn apply<M: Media>(trees: &BTreeMap<u64, Tree<M>>, change: Change) -> Result<()> {
    let Change { map, key, plan } = change;
    let Some(value) = plan.outcome() else { return Ok(()) };
    match (trees.get(&map), &key) {
        (Some(Tree::Words(tree)), OwnedKey::Number(key)) => tree.set(*key, value),
        (Some(Tree::Bytes(tree)), OwnedKey::Bytes(key)) => tree.set(key, value),
        (Some(_), _) => {
            let what = "several changes at once, with a key that is none of its map";
            Err(Error::Corrupt { offset: map, what })
        }
        // If there is a record, the leak recovery frees it.
        (None, _) => Ok(()),
    }
}

/// Fails unless the record at `at` is whole, and of this key.
fn check_record<M: Media>(media: &M, at: u64, key: &[u8]) -> Result<()> {
    let record = Record::enter(media, at)?;
    record.check_sum()?;
    let what = "a record of another key than that of its change";
    if record.is_of(key) { Ok(()) } else { Err(Error::Corrupt { offset: at, what }) }
}

/// The chunks of unfinished changes, each with its bytes: the intents, and their records, some of which maps may have by
/// now. Those of changes that are not whole are left out.
pub(crate) fn chunks<M: Media>(media: &M) -> Result<Vec<(u64, u64)>> {
    let mut chunks = Vec::new();
    for commit in unfinished(media)? {
        if let Ok(intent) = whole(media, commit) {
            chunks.extend(chunks_of(media, intent, |_| true)?);
        }
    }
    Ok(chunks)
}

/// The chunk of an intent that is whole, and those of its records for maps that `has` tells by their entries.
fn chunks_of<M: Media>(
    media: &M,
    intent: Intent<'_, M>,
    has: impl Fn(u64) -> bool,
) -> Result<Vec<(u64, u64)>> {
    let mut chunks = vec![(intent.at(), intent.bytes())];
    for i in 0..intent.len() {
        match intent.get(i)? {
            Change { map, key: OwnedKey::Bytes(_), plan: Plan::Put(at) } if has(map) => {
                chunks.push((at, Record::enter(media, at)?.bytes()));
            }
            _ => {}
        }
    }
    Ok(chunks)
}
