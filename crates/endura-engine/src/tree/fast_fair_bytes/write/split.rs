//! A full leaf becomes two in place (FAIR: section 4.1 of the paper, algorithm 2), where words can part its entries.
//!
//! S1 the lock of the full leaf L is held; S2 the right half of L is written to a new leaf N, with a prefix of its own,
//! which is created locked and is not linked yet; S3 three stores to one line of L hand the range over:
//! `sib = N|SPLITTING`, `high` = the word at which N begins, `sib = N`; S4 N is unlocked, and the new entry is inserted into
//! L if it belongs there; S5 the caller posts N's separator one level up.
//!
//! A new entry that belongs to the right half is written to N with that half, in S2, before any store that leads to N.
//! So the store of `high` commits the new entry as well, and no reader or crash finds N without the entry. A new entry
//! that belongs to L is inserted there last, in S4, when S3 is durable: this is an insert like any other.

use std::ops::Range;

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;
use crate::tree::fast_fair::nodes::lock_word::Primitive;
use crate::tree::fast_fair::nodes::locked::Locked;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, Link};
use crate::tree::fast_fair_bytes::nodes::shift::{Place, fast_insert};
use crate::tree::fast_fair_bytes::path::trail::Separator;
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::fast_fair_bytes::write::build::NewNode;
use crate::tree::key_word::{ABOVE, KeyWord, separator, separator_len, shortest_word};
use crate::tree::records::fresh::Fresh;

/// Where a leaf is divided: the number of its entries that stay, and the word at which the new leaf begins.
#[derive(Debug, Clone, Copy)]
struct Division {
    stay: usize,
    word: u64,
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// Splits the full leaf `locked` and inserts an entry, durably. `None`, with nothing changed, if words cannot divide the
    /// leaf well. If it fails, usually because there is no space for another leaf, nothing has changed either.
    pub(crate) fn fair_split<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        locked: &mut Locked<'g, M, LEAF>,
        place: Place,
        (word, reference): (u64, u64),
    ) -> Result<Option<Separator>> {
        let (left, media) = (ByteNode::of(locked.node()), guard.media());
        let Some(division) = divide::<K, M, LEAF>(&left, place, word) else { return Ok(None) };
        let goes_right = word >= division.word;
        if if goes_right { place.slot < division.stay } else { place.slot > division.stay } {
            return Err(left.corrupt("keys out of order"));
        }
        let mut fresh = Fresh::new(guard);
        let right = self.write_right(guard, &mut fresh, &left, place, division, |all| {
            if goes_right {
                all.insert(place.slot - division.stay, reference);
            }
        })?;
        media.mark(Mark::Step("split.S2"));
        // The fence is before S3: what a durable link leads to must be durable. It completes the flush of N.
        media.fence();
        let (at, right) = (right.at(), Locked::adopt(guard, right.plain()));
        fresh.linked();

        locked.begin(Primitive::Header);
        left.set_link(Link::Splitting(at));
        media.mark(Mark::Step("split.S3.sib"));
        left.set_high(division.word);
        media.mark(Mark::Step("split.S3.high"));
        left.set_link(Link::Right(at));
        media.mark(Mark::Step("split.S3.tag"));
        // Flushes the line with all three stores of S3. The drain below completes the flush.
        left.flush_header();
        // The drain is before N is unlocked: otherwise a writer that reached N by the link could acknowledge a write in
        // a node that a crash can unlink (V8). The drain also makes the new entry durable if the entry is in N.
        media.drain();
        media.mark(Mark::Step("split.S3.durable"));
        drop(right);

        // A wrong hint costs time only: it is noticed, and the slots are counted instead.
        left.set_hint(division.stay);
        if !goes_right {
            media.mark(Mark::Step("split.S4"));
            let place = Place { count: division.stay, slot: place.slot };
            fast_insert(guard, locked, place, word, reference);
        }
        Ok(Some(Separator { child: at, level: 1 }))
    }

    /// S2: writes the right leaf, which no other thread can reach yet.
    fn write_right<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        fresh: &mut Fresh<'g, M>,
        left: &ByteNode<'g, M, LEAF>,
        place: Place,
        division: Division,
        complete: impl FnOnce(&mut Vec<u64>),
    ) -> Result<ByteNode<'g, M, LEAF>> {
        let moving = division.stay..place.count;
        let mut references: Vec<u64> = moving.map(|slot| left.peek_reference(slot)).collect();
        complete(&mut references);
        let low = separator::<K>(&left.prefix()?, division.word);
        let sibling = left.link()?.at();
        let high = match sibling {
            0 => None,
            at => Some(self.low_at(guard, at, 0)?),
        };
        let (high, references) = (high.as_deref(), &references[..]);
        self.build(guard, fresh, NewNode { references, low: &low, high, sibling, level: 0 })
    }
}

/// The place at which words divide a full leaf best. Usually it is in the middle third, where the separator is shortest. It
/// is at the end if the new key is behind all others, and at the start if the new key is before all others, so that
/// ascending and descending loads produce full leaves. `None` if equal words are in the way, or if most words are equal:
/// then the leaf needs another prefix.
fn divide<K: KeyWord, M: Media, const W: usize>(
    leaf: &ByteNode<'_, M, W>,
    place: Place,
    word: u64,
) -> Option<Division> {
    let count = place.count;
    let at = |slot: usize| leaf.peek_word(slot);
    let between = |before: u64, at: u64| {
        // Keys outside of the prefix share one word on each side.
        (before < at && before != 0 && at != ABOVE).then(|| shortest_word::<K>(before, at))
    };
    if place.slot == count {
        let word = between(at(count - 1), word)?;
        return Some(Division { stay: count, word });
    }
    if (1..count).filter(|&slot| at(slot - 1) == at(slot)).count() > count / 2 {
        return None;
    }
    let middle: Range<usize> = match place.slot {
        0 => 1..2,
        _ => count / 3 + 1..count - count / 3,
    };
    let divisions = middle.filter_map(|stay| {
        let word = between(at(stay - 1), at(stay))?;
        Some(Division { stay, word })
    });
    divisions
        .min_by_key(|division| (separator_len(division.word), division.stay.abs_diff(count / 2)))
}
