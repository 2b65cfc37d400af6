//! Random calls with random handles, from several threads: open ones, closed ones, changed ones, and ones of other kinds.

use std::ptr;
use std::sync::Mutex;
use std::thread;

use endura_c::*;
use tempfile::TempDir;

use crate::every::Handles;
use crate::support::{c, last_error, name, path, quick, rounds};

const THREADS: u64 = 3;
/// Handles that are remembered: the newest.
const MOST: usize = 40;

struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % most
    }
}

struct Program<'p> {
    folder: &'p TempDir,
    /// The numbers of handles of all kinds.
    known: &'p Mutex<Vec<u64>>,
    random: Random,
}

impl Program<'_> {
    fn remember(&self, id: u64) {
        let mut known = self.known.lock().unwrap();
        known.push(id);
        if known.len() > MOST {
            known.remove(0);
        }
    }

    /// A number that is, was or never will be a handle.
    fn id(&mut self) -> u64 {
        let known = self.known.lock().unwrap();
        let id = match known.len() {
            0 => 0,
            len => known[self.random.below(len)],
        };
        match self.random.below(40) {
            0 => id ^ 1 << self.random.below(64),
            1 => self.random.below(usize::MAX) as u64,
            _ => id,
        }
    }

    fn open(&mut self) -> Status {
        let id = self.id();
        match self.random.below(5) {
            0 => {
                let at = self.folder.path().join(format!("pool {}", self.random.below(2)));
                let mut pool = PoolHandle::NONE;
                let options = Options { max_size: 32 << 20, ..quick() };
                let opened = c!(endura_open(path(&at).as_ptr(), &options, &mut pool));
                self.remember(pool.id);
                opened
            }
            1 | 2 => {
                let (mut map, pool) = (MapHandle::NONE, PoolHandle { id });
                let (word, text) = (c"u64".as_ptr(), c"str".as_ptr());
                let (name, kind) = match self.random.below(2) {
                    0 => (c"numbers".as_ptr(), word),
                    _ => (c"texts".as_ptr(), text),
                };
                let opened = c!(endura_map_open(pool, name, kind, word, ptr::null(), &mut map));
                self.remember(map.id);
                opened
            }
            3 => {
                let (mut iter, map) = (IterHandle::NONE, MapHandle { id });
                let opened = c!(endura_range(map, ptr::null(), ptr::null(), 0, &mut iter));
                self.remember(iter.id);
                opened
            }
            _ => {
                let (mut batch, pool) = (BatchHandle::NONE, PoolHandle { id });
                let begun = c!(endura_batch_begin(pool, &mut batch));
                self.remember(batch.id);
                begun
            }
        }
    }

    fn release(&mut self) -> Status {
        let id = self.id();
        match self.random.below(8) {
            0 => endura_close(PoolHandle { id }),
            1..=3 => endura_map_release(MapHandle { id }),
            4 | 5 => endura_iter_release(IterHandle { id }),
            _ => endura_batch_release(BatchHandle { id }),
        }
    }

    fn step(&mut self) -> Vec<Status> {
        match self.random.below(12) {
            0..=4 => vec![self.open()],
            5 => vec![self.release()],
            _ => {
                let handles = Handles {
                    pool: PoolHandle { id: self.id() },
                    map: MapHandle { id: self.id() },
                    iter: IterHandle { id: self.id() },
                    batch: BatchHandle { id: self.id() },
                    run: TransactionHandle { id: self.id() },
                };
                match self.random.below(5) {
                    0 => handles.pools(),
                    1 => handles.numbers(),
                    2 => handles.keys(),
                    3 => handles.order(),
                    _ => handles.changes(),
                }
            }
        }
    }
}

#[test]
fn random_calls_with_random_handles_end_in_a_status() {
    let (folder, known) = (tempfile::tempdir().unwrap(), Mutex::default());
    thread::scope(|scope| {
        for thread in 1..=THREADS {
            let random = Random(thread.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let mut program = Program { folder: &folder, known: &known, random };
            scope.spawn(move || {
                for _ in 0..rounds(600) {
                    for status in program.step() {
                        assert!(status != E_PANIC && name(status) != "unknown", "{}", last_error());
                    }
                }
            });
        }
    });
    for id in known.into_inner().unwrap() {
        endura_close(PoolHandle { id });
    }
}
