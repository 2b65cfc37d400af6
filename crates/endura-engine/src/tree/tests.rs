//! What trees execute in each persistence domain.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::ops::Bound;
use std::sync::Arc;

use super::byte_range::ByteRange;
use super::ends::Choice;
use super::fast_fair::{self, LineBinary};
use super::pops::{Popped, pop};
use super::word_range::WordRange;
use super::{ByteChange, ByteIndex, Change, Index, nbtree, roart};
use crate::media::{
    Domain, FlushInstruction, Heap, Mapped, Mapping, Media, Reservation, WRITTEN_BACK,
};
use crate::space::{PAGE, Session, Space};

/// Keys that are inserted, updated and removed: enough for every change of shape.
const KEYS: u64 = 2_000;

/// The number of cache lines that `work` writes back, on a new pool in a file.
fn written_back(domain: Domain, work: impl FnOnce(&Arc<Space<Mapped>>)) -> u64 {
    let instruction = FlushInstruction::best().unwrap_or(FlushInstruction::Clflush);
    let mapping =
        Mapping { read_only: false, direct: false, domain, instruction, notes_pages: false };
    let (file, room) = (tempfile::tempfile().unwrap(), Reservation::new(64 << 20).unwrap());
    let medium = Mapped::new(file, room, mapping).unwrap();
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

fn fast_fair(domain: Domain) -> u64 {
    written_back(domain, |space| {
        churn(&fast_fair::Tree::<_, 62, 62, LineBinary>::open(space, "map").unwrap());
    })
}

fn nbtree(domain: Domain) -> u64 {
    written_back(domain, |space| churn(&nbtree::Tree::<_, 128, 64>::open(space, "map").unwrap()))
}

fn roart(domain: Domain) -> u64 {
    written_back(domain, |space| {
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
    for domain in [Domain::Eadr, Domain::PageCache] {
        assert_eq!([fast_fair(domain), nbtree(domain), roart(domain)], [0; 3], "{domain}");
    }
}

/// If caches are lost, each insert, update and remove writes back at least one cache line.
#[test]
fn where_caches_are_lost_every_operation_writes_back() {
    let lines = [fast_fair, nbtree, roart].map(|of| of(Domain::Adr));
    assert!(lines.iter().all(|&lines| lines >= 3 * KEYS), "{lines:?}");
}

/// Fills an index and scans it from both ends, inside a pin whose epoch is `epochs` behind. Returns the number of
/// entries found.
fn ends_behind<I: Index>(
    open: impl FnOnce(&Arc<Space<Heap>>) -> I + Send + 'static,
    epochs: u64,
) -> usize {
    patiently(move || {
        let space = heap();
        let tree = open(&space);
        (0..1_000).for_each(|key| _ = tree.modify(key, |_| Change::Put(key)).unwrap());
        let _outer = space.pin().unwrap();
        space.fall_behind(epochs);
        let (mut up, mut down) = (WordRange::new(5..), WordRange::new(..));
        let mut entries = 0;
        for _ in 0..500 {
            entries += usize::from(up.next(&tree).transpose().unwrap().is_some());
            entries += usize::from(down.next_back(&tree).transpose().unwrap().is_some());
        }
        entries
    })
}

fn heap() -> Arc<Space<Heap>> {
    let medium = Heap::new(16 * PAGE);
    Space::format(&medium).unwrap();
    let session = Session { generation: 1, clean: true, read_only: false };
    let space = Arc::new(Space::mount(medium, session).unwrap());
    (0..4).for_each(|_| _ = space.relieve());
    space
}

/// The result of `work`; fails if `work` loops for ever.
fn patiently<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    wait.recv_timeout(std::time::Duration::from_secs(20)).expect("it does not end")
}

/// While a pin sleeps between reading the epoch and publishing it, the epoch may advance by two, and then not again. No
/// seat that is taken inside that pin is valid.
#[test]
fn a_scan_ends_inside_a_pin_that_lies_behind() {
    for epochs in 0..4 {
        let fast_fair =
            |space: &_| fast_fair::Tree::<_, 62, 62, LineBinary>::open(space, "map").unwrap();
        assert_eq!(ends_behind(fast_fair, epochs), 1_000);
        let nbtree = |space: &_| nbtree::Tree::<_, 128, 64>::open(space, "map").unwrap();
        assert_eq!(ends_behind(nbtree, epochs), 1_000);
        let roart = patiently(move || {
            let space = heap();
            let tree: roart::Tree<_> = roart::Tree::open(&space, "map").unwrap();
            let put = |key: u64| tree.modify(&key.to_be_bytes(), |_| ByteChange::Put(b"".into()));
            (0..1_000).for_each(|key| put(key).unwrap());
            let _outer = space.pin().unwrap();
            space.fall_behind(epochs);
            let all = || ByteRange::new(Bound::Unbounded, Bound::Unbounded);
            let (mut up, mut down) = (all(), all());
            let mut entries = 0;
            for _ in 0..500 {
                entries += usize::from(up.next(&tree, true, true).unwrap().is_some());
                entries += usize::from(down.next(&tree, false, true).unwrap().is_some());
            }
            entries
        });
        assert_eq!(roart, 1_000);
    }
}

/// A rival may replace the entry by an equal one each time before a pop removes it. The pop must still end its pin and
/// release the inserts that it holds up.
#[test]
fn a_pop_that_decides_in_vain_chooses_again() {
    let space = heap();
    let tree = fast_fair::Tree::<_, 62, 62, LineBinary>::open(&space, "map").unwrap();
    let popped = pop(
        &tree.open,
        &|turn| turn.announce_number(true, 7),
        &|| Ok(Choice::End),
        &|_, decide| {
            let decisions = (0..1_000_000).take_while(|_| decide()).count();
            assert!((1..1_000).contains(&decisions), "{decisions} decisions in one pin");
            assert!(!decide(), "it goes on");
            Ok(false)
        },
    );
    assert_eq!(popped.unwrap(), Popped::Beaten);
    assert!(tree.open.map().pops().admit(&3));
}
