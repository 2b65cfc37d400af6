//! Walks over all chunks of a tree that no thread is changing: one checks all invariants of the structure, another
//! voids all locks.

use crate::media::{LINE, Media, Ordering};
use crate::space::Guard;
use crate::tree::TreeCheck;
use crate::{Error, Result};

use crate::tree::records::fingerprint::Fingerprint;
use crate::tree::records::fingerprint::Sought;
use crate::tree::records::record::Record;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::entered::TWICE;
use crate::tree::roart::nodes::lock::{LOCK, LockWord, check_lock};
use crate::tree::roart::nodes::node::{EOK, Node, enter_child};
use crate::tree::roart::nodes::root::root_node;
use crate::tree::roart::nodes::word::{Link, LinkKind, Slot};
use crate::tree::roart::path::descend::{Care, find};

/// A chunk that a walk has reached.
enum Met<'m, M> {
    /// A node, and the number of nodes above it.
    Node(Node<'m, M>, u64),
    Array(Array<'m, M>),
    /// A record, and what the word that leads to it says about it.
    Record(Record<'m, M>, Claim),
}

/// What a word says about the record to which it leads.
enum Claim {
    Hint(Link),
    Whole(Fingerprint),
}

/// Calls `visit` with every chunk below `root`, and first with `root` itself.
///
/// # Errors
///
/// Those of `visit`; [`Error::Corrupt`] if words lead nowhere, or if more nodes are met than the pool has space for.
fn walk<'m, M: Media>(
    root: Node<'m, M>,
    visit: &mut dyn FnMut(Met<'m, M>) -> Result<()>,
) -> Result<()> {
    let media = root.words().media();
    let (mut to_visit, mut left) = (vec![(root, 0)], media.len() / LINE);
    while let Some((node, above)) = to_visit.pop() {
        left = left.checked_sub(1).ok_or_else(|| node.corrupt(TWICE))?;
        visit(Met::Node(node, above))?;
        for i in [EOK].into_iter().chain(node.places()) {
            let link = node.peek(i);
            if link.is_empty() {
                continue;
            }
            match link.kind()? {
                LinkKind::Record => {
                    visit(Met::Record(Record::enter(media, link.at())?, Claim::Hint(link)))?;
                }
                LinkKind::Node(_) => to_visit.push((enter_child(media, &node, link)?, above + 1)),
                LinkKind::Array(kind) => {
                    let array = Array::enter(media, link.at(), kind)?;
                    visit(Met::Array(array))?;
                    for slot in (0..kind.capacity()).map(|i| array.peek(i)) {
                        if !slot.is_empty() {
                            let claim = Claim::Whole(slot.fingerprint());
                            visit(Met::Record(Record::enter(media, slot.at())?, claim))?;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

impl<M: Media> Met<'_, M> {
    /// The offset of the chunk, and the number of bytes that were requested for it.
    fn chunk(&self) -> (u64, u64) {
        match self {
            Self::Node(node, _) => (node.at(), Node::<M>::bytes_of(node.kind())),
            Self::Array(array) => (array.at(), Array::<M>::bytes_of(array.kind())),
            Self::Record(record, _) => (record.at(), record.bytes()),
        }
    }
}

/// Voids every lock word of the tree, as after a crash. No other thread uses the tree.
// no mutant: pools that change their generation while they are open are not simulated.
pub(crate) fn void_locks<M: Media>(guard: &Guard<'_, M>, root_at: u64) -> Result<()> {
    let void = LockWord::void(guard.space().generation());
    walk(root_node(guard.media(), root_at)?, &mut |met| {
        let words = match met {
            Met::Node(node, _) => node.words(),
            Met::Array(array) => array.words(),
            Met::Record(..) => return Ok(()),
        };
        words.store(LOCK, void, Ordering::Release);
        words.flush(LOCK, 1);
        Ok(())
    })
}

/// Checks the tree with the root word at `root_at`, and passes the offset and the bytes of every chunk to `visit`. The
/// result is exact only while no thread writes. O(n): every record is read whole and looked up.
///
/// # Errors
///
/// [`Error::Corrupt`] for the first check that fails.
pub(crate) fn check_tree<M: Media>(
    guard: &Guard<'_, M>,
    root_at: u64,
    visit: &mut dyn FnMut(u64, u64),
) -> Result<TreeCheck> {
    let root = root_node(guard.media(), root_at)?;
    let mut found = TreeCheck::default();
    walk(root, &mut |met| {
        let (at, bytes) = met.chunk();
        visit(at, bytes);
        match met {
            Met::Node(node, above) => {
                check_lock(guard, &node.words())?;
                found.nodes += 1;
                found.height = found.height.max(above + 1);
                let children = node.children().len() + usize::from(!node.eok().is_empty());
                found.repairs.barren += u64::from(above > 0 && children < 2);
                let words = [EOK].into_iter().chain(node.places());
                found.repairs.dirty += words.filter(|&i| node.peek(i).is_dirty()).count() as u64;
            }
            Met::Array(array) => {
                check_lock(guard, &array.words())?;
                found.arrays += 1;
                found.repairs.barren += u64::from(array.slots().is_empty());
                let slots = 0..array.kind().capacity();
                found.repairs.dirty += slots.filter(|&i| array.peek(i).is_dirty()).count() as u64;
                check_order(guard, &array)?;
            }
            Met::Record(record, claim) => {
                found.entries += 1;
                check_record(guard, root, &record, &claim)?;
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// Checks that the stored order of an array's keys, if there is one, is ascending and complete.
fn check_order<M: Media>(guard: &Guard<'_, M>, array: &Array<'_, M>) -> Result<()> {
    let (mut records, media) = (Vec::new(), guard.media());
    let note = |slot: Slot| records.push(slot.at());
    if array.in_order(array.version(), guard.space().generation(), note)? {
        let is_whole = records.len() == array.slots().len();
        let records: Vec<_> =
            records.into_iter().map(|at| Record::enter(media, at)).collect::<Result<_>>()?;
        if !is_whole || !records.is_sorted_by(|a, b| a.compare_with(b).is_lt()) {
            return Err(array.corrupt("a leaf array whose order is not that of its keys"));
        }
    }
    Ok(())
}

/// Checks a record, and that a search for its key finds this record and no other. If all records pass, no key is in two
/// places, and no key is where a search cannot find it.
fn check_record<'g, M: Media>(
    guard: &Guard<'g, M>,
    root: Node<'g, M>,
    record: &Record<'g, M>,
    claim: &Claim,
) -> Result<()> {
    let damage = |what| Err(Error::Corrupt { offset: record.at(), what });
    record.check_sum()?;
    let mut key = Vec::with_capacity(record.key_len());
    record.copy_key(&mut key);
    let key = Sought::new(&key);
    let is_claimed = match claim {
        Claim::Hint(link) => link.admits(key.fingerprint),
        Claim::Whole(fingerprint) => *fingerprint == key.fingerprint,
    };
    if !is_claimed {
        return damage("a record with a fingerprint that is not its key's");
    }
    let found = find(guard, root, &key, Care::Exact)?;
    if found.record().map(|found| found.at()) != Some(record.at()) {
        return damage("a record that a search for its key does not find");
    }
    Ok(())
}
