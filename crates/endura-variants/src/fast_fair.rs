//! Searches and nodes that the product does not use, and the numbered steps of FAST & FAIR's protocol.

use std::hint::select_unpredictable;

use endura_engine::media::Media;
use endura_engine::tree::fast_fair::{Keys, STRIDE, Search, Tree};

/// The paper's tree: nodes of 512 bytes on all levels, searched from the left unless told otherwise.
pub type Paper<M, S = Linear> = Tree<M, 64, 64, S>;

/// From the left, one key after the other, up to the first that is too large: the paper's way. It
/// waits for no more lines than it needs, and for as many misses in a row as that is lines.
#[derive(Debug, Clone, Copy, Default)]
pub struct Linear;

impl Search for Linear {
    #[inline(always)]
    fn last<M: Media, const W: usize>(keys: Keys<'_, '_, M, W>, low: u64, key: u64) -> usize {
        let (width, cap) = (key.wrapping_sub(low), Keys::<M, W>::CAP);
        let is_beyond = |&slot: &usize| !keys.is_within(slot * STRIDE, low, width);
        (1..cap).find(is_beyond).unwrap_or(cap).saturating_sub(1) * STRIDE
    }
}

/// Halving over all keys.
#[derive(Debug, Clone, Copy, Default)]
pub struct Binary;

impl Search for Binary {
    #[inline(always)]
    fn last<M: Media, const W: usize>(keys: Keys<'_, '_, M, W>, low: u64, key: u64) -> usize {
        let width = key.wrapping_sub(low);
        let (mut first, mut slots) = (0, Keys::<M, W>::CAP);
        while slots > 1 {
            let half = slots / 2;
            let middle = first + half * STRIDE;
            first = select_unpredictable(keys.is_within(middle, low, width), middle, first);
            slots -= half;
        }
        first
    }
}

/// What the tree announces with [`Mark::Step`](endura_engine::media::Mark::Step), in the order of the alphabet; the
/// documentation of the modules says what each is. Tests stop threads there, and crash.
pub const STEPS: [&str; 27] = [
    "fast_delete.commit",
    "fast_delete.shift",
    "fast_insert.commit",
    "fast_insert.shift",
    "lock.taken",
    "merge.M1",
    "merge.M2",
    "merge.M3",
    "merge.M4.high",
    "merge.M4.sib",
    "merge.M4.tag",
    "merge.M5",
    "post.P1",
    "post.P2",
    "read.inner",
    "read.leaf",
    "repair.duplicate",
    "repair.merging",
    "repair.splitting",
    "root.grow",
    "root.shrink",
    "split.S2",
    "split.S3.durable",
    "split.S3.high",
    "split.S3.sib",
    "split.S3.tag",
    "split.S4",
];
