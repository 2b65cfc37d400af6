use std::collections::BTreeMap;

use super::*;
use crate::pool::checkpoint::losing_disk::{Losing, Random};

fn moment(pages: u32, n: u64) -> Moment {
    let mut superblock = [0; 192];
    superblock[..8].copy_from_slice(&n.to_le_bytes());
    Moment { pool: [1; 16], session: [2; 16], pages, superblock }
}

/// What a pool holds: of each page its first byte, 0 where it is zeros.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Model {
    pages: u32,
    round: u64,
    bytes: BTreeMap<u32, u8>,
}

fn page_of(byte: u8, page: u32) -> [u8; SLOT] {
    let mut bytes = [byte; SLOT];
    if byte != 0 {
        bytes[100..104].copy_from_slice(&page.to_le_bytes());
    }
    bytes
}

impl Model {
    /// Changes some pages; their numbers.
    fn change(&mut self, random: &mut Random) -> Vec<u32> {
        self.round += 1;
        self.pages = match random.below(8) {
            0 => 1 + random.below(40) as u32,
            1 => self.pages + 5,
            _ => self.pages.max(1),
        };
        let pages = self.pages;
        self.bytes.retain(|&page, _| page < pages);
        let mut changed: Vec<u32> =
            (0..random.below(10)).map(|_| random.below(pages.into()) as u32).collect();
        changed.sort_unstable();
        changed.dedup();
        for &page in &changed {
            let byte = random.below(6) as u8;
            self.bytes.insert(page, byte);
        }
        changed
    }

    fn write(&self, file: &mut CheckpointFile<Losing>, changed: &[u32]) -> Result<u64, Failure> {
        let page = |&page: &u32| page_of(self.bytes.get(&page).copied().unwrap_or(0), page);
        let bytes: Vec<u8> = changed.iter().flat_map(page).collect();
        file.write(moment(self.pages, self.round), changed, &bytes)
    }

    fn is_in(&self, file: &CheckpointFile<Losing>) -> bool {
        let Some((found, _)) = file.newest() else { return self.round == 0 };
        let is_page = |page| {
            let (mut bytes, byte) = ([9; SLOT], self.bytes.get(&page).copied().unwrap_or(0));
            file.read(page, &mut bytes).is_ok() && bytes == page_of(byte, page)
        };
        found == moment(self.pages, self.round) && (0..self.pages).all(is_page)
    }
}

/// What may go wrong beside a loss of power.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Troubles {
    /// Processes are killed, and the next one finds what is in the page cache.
    kills: bool,
    /// Single calls fail.
    errors: bool,
    /// A sync that does nothing: `true` for that of a root.
    skips: Option<bool>,
}

/// Changes `kept` and writes that, twice if it fails. `others` gets what the disk may hold in its place. Whether another
/// round can follow, or what was found wrong.
fn round(
    file: &mut CheckpointFile<Losing>,
    disk: &Losing,
    random: &mut Random,
    (kept, others): (&mut Model, &mut Vec<Model>),
) -> Result<bool, &'static str> {
    let mut next = kept.clone();
    let changed = next.change(random);
    if let Err(failure) = next.write(file, &changed) {
        if !kept.is_in(file) {
            return Err("a round that failed has changed something");
        }
        let is_given_up = matches!(failure, Failure::GivenUp(_));
        let again = next.write(file, &changed);
        if is_given_up && !matches!(again, Err(Failure::GivenUp(_))) {
            return Err("written to after it was given up");
        }
        if again.is_err() {
            let is_over = is_given_up || disk.has_ended();
            if is_over {
                others.push(next);
            }
            return Ok(!is_over);
        }
    }
    *kept = next;
    others.clear();
    Ok(true)
}

/// The bytes of the roots, of the table's runs, and of the pages.
fn bytes_in_use(file: &CheckpointFile<Losing>) -> u64 {
    let runs = file.root.iter().flat_map(|root| &root.runs);
    let table: u32 = runs.map(|run| slots_of(run.entries)).sum();
    let slots = u64::from(ROOTS + table) + file.table.entries().len() as u64;
    slots * SLOT as u64
}

/// Rounds and power losses, at every kind of moment. What was found wrong.
fn lose_power(seed: u64, troubles: Troubles) -> Option<String> {
    let mut random = Random(seed);
    let (mut disk, mut kept) = (Losing::ending_at(random.below(60)), Model::default());
    // What the disk may hold in place of `kept`.
    let mut others: Vec<Model> = Vec::new();
    for life in 0..16 {
        {
            let mut state = disk.0.lock();
            (state.skips, state.chance) = (troubles.skips, random.next());
            if troubles.errors && random.below(2) == 0 {
                state.fails = Some((1 + random.below(30), random.below(2) == 0));
            }
        }
        let mut file = match CheckpointFile::open(disk.clone()) {
            Ok(file) => file,
            Err(failure) => return Some(format!("life {life}: {failure:?}")),
        };
        others.push(kept);
        let Some(found) = others.iter().position(|model| model.is_in(&file)) else {
            return Some(format!("life {life}: {:?} is none of {others:?}", file.newest()));
        };
        kept = others.swap_remove(found);
        if !troubles.kills {
            others.clear();
        }
        // The last round is under way when the power ends.
        loop {
            match round(&mut file, &disk, &mut random, (&mut kept, &mut others)) {
                Ok(true) => assert_eq!(file.bytes(), bytes_in_use(&file)),
                Ok(false) => break,
                Err(what) => return Some(format!("life {life}: {what}")),
            }
        }
        let ends_at = random.below(60);
        disk = match troubles.kills && random.below(2) == 0 {
            true => disk.kill(ends_at),
            false => disk.cut(&mut random, ends_at),
        };
    }
    None
}

const POWER_ONLY: Troubles = Troubles { kills: false, errors: false, skips: None };

#[test]
fn a_power_loss_leaves_the_last_checkpoint_or_the_one_under_way() {
    for seed in 0..1_500 {
        assert_eq!(lose_power(seed, POWER_ONLY), None, "seed {seed}");
    }
}

/// The next process finds a root that may not be durable, and pages of the one before that it may not write over yet.
#[test]
fn so_does_one_after_kills() {
    for seed in 0..1_500 {
        assert_eq!(lose_power(seed, Troubles { kills: true, ..POWER_ONLY }), None, "seed {seed}");
    }
}

/// Calls fail, having done nothing or all; after a sync that failed nobody knows what is durable, also in the next process.
#[test]
fn so_does_one_after_errors() {
    for seed in 0..3_000 {
        let troubles = Troubles { kills: seed % 2 == 0, errors: true, skips: None };
        assert_eq!(lose_power(seed, troubles), None, "seed {seed}");
    }
}

/// The last calls of a round fail, one at a time, having done nothing, all, or a part; then this process or the next one tries
/// another round, and the power ends at each of its calls.
#[test]
fn a_round_that_fails_at_its_end_damages_nothing() {
    let mut random = Random(11);
    let model = |round: u64| {
        let bytes = (0..4).map(|page| (page, round as u8)).collect();
        Model { pages: 4, round, bytes }
    };
    let cases = (0..40).flat_map(|_| (3..6).flat_map(|call| (0..9).map(move |end| (call, end))));
    for (call, ends_at) in cases {
        let (models, all) = ([1, 2, 3].map(model), [0, 1, 2, 3]);
        let disk = Losing::ending_at(u64::MAX);
        let mut file = CheckpointFile::open(disk.clone()).unwrap();
        models[0].write(&mut file, &all).unwrap();
        {
            let mut state = disk.0.lock();
            state.chance = random.next();
            state.fails = Some((state.calls + call, random.below(2) == 0));
        }
        assert!(models[1].write(&mut file, &all).is_err());
        let disk = if random.below(2) == 0 {
            let calls = disk.0.lock().calls;
            disk.0.lock().ends_at = calls + ends_at;
            let _ = models[2].write(&mut file, &all);
            disk
        } else {
            let disk = disk.kill(ends_at);
            let _ = models[2].write(&mut CheckpointFile::open(disk.clone()).unwrap(), &all);
            disk
        };
        let found = CheckpointFile::open(disk.cut(&mut random, 0)).unwrap();
        assert!(models.iter().any(|model| model.is_in(&found)), "call {call}, end {ends_at}");
    }
}

/// Without the sync of the pages, or without that of the root, it shows.
#[test]
fn each_sync_is_needed() {
    for is_of_root in [false, true] {
        let troubles = Troubles { skips: Some(is_of_root), ..POWER_ONLY };
        let finds = (0..300).filter(|&seed| lose_power(seed, troubles).is_some()).count();
        assert!(finds > 10, "without that of a root, {is_of_root}: {finds}");
    }
}

/// Each round leaves one page in sixteen of those that the one before has written: gaps that are too short for long pieces.
#[test]
fn pages_that_stay_do_not_make_the_file_grow_without_end() {
    let disk = Losing::ending_at(u64::MAX);
    let mut file = CheckpointFile::open(disk.clone()).unwrap();
    let all = 1_600_u32;
    let mut changing: Vec<u32> = (0..all).collect();
    for n in 0..60 {
        let bytes = vec![1 + n as u8; changing.len() * SLOT];
        file.write(moment(all, n), &changing, &bytes).unwrap();
        let stays: Vec<u32> = changing.iter().copied().step_by(16).collect();
        changing.retain(|page| !stays.contains(page));
    }
    let slots = file.file.length().unwrap() / SLOT as u64;
    assert!(slots < 4 * u64::from(all), "{slots} slots for {all} pages");
}

/// A round that asked for more than the disk has does not keep smaller ones from finding room.
#[test]
fn a_round_that_is_too_large_leaves_room_for_others() {
    let disk = Losing::ending_at(u64::MAX);
    disk.0.lock().room = Some(128 * SLOT);
    let mut file = CheckpointFile::open(disk).unwrap();
    let mut write = |pages: u32, n: u64| {
        let (numbers, bytes): (Vec<u32>, _) =
            ((0..pages).collect(), vec![7; pages as usize * SLOT]);
        file.write(moment(400, n), &numbers, &bytes)
    };
    write(30, 1).unwrap();
    assert!(matches!(write(300, 2), Err(Failure::Io(_))));
    write(30, 3).unwrap();
}

/// A file whose hashes are right, but whose contents no round wrote.
#[test]
fn a_file_that_no_round_wrote_is_refused() {
    let entry = |page, slot| Entry { page, place: Place { slot, hash: 0 } };
    let run = |slot, entries: &[Entry]| {
        let (bytes, hash) = encode(entries);
        (Run { slot, entries: entries.len() as u32, hash }, bytes)
    };
    let open = |pages, sequence, runs: &[(Run, Vec<u8>)], slots: usize| {
        let runs_of = runs.iter().map(|(run, _)| *run).collect();
        let root = Root { moment: moment(pages, 1), sequence, runs: runs_of };
        let mut bytes = vec![0; slots * SLOT];
        let at = sequence as usize % 2 * SLOT;
        bytes[at..at + SLOT].copy_from_slice(&root.encode());
        for (run, entries) in runs {
            let at = run.slot as usize * SLOT;
            if let Some(place) = bytes.get_mut(at..at + entries.len()) {
                place.copy_from_slice(entries);
            }
        }
        let disk = Losing::default();
        disk.0.lock().now = bytes;
        CheckpointFile::open_within(disk, 1_000).err().map(|failure| format!("{failure:?}"))
    };
    assert_eq!(open(9, 3, &[run(2, &[entry(8, 3)])], 8), None);
    let refused = [
        ("pages without number", open(u32::MAX, 3, &[], 8)),
        ("a number that has no next", open(9, u64::MAX, &[], 8)),
        ("no number", open(9, 0, &[], 8)),
        ("a page behind the last", open(9, 3, &[run(2, &[entry(9, 3)])], 8)),
        ("a page in a root", open(9, 3, &[run(2, &[entry(8, 1)])], 8)),
        ("a page in a run", open(9, 3, &[run(2, &[entry(8, 2)])], 8)),
        ("a page behind the file", open(9, 3, &[run(2, &[entry(8, 8)])], 8)),
        ("two pages in one place", open(9, 3, &[run(2, &[entry(8, 3), entry(7, 3)])], 8)),
        ("two runs in one place", open(9, 3, &[run(2, &[entry(8, 3)]), run(2, &[entry(8, 3)])], 8)),
        ("a run in a root", open(9, 3, &[run(0, &[entry(8, 3)])], 8)),
        ("more entries than pages", open(9, 3, &[run(2, &[entry(8, 3); 11])], 8)),
        ("a run behind the file", open(9, 3, &[run(8, &[entry(8, 3)])], 8)),
    ];
    for (what, found) in refused {
        assert!(found.is_some(), "{what}");
    }
    // The roots change places, or the end is missing.
    let disk = Losing::ending_at(u64::MAX);
    let mut file = CheckpointFile::open(disk.clone()).unwrap();
    file.write(moment(9, 1), &[1], &[7; SLOT]).unwrap();
    for damage in [(|bytes| bytes.copy_within(SLOT..2 * SLOT, 0)) as fn(&mut Vec<u8>), |bytes| {
        bytes.copy_within(SLOT..2 * SLOT, 0);
        bytes.truncate(SLOT + 5);
    }] {
        let broken = Losing::default();
        broken.0.lock().now = disk.0.lock().now.clone();
        damage(&mut broken.0.lock().now);
        assert!(matches!(CheckpointFile::open(broken), Err(Failure::Damaged(_))));
    }
}

#[test]
fn many_rounds_take_little_more_than_twice_the_pool() {
    let (mut random, disk) = (Random(3), Losing::ending_at(u64::MAX));
    let mut file = CheckpointFile::open(disk.clone()).unwrap();
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
    assert!(model.is_in(&file) && model.is_in(&CheckpointFile::open(disk).unwrap()));
    let slots = file.file.length().unwrap() / SLOT as u64;
    assert!(slots < 2 * u64::from(pages) + 200, "{slots} slots for {pages} pages");
}

#[test]
fn no_damaged_file_makes_it_panic_or_read_another_page() {
    let (mut random, disk) = (Random(5), Losing::ending_at(u64::MAX));
    let mut file = CheckpointFile::open(disk.clone()).unwrap();
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
        let broken = Losing::default();
        broken.0.lock().now = bytes;
        let Ok(found) = CheckpointFile::open(broken) else { continue };
        for page in 0..model.pages {
            let mut bytes = [9; SLOT];
            if found.read(page, &mut bytes).is_ok() && found.newest() == file.newest() {
                let byte = model.bytes.get(&page).copied().unwrap_or(0);
                assert_eq!(bytes, page_of(byte, page));
            }
        }
    }
}
