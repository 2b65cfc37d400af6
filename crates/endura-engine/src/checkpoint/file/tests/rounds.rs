//! Rounds, one after the other.

use super::disk::Losing;
use super::model::{Model, moment, open, page_of};
use super::random::Random;
use crate::checkpoint::file::root::SLOT;
use crate::checkpoint::file::{CheckpointFile, Failure};
use crate::os::door::DiskFile;

/// Each round leaves one page in sixteen of those that the round before has written. The gaps between them are too
/// short for long pieces.
#[test]
fn pages_that_stay_do_not_make_the_file_grow_without_end() {
    let disk = Losing::ending_at(u64::MAX);
    let mut file = open(disk.clone()).unwrap();
    let all = 1_600_u32;
    let mut changing: Vec<u32> = (0..all).collect();
    for n in 0..60 {
        let bytes = vec![1 + n as u8; changing.len() * SLOT];
        let mut round = file.begin().unwrap();
        round.reserve(changing.len() as u32).unwrap();
        round.add(&changing, &bytes).unwrap();
        round.commit(moment(all, n)).unwrap();
        let stays: Vec<u32> = changing.iter().copied().step_by(16).collect();
        changing.retain(|page| !stays.contains(page));
    }
    let slots = file.file.length().unwrap() / SLOT as u64;
    assert!(slots < 4 * u64::from(all), "{slots} slots for {all} pages");
}

/// A round that needed more space than the disk has leaves enough for smaller ones.
#[test]
fn a_round_that_is_too_large_leaves_room_for_others() {
    let disk = Losing::ending_at(u64::MAX);
    disk.0.lock().room = Some(128 * SLOT);
    let mut file = open(disk).unwrap();
    let mut write = |pages: u32, n: u64| {
        let (numbers, bytes): (Vec<u32>, _) =
            ((0..pages).collect(), vec![7; pages as usize * SLOT]);
        let mut round = file.begin()?;
        round.add(&numbers, &bytes)?;
        round.commit(moment(400, n))
    };
    write(30, 1).unwrap();
    assert!(matches!(write(300, 2), Err(Failure::Io(_))));
    write(30, 3).unwrap();
}

#[test]
fn many_rounds_take_little_more_than_twice_the_pool() {
    let (mut random, disk) = (Random(3), Losing::ending_at(u64::MAX));
    let mut file = open(disk.clone()).unwrap();
    let pages = 400;
    let mut model = Model { pages, ..Model::default() };
    for _ in 0..600 {
        model.round += 1;
        let mut changed: Vec<u32> = (0..20).map(|_| random.below(pages.into()) as u32).collect();
        changed.sort_unstable();
        changed.dedup();
        for &page in &changed {
            model.bytes.insert(page, 1 + random.below(200) as u8);
        }
        model.write(&mut file, &changed).unwrap();
    }
    assert!(model.is_in(&file) && model.is_in(&open(disk).unwrap()));
    let slots = file.file.length().unwrap() / SLOT as u64;
    assert!(slots < 2 * u64::from(pages) + 200, "{slots} slots for {pages} pages");
}

/// Rounds of many calls on a disk that is full once the pages are reserved. Pages that stay leave short gaps
/// everywhere.
#[test]
fn what_was_reserved_is_there_and_nothing_is_synced_before_the_end() {
    for seed in 0..60 {
        let (mut random, disk) = (Random(seed), Losing::ending_at(u64::MAX));
        let mut file = open(disk.clone()).unwrap();
        for n in 0..40 {
            let pages = 400 - 100 * u32::from(n % 9 == 8);
            let mut round = file.begin().unwrap();
            let syncs = disk.0.lock().syncs;
            let mut left = random.below(160) as u32;
            round.reserve(left / 2).unwrap();
            round.reserve(left).unwrap();
            let allocations = disk.0.lock().allocations;
            while left > 0 {
                let count = (1 + random.below(40) as u32).min(left);
                left -= count;
                let (first, step) = (random.below(400) as u32, 1 + random.below(9) as u32);
                let mut numbers: Vec<u32> = (0..count).map(|i| (first + i * step) % 400).collect();
                numbers.sort_unstable();
                numbers.dedup();
                let bytes = numbers.iter().flat_map(|&page| page_of(n as u8 % 7, page));
                round.add(&numbers, &bytes.collect::<Vec<_>>()).unwrap();
            }
            assert_eq!(disk.0.lock().syncs, syncs);
            round.commit(moment(pages, n)).unwrap();
            let state = disk.0.lock();
            assert_eq!((state.allocations, state.syncs), (allocations, syncs + 2), "round {n}");
        }
    }
}

/// Pages that stay leave gaps of two slots everywhere, and calls of five pages look for longer ones. None of them takes
/// the place of the run. A second reservation that fails does not lose that place.
#[test]
fn the_run_has_a_place_as_soon_as_it_is_reserved() {
    for fails in [false, true] {
        let disk = Losing::ending_at(u64::MAX);
        let mut file = open(disk.clone()).unwrap();
        let all: Vec<u32> = (0..1_999).collect();
        let mut round = file.begin().unwrap();
        round.add(&all, &[7; SLOT].repeat(1_999)).unwrap();
        round.commit(moment(1_999, 1)).unwrap();
        let gone: Vec<u32> = all.iter().copied().filter(|n| n % 3 != 0).collect();
        let mut round = file.begin().unwrap();
        round.add(&gone, &vec![0; gone.len() * SLOT]).unwrap();
        round.commit(moment(1_999, 2)).unwrap();
        // Few slots are in use now, and only two gaps are longer: one of 8 slots, and one of 36 at the end of the file.
        assert_eq!(disk.length().unwrap(), 2_048 * SLOT as u64);
        let mut round = file.begin().unwrap();
        round.reserve(800).unwrap();
        let length = disk.length().unwrap();
        disk.0.lock().room = Some(length as usize);
        if fails {
            assert!(matches!(round.reserve(u32::MAX / 2), Err(Failure::Io(_))));
        }
        for pages in gone[..800].chunks(5) {
            round.add(pages, &[9; 5 * SLOT]).unwrap();
        }
        round.commit(moment(1_999, 3)).unwrap();
        assert_eq!((disk.length().unwrap(), file.table.count()), (length, 667 + 800));
    }
}

#[test]
fn pages_behind_the_last_that_the_file_may_have_are_refused() {
    let mut file = open(Losing::ending_at(u64::MAX)).unwrap();
    let mut round = file.begin().unwrap();
    assert!(matches!(round.add(&[2_000], &[1; SLOT]), Err(Failure::TooLarge)));
    round.add(&[1_999], &[1; SLOT]).unwrap();
    assert!(matches!(round.commit(moment(2_001, 1)), Err(Failure::TooLarge)));
    assert!(file.newest().is_none() && file.bytes() == 2 * SLOT as u64);
    let mut round = file.begin().unwrap();
    round.add(&[1_999], &[1; SLOT]).unwrap();
    assert_eq!(round.commit(moment(2_000, 1)).unwrap(), 3 * SLOT as u64);
    assert!(file.pages().eq([1_999]));
}

/// The list of pages is written, and read, in several pieces.
#[test]
fn a_run_may_be_long() {
    let disk = Losing::ending_at(u64::MAX);
    let mut file = CheckpointFile::open(disk.clone(), 50_000).unwrap();
    let mut round = file.begin().unwrap();
    for first in (0..50_000).step_by(1_000) {
        let numbers: Vec<u32> = (first..first + 1_000).collect();
        let mut bytes = vec![0; 1_000 * SLOT];
        bytes[999 * SLOT..].copy_from_slice(&page_of(1 + (first / 1_000) as u8, first + 999));
        round.add(&numbers, &bytes).unwrap();
    }
    let written = round.commit(moment(50_000, 1)).unwrap();
    assert_eq!(written, (50 + 50_000_u64.div_ceil(256) + 1) * SLOT as u64);
    let found = CheckpointFile::open(disk, 50_000).unwrap();
    assert!(found.pages().eq((999..50_000).step_by(1_000)));
    for page in found.pages() {
        let mut bytes = [0; SLOT];
        found.read(page, &mut bytes).unwrap();
        assert_eq!(bytes, page_of(1 + (page / 1_000) as u8, page));
    }
}
