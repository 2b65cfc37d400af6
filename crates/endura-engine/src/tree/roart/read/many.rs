//! Batches of lookups: their descents alternate, so that their cache misses overlap.
//!
//! Each turn prefetches the lines that the next turn of the same lookup will read. Only the order of the loads for
//! different keys differs from that of a single lookup.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;

use crate::tree::records::fingerprint::Sought;
use crate::tree::records::record::Record;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::node::Node;
use crate::tree::roart::nodes::word::{ArrayKind, LinkKind, NodeKind};
use crate::tree::roart::path::lookup::{Continuation, through};
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;

/// The number of lookups that run at once. More would have more misses than the processor can have outstanding.
const LANES: usize = 16;

/// The next step of a lookup.
enum Turn<'g, M> {
    /// Passes through a node, to which this number of bytes of the key has led.
    Node((u64, NodeKind), usize),
    /// Compares the key of a record.
    Record(u64),
    /// Reads the fingerprints of an array.
    Fingerprints(u64, ArrayKind),
    /// Reads the slots with matching fingerprints.
    Slots(Array<'g, M>),
    /// Compares the keys of the records in these slots.
    Records(Array<'g, M>),
    Done,
}

impl<M: Media, T: Techniques> Tree<M, T> {
    /// The values of `keys`, in their order.
    pub(crate) fn lookup_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut values = vec![None; keys.len()];
        for (keys, values) in keys.chunks(LANES).zip(values.chunks_mut(LANES)) {
            let guard = self.open.pin()?;
            guard.media().mark(Mark::Begin);
            self.take_turns(&guard, keys, values)?;
            guard.media().mark(Mark::Acknowledged);
        }
        Ok(values)
    }

    fn take_turns(
        &self,
        guard: &Guard<'_, M>,
        keys: &[&[u8]],
        values: &mut [Option<Vec<u8>>],
    ) -> Result<()> {
        let media = guard.media();
        let root = (self.root.at(), NodeKind::N256);
        let sought: Vec<Sought<'_>> = keys.iter().map(|key| Sought::new(key)).collect();
        let mut lanes = Vec::with_capacity(keys.len());
        for key in &sought {
            let way = through(media, root, key.bytes, 0, guard.space().generation())?;
            lanes.push(ahead(media, way, key)?);
        }
        let mut under_way = true;
        while under_way {
            under_way = false;
            for ((turn, key), value) in lanes.iter_mut().zip(&sought).zip(values.iter_mut()) {
                let now = std::mem::replace(turn, Turn::Done);
                *turn = take(guard, now, key, value)?;
                under_way |= !matches!(turn, Turn::Done);
            }
        }
        Ok(())
    }
}

/// Prefetches what the next step on the path reads, and returns that step.
fn ahead<'g, M: Media>(
    media: &M,
    Continuation { link, from }: Continuation,
    key: &Sought<'_>,
) -> Result<Turn<'g, M>> {
    if link.is_empty() {
        return Ok(Turn::Done);
    }
    match link.kind()? {
        LinkKind::Array(kind) => {
            Array::prefetch_for_search(media, link.at(), kind);
            Ok(Turn::Fingerprints(link.at(), kind))
        }
        LinkKind::Record if !link.admits(key.fingerprint) => Ok(Turn::Done),
        LinkKind::Record => {
            Record::prefetch(media, link.at());
            Ok(Turn::Record(link.at()))
        }
        LinkKind::Node(kind) => {
            let node = (link.at(), kind);
            Node::prefetch_for_search(media, node, key.bytes.get(from));
            Ok(Turn::Node(node, from))
        }
    }
}

/// Takes one turn of a lookup.
fn take<'g, M: Media>(
    guard: &'g Guard<'_, M>,
    turn: Turn<'g, M>,
    key: &Sought<'_>,
    value: &mut Option<Vec<u8>>,
) -> Result<Turn<'g, M>> {
    let (media, generation) = (guard.media(), guard.space().generation());
    match turn {
        Turn::Node(node, from) => {
            return ahead(media, through(media, node, key.bytes, from, generation)?, key);
        }
        Turn::Record(at) => {
            *value = Record::find(media, at, key.bytes)?.map(|record| record.value().to_vec());
        }
        Turn::Fingerprints(at, kind) => {
            let array = Array::enter(media, at, kind)?;
            if Array::<M>::is_prefetched_whole(kind) {
                array.prefetch_hits::<true>(key.fingerprint);
                return Ok(Turn::Records(array));
            }
            array.prefetch_hits::<false>(key.fingerprint);
            return Ok(Turn::Slots(array));
        }
        Turn::Slots(array) => {
            array.prefetch_hits::<true>(key.fingerprint);
            return Ok(Turn::Records(array));
        }
        Turn::Records(array) => {
            let found = array.find(key.bytes, key.fingerprint, generation)?;
            *value = found.map(|(_, record)| record.value().to_vec());
        }
        Turn::Done => {}
    }
    Ok(Turn::Done)
}
