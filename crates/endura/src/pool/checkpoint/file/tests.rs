use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::sync::Mutex;

/// Numbers that follow from a seed (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let n = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let n = (n ^ n >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        n ^ n >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A sector, which is written whole or not at all.
const SECTOR: usize = 512;

#[derive(Debug, Default)]
struct State {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// What was written since the last sync.
    open: Vec<(usize, Vec<u8>)>,
    calls: u64,
    /// The call from which on there is no power.
    ends_at: u64,
    /// A sync that does nothing.
    skips: Option<u64>,
    syncs: u64,
}

/// A file on a disk that loses power.
#[derive(Debug, Clone, Default)]
struct Losing(Arc<Mutex<State>>);

impl Losing {
    fn ending_at(calls: u64) -> Self {
        let disk = Self::default();
        disk.0.lock().ends_at = calls;
        disk
    }

    fn call<R>(&self, work: impl FnOnce(&mut State) -> R) -> io::Result<R> {
        let mut state = self.0.lock();
        state.calls += 1;
        if state.calls > state.ends_at {
            Err(io::Error::other("no power"))
        } else {
            Ok(work(&mut state))
        }
    }

    /// What the disk holds when the power is back: of each sector that was written since the last sync the old contents or
    /// those of one of the writes.
    fn cut(&self, random: &mut Random, ends_at: u64) -> Self {
        let mut state = self.0.lock();
        let mut bytes = std::mem::take(&mut state.durable);
        for (at, written) in std::mem::take(&mut state.open) {
            for (i, sector) in written.chunks(SECTOR).enumerate() {
                let at = at + i * SECTOR;
                if random.below(2) == 0 {
                    bytes.resize(bytes.len().max(at + sector.len()), 0);
                    bytes[at..at + sector.len()].copy_from_slice(sector);
                }
            }
        }
        if random.below(2) == 0 {
            bytes.resize(bytes.len().max(state.now.len()), 0);
        }
        let next = State { now: bytes.clone(), durable: bytes, ends_at, ..State::default() };
        Self(Arc::new(Mutex::new(next)))
    }
}

impl DiskFile for Losing {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.lock().now.len() as u64)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let state = self.0.lock();
        let from = state.now.get(at as usize..at as usize + bytes.len());
        bytes.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.call(|state| {
            let end = at as usize + bytes.len();
            let length = state.now.len().max(end);
            state.now.resize(length, 0);
            state.now[at as usize..end].copy_from_slice(bytes);
            state.open.push((at as usize, bytes.to_vec()));
        })
    }

    fn allocate(&self, _: u64, end: u64) -> io::Result<()> {
        self.call(|state| {
            let length = state.now.len().max(end as usize);
            state.now.resize(length, 0);
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.call(|state| {
            state.syncs += 1;
            if state.skips != Some(state.syncs % 2) {
                state.durable = state.now.clone();
                state.open.clear();
            }
        })
    }
}

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

/// Rounds and power losses, at every kind of moment; `skips` syncs of that parity do nothing. What was found wrong.
fn lose_power(seed: u64, skips: Option<u64>) -> Option<String> {
    let mut random = Random(seed);
    let (mut disk, mut kept) = (Losing::ending_at(random.below(60)), Model::default());
    for life in 0..12 {
        disk.0.lock().skips = skips;
        let mut file = match CheckpointFile::open(disk.clone()) {
            Ok(file) => file,
            Err(failure) => return Some(format!("life {life}: {failure:?}")),
        };
        if !kept.is_in(&file) {
            return Some(format!("life {life}: {:?} is not {kept:?}", file.newest()));
        }
        // The last round is under way when the power ends.
        let next = loop {
            let mut next = kept.clone();
            let changed = next.change(&mut random);
            match next.write(&mut file, &changed) {
                Ok(_) => kept = next,
                Err(_) => {
                    if !kept.is_in(&file) {
                        return Some(format!(
                            "life {life}: a round that failed has changed something"
                        ));
                    }
                    break next;
                }
            }
            let count = file.bytes() / SLOT as u64;
            let runs = file
                .root
                .as_ref()
                .map_or(0, |root| root.runs.iter().map(|run| slots_of(run.entries)).sum::<u32>());
            assert_eq!(count, u64::from(ROOTS + runs) + file.table.entries().len() as u64);
        };
        let ends_at = random.below(60);
        disk = disk.cut(&mut random, ends_at);
        // It is there, or not.
        let found = CheckpointFile::open(disk.clone()).map(|file| next.is_in(&file));
        if matches!(found, Ok(true)) {
            kept = next;
        }
    }
    None
}

#[test]
fn a_power_loss_leaves_the_last_checkpoint_or_the_one_under_way() {
    for seed in 0..1_500 {
        assert_eq!(lose_power(seed, None), None, "seed {seed}");
    }
}

/// Without the sync of the pages, or without that of the root, it shows.
#[test]
fn each_sync_is_needed() {
    for parity in [0, 1] {
        let finds = (0..300).filter(|&seed| lose_power(seed, Some(parity)).is_some()).count();
        assert!(finds > 10, "without sync {parity}: {finds}");
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
