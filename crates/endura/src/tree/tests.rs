//! What trees execute in each persistence domain.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use super::fast_fair::{self, LineBinary};
use super::{ByteChange, ByteIndex, Change, Index, nbtree, roart};
use crate::media::{
    Adr, Domain, Eadr, FlushInstruction, Mapped, Mapping, Media, PageCache, Reservation,
    WRITTEN_BACK,
};
use crate::pool::{PAGE, Session, Space};

/// Keys that are entered, updated and removed: enough for every change of shape.
const KEYS: u64 = 2_000;

/// How many lines are written back by work on a new pool in a file.
fn written_back<D: Domain>(work: impl FnOnce(&Arc<Space<Mapped<D>>>)) -> u64 {
    let instruction = FlushInstruction::best().unwrap_or(FlushInstruction::Clflush);
    let mapping = Mapping { read_only: false, direct: false, instruction, read_mostly: false };
    let (file, room) = (tempfile::tempfile().unwrap(), Reservation::new(64 << 20).unwrap());
    let medium = Mapped::<D>::new(file, room, mapping).unwrap();
    medium.grow(8 * PAGE).unwrap();
    let before = WRITTEN_BACK.get();
    Space::format(&medium).unwrap();
    let session = Session { generation: 1, clean: true, read_only: false };
    work(&Arc::new(Space::mount(medium, session).unwrap()));
    WRITTEN_BACK.get() - before
}

fn churn(index: &impl Index) {
    let key = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (0..KEYS).for_each(|n| _ = index.modify(key(n), |_| Change::Put(n)).unwrap());
    (0..KEYS).for_each(|n| _ = index.modify(key(n), |_| Change::Put(n + 1)).unwrap());
    (0..KEYS).for_each(|n| assert_eq!(index.get(key(n)).unwrap(), Some(n + 1)));
    (0..KEYS).for_each(|n| _ = index.modify(key(n), |_| Change::Remove).unwrap());
}

fn fast_fair<D: Domain>() -> u64 {
    written_back::<D>(|space| {
        churn(&fast_fair::Tree::<_, 62, 62, LineBinary>::open(space, "map").unwrap());
    })
}

fn nbtree<D: Domain>() -> u64 {
    written_back::<D>(|space| churn(&nbtree::Tree::<_, 128, 64>::open(space, "map").unwrap()))
}

fn roart<D: Domain>() -> u64 {
    written_back::<D>(|space| {
        let tree: roart::Tree<_> = roart::Tree::open(space, "map").unwrap();
        let put = |n: u64, value: u64| {
            let key = n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
            tree.modify(&key, |_| ByteChange::Put(value.to_le_bytes().to_vec().into())).unwrap();
        };
        (0..KEYS).for_each(|n| put(n, n));
        (0..KEYS).for_each(|n| put(n, n + 1));
        let remove = |n: u64| {
            let key = n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
            tree.modify(&key, |_| ByteChange::Remove).unwrap();
        };
        (0..KEYS).for_each(remove);
    })
}

#[test]
fn where_caches_are_durable_no_line_is_written_back() {
    assert_eq!([fast_fair::<Eadr>(), nbtree::<Eadr>(), roart::<Eadr>()], [0; 3]);
    assert_eq!([fast_fair::<PageCache>(), nbtree::<PageCache>(), roart::<PageCache>()], [0; 3]);
}

/// Where they are not each insert, update and remove writes back a line at least.
#[test]
fn where_caches_are_lost_every_operation_writes_back() {
    let lines = [fast_fair::<Adr>(), nbtree::<Adr>(), roart::<Adr>()];
    assert!(lines.iter().all(|&lines| lines >= 3 * KEYS), "{lines:?}");
}
