//! Files that no round has written.

use xxhash_rust::xxh3::xxh3_64;

use super::disk::Losing;
use super::model::{MOST, Model, moment, open as open_file, page_of};
use super::random::Random;
use crate::checkpoint::file::root::{Root, Run, SLOT};
use crate::checkpoint::file::runs::encode;
use crate::checkpoint::file::table::{PageEntry, PagePlace};
use crate::checkpoint::file::{CheckpointFile, Failure};

/// A file whose hashes are right, but whose contents no round has written.
#[test]
fn a_file_that_no_round_wrote_is_refused() {
    let entry = |page, slot| PageEntry { page, place: PagePlace { slot, hash: 0 } };
    let run = |slot, entries: &[PageEntry]| {
        let bytes: Vec<u8> = entries.iter().flat_map(encode).collect();
        (Run { slot, entries: entries.len() as u32, hash: xxh3_64(&bytes) }, bytes)
    };
    let open = |pages, sequence, runs: &[(Run, Vec<u8>)], slots: usize| {
        let runs_of = runs.iter().map(|(run, _)| *run).collect();
        let root = Root { moment: moment(pages, 1), sequence, previous: 0, runs: runs_of };
        let mut bytes = vec![0; slots * SLOT];
        let at = sequence as usize % 2 * SLOT;
        bytes[at..at + SLOT].copy_from_slice(&root.encode());
        for (run, entries) in runs {
            let at = run.slot as usize * SLOT;
            if let Some(place) = bytes.get_mut(at..at + entries.len()) {
                place.copy_from_slice(entries);
            }
        }
        open_file(Losing::holding(bytes)).err().map(|failure| format!("{failure:?}"))
    };
    assert_eq!(open(MOST, 1, &[run(2, &[entry(8, 3)])], 8), None);
    let rotten = |run: (Run, Vec<u8>)| (Run { hash: run.0.hash ^ 1, ..run.0 }, run.1);
    let refused = [
        ("a run with another hash", open(9, 1, &[rotten(run(2, &[entry(8, 3)]))], 8)),
        ("pages without number", open(MOST + 1, 1, &[], 8)),
        ("a number that has no next", open(9, u64::MAX, &[], 8)),
        ("no number", open(9, 0, &[], 8)),
        ("a page behind the last", open(9, 1, &[run(2, &[entry(9, 3)])], 8)),
        ("a page in a root", open(9, 1, &[run(2, &[entry(8, 1)])], 8)),
        ("a page in a run", open(9, 1, &[run(2, &[entry(8, 2)])], 8)),
        ("a page behind the file", open(9, 1, &[run(2, &[entry(8, 8)])], 8)),
        ("two pages in one place", open(9, 1, &[run(2, &[entry(7, 3), entry(8, 3)])], 8)),
        ("a page twice in a run", open(9, 1, &[run(2, &[entry(7, 3), entry(7, 4)])], 8)),
        ("two runs in one place", open(9, 1, &[run(2, &[entry(8, 3)]), run(2, &[entry(8, 3)])], 8)),
        ("a run in a root", open(9, 1, &[run(0, &[entry(8, 3)])], 8)),
        ("more entries than pages", open(9, 1, &[run(2, &[entry(8, 3); 11])], 8)),
        ("a run behind the file", open(9, 1, &[run(8, &[entry(8, 3)])], 8)),
    ];
    for (what, found) in refused {
        assert!(found.is_some(), "{what}");
    }
}

/// A short file of a pool of 16 TiB, almost all of it zeros.
#[test]
fn a_short_file_takes_little_memory() {
    let spread = (0..900).map(|i| PageEntry { page: i << 22, place: PagePlace::default() });
    let mut entries: Vec<PageEntry> = spread.collect();
    entries[899].place = PagePlace { slot: 2, hash: 7 };
    let run: Vec<u8> = entries.iter().flat_map(encode).collect();
    let runs = vec![Run { slot: 3, entries: 900, hash: xxh3_64(&run) }];
    let root = Root { moment: moment(u32::MAX, 1), sequence: 1, previous: 0, runs };
    let mut bytes = vec![0; 7 * SLOT];
    bytes[SLOT..2 * SLOT].copy_from_slice(&root.encode());
    bytes[3 * SLOT..][..run.len()].copy_from_slice(&run);
    let file = CheckpointFile::open(Losing::holding(bytes), u32::MAX).unwrap();
    assert!(file.pages().eq([899 << 22]));
    assert_eq!(file.table.chunks(), 1);
}

#[test]
fn roots_that_change_places_and_a_file_that_is_cut_are_refused() {
    let disk = Losing::ending_at(u64::MAX);
    let mut file = open_file(disk.clone()).unwrap();
    let model = Model { pages: 9, round: 1, bytes: [(1, 7)].into() };
    model.write(&mut file, &[1]).unwrap();
    for damage in [(|bytes| bytes.copy_within(SLOT..2 * SLOT, 0)) as fn(&mut Vec<u8>), |bytes| {
        bytes.copy_within(SLOT..2 * SLOT, 0);
        bytes.truncate(SLOT + 5);
    }] {
        let broken = Losing::holding(disk.0.lock().now.clone());
        damage(&mut broken.0.lock().now);
        assert!(matches!(open_file(broken), Err(Failure::Damaged(_))));
    }
}

/// The open file knows already where the pages lie.
#[test]
fn a_file_that_is_cut_while_it_is_open_is_damaged() {
    let disk = Losing::ending_at(u64::MAX);
    let mut file = open_file(disk.clone()).unwrap();
    let model = Model { pages: 9, round: 1, bytes: [(1, 7)].into() };
    model.write(&mut file, &[1]).unwrap();
    disk.0.lock().now.truncate(2 * SLOT + 5);
    assert!(matches!(file.read(1, &mut [0; SLOT]), Err(Failure::Damaged(_))));
}

#[test]
fn no_damaged_file_makes_it_panic_or_read_another_page() {
    let (mut random, disk) = (Random(5), Losing::ending_at(u64::MAX));
    let mut file = open_file(disk.clone()).unwrap();
    let mut model = Model::default();
    for _ in 0..30 {
        let changed = model.change(&mut random);
        model.write(&mut file, &changed).unwrap();
    }
    let good = disk.0.lock().now.clone();
    for _ in 0..2_000 {
        let mut bytes = good.clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
        if random.below(4) == 0 {
            bytes.truncate(random.below(bytes.len() as u64) as usize);
        }
        let Ok(found) = open_file(Losing::holding(bytes)) else { continue };
        for page in 0..model.pages {
            let mut bytes = [9; SLOT];
            if found.read(page, &mut bytes).is_ok() && found.newest() == file.newest() {
                let byte = model.bytes.get(&page).copied().unwrap_or(0);
                assert_eq!(bytes, page_of(byte, page));
            }
        }
    }
}

/// The newest root has rotted, or its write never reached the disk. The slots of pages that it had replaced were free.
#[test]
fn an_older_root_counts_if_all_of_its_pages_are_as_they_were() {
    let model = |round: u64| {
        let bytes = (0..40).map(|page| (page, round as u8)).collect();
        Model { pages: 40, round, bytes }
    };
    let all: Vec<u32> = (0..40).collect();
    let disk = Losing::ending_at(u64::MAX);
    let mut file = open_file(disk.clone()).unwrap();
    for round in 1..=4 {
        model(round).write(&mut file, &all).unwrap();
    }
    let stale = disk.0.lock().now[SLOT..2 * SLOT].to_vec();
    for round in 5..=7 {
        model(round).write(&mut file, &all).unwrap();
    }
    // Damage to the root in slot 1.
    type Damage<'a> = &'a dyn Fn(&mut [u8]);
    let damages: [(&str, Damage<'_>); 3] = [
        ("torn", &|root| root[100] ^= 1),
        ("zeros", &|root| root.fill(0)),
        ("older", &|root| root.copy_from_slice(&stale)),
    ];
    let open_damaged = |damage: Damage<'_>| {
        let mut bytes = disk.0.lock().now.clone();
        damage(&mut bytes[SLOT..2 * SLOT]);
        open_file(Losing::holding(bytes))
    };
    for (what, damage) in damages {
        assert!(model(6).is_in(&open_damaged(damage).unwrap()), "{what}");
    }
    let mut round = file.begin().unwrap();
    round.add(&[3], &page_of(9, 3)).unwrap();
    drop(round);
    assert!(model(7).is_in(&open_damaged(&|_| ()).unwrap()));
    for (what, damage) in damages {
        assert!(matches!(open_damaged(damage), Err(Failure::Damaged(_))), "{what}");
    }
}
