//! Damage: to a file of checkpoints, to superblocks, and to the pool itself.

use endura_engine::space::superblock::{self, BYTES};
use xxhash_rust::xxh3::xxh3_64;

use super::history::{ROOM, SLOT};
use crate::choices::{Choices, EXTREMES};

const SECTOR: usize = 512;
/// Where a root has its number of pages, of runs, its superblock, its runs and its hash.
const PAGES: usize = 32;
const RUNS: usize = 40;
const SUPERBLOCK: usize = 64;
const FIRST_RUN: usize = 320;
const HASH: usize = 4088;
/// Bytes of a run in a root, and of an entry in a run.
const ENTRY: usize = 16;

fn four(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// Another value of the word at `at`; nothing if the bytes end before.
fn change_word(bytes: &mut [u8], at: usize, choices: &mut Choices<'_>) {
    let at = at / 8 * 8;
    let Some(place) = bytes.get_mut(at..at + 8) else { return };
    let word = u64::from_le_bytes((&*place).try_into().unwrap());
    let how = choices.byte();
    let changed = match how % 8 {
        0..3 => word ^ 1 << (choices.byte() % 64),
        3 => 0,
        4 => EXTREMES[usize::from(how / 8) % EXTREMES.len()],
        5 => word.wrapping_add(u64::from(choices.byte())).wrapping_sub(128),
        6 => word & !0xFFFF_FFFF | u64::from(choices.byte()),
        _ => choices.number(),
    };
    place.copy_from_slice(&changed.to_le_bytes());
}

/// Changes a file of checkpoints. `others` are the same file at other times.
pub(super) fn alter(kept: &mut Vec<u8>, others: &[&[u8]], choices: &mut Choices<'_>) {
    for _ in 0..1 + choices.below(5) {
        let slots = (kept.len() / SLOT).max(1);
        let [slot, other] = [choices.below(slots), choices.below(slots)].map(|slot| slot * SLOT);
        let of_root = choices.below(2) * SLOT;
        let time = others[choices.below(others.len())];
        let (offset, how) = (choices.below(SLOT), choices.byte());
        match how % 12 {
            0 => change_word(kept, slot + offset, choices),
            1 | 2 => change_word(kept, of_root + offset % (FIRST_RUN + 4 * ENTRY), choices),
            3 => change_word(kept, of_root + offset, choices),
            4 => fill(kept, slot, choices.byte()),
            5 if other + SLOT <= kept.len() => kept.copy_within(other..other + SLOT, slot),
            5 => kept.clear(),
            6 => copy(kept, slot, time, slot, SLOT),
            7 => copy(kept, of_root, time, of_root, SLOT),
            8 => {
                // Only some sectors of a slot came to the disk.
                let at = if how < 128 { slot } else { of_root } + offset / SECTOR * SECTOR;
                copy(kept, at, time, at, SECTOR);
            }
            9 => {
                let old = kept.clone();
                copy(kept, slot, &old, other, SLOT);
                copy(kept, other, &old, slot, SLOT);
            }
            10 if how < 64 => kept.truncate(slot + offset * usize::from(how % 2)),
            10 => kept.resize(kept.len() + offset * usize::from(how % 5), choices.byte()),
            _ => change_word(kept, slot + offset % 64, choices),
        }
    }
}

fn fill(bytes: &mut [u8], at: usize, byte: u8) {
    if let Some(place) = bytes.get_mut(at..at + SLOT) {
        place.fill(byte);
    }
}

fn copy(to: &mut [u8], at: usize, from: &[u8], there: usize, length: usize) {
    if let (Some(place), Some(bytes)) =
        (to.get_mut(at..at + length), from.get(there..there + length))
    {
        place.copy_from_slice(bytes);
    }
}

/// Changes what a root says, and its runs; their checksums are right afterwards, as far as the fuzzer says.
pub(super) fn alter_sealed(kept: &mut Vec<u8>, others: &[&[u8]], choices: &mut Choices<'_>) {
    if choices.one_in(2) {
        alter(kept, others, choices);
    }
    for _ in 0..choices.below(6) {
        let of_root = choices.below(2) * SLOT;
        let (which, offset) = (choices.below(4), choices.below(SLOT));
        let run = of_root + FIRST_RUN + which * ENTRY;
        let place = kept.get(run..run + ENTRY).map_or(0, |run| four(run, 0) * SLOT);
        match choices.byte() % 6 {
            0 => change_word(kept, of_root + 16 + offset % 48, choices),
            1 => change_word(kept, of_root + SUPERBLOCK + offset % BYTES, choices),
            2 => change_word(kept, run + offset % ENTRY, choices),
            3 | 4 => change_word(kept, place + offset % 512, choices),
            _ => change_word(kept, place + SLOT + offset, choices),
        }
    }
    let sealed = choices.byte();
    for of_root in [0, SLOT] {
        if kept.len() >= 2 * SLOT {
            seal_root(kept, of_root, sealed);
        }
    }
}

fn seal_root(kept: &mut [u8], of_root: usize, sealed: u8) {
    let mut root = kept[of_root..of_root + SLOT].to_vec();
    // More could be made only in a day: a program of ill will can have that.
    let pages = u64::from_le_bytes(root[PAGES..PAGES + 8].try_into().unwrap());
    if pages > 2 * ROOM / SLOT as u64 && pages >> 32 == 0 {
        root[PAGES..PAGES + 8].copy_from_slice(&(pages % (2 * ROOM / SLOT as u64)).to_le_bytes());
    }
    for run in
        root[FIRST_RUN..HASH].chunks_exact_mut(ENTRY).take(four(&kept[of_root..], RUNS).min(200))
    {
        let (at, entries) = (four(run, 0) * SLOT, four(run, 4));
        let Some(list) = kept.get(at..at.saturating_add(entries * ENTRY)) else { continue };
        let mut list = list.to_vec();
        for entry in list.chunks_exact_mut(ENTRY) {
            let page = four(entry, 4) * SLOT;
            if let Some(page) = kept.get(page..page + SLOT).filter(|_| page > 0) {
                let hash = xxh3_64(page).to_le_bytes();
                if sealed & 1 == 0 {
                    entry[8..].copy_from_slice(&hash);
                }
            }
        }
        if sealed & 2 == 0 {
            run[8..].copy_from_slice(&xxh3_64(&list).to_le_bytes());
        }
        kept[at..at + list.len()].copy_from_slice(&list);
    }
    if sealed & 4 == 0 {
        let copy: &mut [u8; BYTES] = (&mut root[SUPERBLOCK..FIRST_RUN]).try_into().unwrap();
        superblock::seal(copy);
    }
    if sealed & 8 == 0 || sealed & 16 == 0 {
        let hash = xxh3_64(&root[..HASH]).to_le_bytes();
        root[HASH..].copy_from_slice(&hash);
    }
    kept[of_root..of_root + SLOT].copy_from_slice(&root);
}

/// Changes superblocks: one copy or both.
pub(super) fn alter_superblock(pool: &mut [u8], choices: &mut Choices<'_>, seals: bool) {
    for _ in 0..1 + choices.below(6) {
        let (at, offset) = (choices.below(2) * SLOT, choices.below(BYTES));
        match choices.byte() % 8 {
            0 => fill(pool, at, choices.byte()),
            1 => pool.copy_within(SLOT - at..SLOT - at + BYTES, at),
            2 => pool.copy_within(SLOT - at + offset / 2..SLOT - at + offset / 2 + 16, at + offset),
            3 => pool.copy_within(2 * SLOT..2 * SLOT + BYTES, at),
            _ => change_word(pool, at + offset, choices),
        }
    }
    if seals {
        for at in [0, SLOT] {
            superblock::seal((&mut pool[at..at + BYTES]).try_into().unwrap());
        }
    }
}

/// Leaves pages as garbage, or as they were at another time, as a power loss does with what was not written back.
pub(super) fn tear(pool: &mut Vec<u8>, other: &[u8], choices: &mut Choices<'_>) {
    let (which, garbage) = (choices.number() | 1, choices.byte());
    for page in 2..pool.len() / SLOT {
        match (which.wrapping_mul(2 * page as u64 + 1) >> 20) % 6 {
            0 => fill(pool, page * SLOT, garbage),
            1 => copy(pool, page * SLOT, other, page * SLOT, SLOT),
            _ => {}
        }
    }
    let pages = pool.len() / SLOT;
    match choices.byte() % 8 {
        0 => pool.truncate((pages / 2 + 2) * SLOT + 100),
        1 => pool.resize(pool.len() + 32 * SLOT, garbage),
        _ => {}
    }
}
