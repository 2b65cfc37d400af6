//! Pool files that are closed, and whose words are changed from outside.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use endura::{MapOptions, Pool, PoolOptions};
use endura_engine::space::superblock::Superblock;
use endura_engine::{Kind, Result};
use tempfile::TempDir;

/// Where the entry of the first map lies, and its words.
pub(crate) const FIRST_ENTRY: u64 = 16384;
const ROOT: u64 = FIRST_ENTRY + 16;
/// Where the pool says how many pages it has.
pub(crate) const NEXT_PAGE: u64 = 8192;
/// Where the pool says how long it is.
pub(crate) const LENGTH: u64 = 8240;
pub(crate) const LEN: u64 = FIRST_ENTRY + 24;
const HEADS: u64 = FIRST_ENTRY + 832;
/// Where spans of chunks begin.
const CHUNKS: u64 = 12 * 4096;

/// A closed pool with one map of this kind, in which numbers below `entries` are keys.
pub(crate) struct Closed {
    folder: TempDir,
    pub(crate) kind: Kind,
    pub(crate) entries: u64,
    pub(crate) generation: u64,
    copies: AtomicU64,
}

/// The key of a number in a map of bytes.
pub(crate) fn spelled(n: u64) -> String {
    format!("a/prefix/in/common/{n:05}")
}

pub(crate) fn options() -> PoolOptions {
    Pool::options().max_size(64 << 20)
}

impl Closed {
    pub(crate) fn new(kind: Kind, entries: u64) -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let pool = options().create_new(folder.path().join("sound")).unwrap();
        if kind == Kind::Roart {
            let map = pool.map::<str, str>("map").unwrap();
            (0..entries).for_each(|n| drop(map.insert(&spelled(n), "value").unwrap()));
        } else {
            let map = pool.map_with::<u64, u64>("map", MapOptions::new().kind(kind)).unwrap();
            (0..entries).for_each(|n| assert_eq!(map.insert(n, n).unwrap(), None));
        }
        let generation = pool.stats().unwrap().generation;
        pool.close().unwrap();
        Self { folder, kind, entries, generation, copies: AtomicU64::new(0) }
    }

    /// A copy of it with words changed by `change`. Its own file: whoever hangs on another still has that
    /// mapped.
    pub(crate) fn patched(&self, change: impl FnOnce(&Words)) -> PathBuf {
        let copy = self.copies.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path().join(format!("patched-{copy}"));
        fs::copy(self.folder.path().join("sound"), &path).unwrap();
        Words::of(&path, change);
        path
    }
}

/// The words of a file.
pub(crate) struct Words(File);

impl Words {
    /// Has the words of the file changed.
    pub(crate) fn of(path: &Path, change: impl FnOnce(&Self)) {
        change(&Self(File::options().read(true).write(true).open(path).unwrap()));
    }

    pub(crate) fn get(&self, at: u64) -> u64 {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, at).unwrap();
        u64::from_le_bytes(bytes)
    }

    pub(crate) fn put(&self, at: u64, word: u64) {
        self.0.write_all_at(&word.to_le_bytes(), at).unwrap();
    }

    /// The lines of spans in which `is_one` finds a chunk to begin.
    pub(crate) fn find(&self, is_one: impl Fn(&[u64; 8]) -> bool) -> Vec<u64> {
        let mut bytes = vec![0; (self.0.metadata().unwrap().len() - CHUNKS) as usize];
        self.0.read_exact_at(&mut bytes, CHUNKS).unwrap();
        let line = |bytes: &[u8]| {
            std::array::from_fn(|i| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().unwrap()))
        };
        let lines = bytes.chunks_exact(64).enumerate();
        lines
            .filter(|(_, bytes)| is_one(&line(bytes)))
            .map(|(i, _)| CHUNKS + 64 * i as u64)
            .collect()
    }

    /// The nodes of a FAST & FAIR tree of this level.
    pub(crate) fn fast_fair(&self, level: u64) -> Vec<u64> {
        self.find(|line| line[4] >> 32 == 0xFA57_FA18 && line[4] & 0xFF == level)
    }

    /// The nodes and leaf arrays of a ROART tree.
    pub(crate) fn roart(&self) -> Vec<u64> {
        self.find(|line| matches!(line[1] >> 48, 0xA47D | 0xA47A))
    }

    /// The blocks of the first partition of an NBTree, in their order.
    pub(crate) fn blocks(&self) -> Vec<u64> {
        let mut blocks = Vec::new();
        let mut at = self.get(HEADS);
        while at != 0 {
            blocks.push(at);
            at = self.get(at) & !3;
        }
        blocks
    }

    /// Where the root of the map lies.
    pub(crate) fn root(&self) -> u64 {
        self.get(ROOT) & ((1 << 48) - 1)
    }

    /// Changes the superblock.
    pub(crate) fn superblock(&self, change: impl FnOnce(&mut Superblock)) {
        let mut superblock = Superblock::read(&self.0).unwrap();
        change(&mut superblock);
        let bytes = superblock.encode();
        for at in [0, 4096] {
            self.0.write_all_at(&bytes, at).unwrap();
        }
    }
}

/// What became of an operation that may meet damage.
pub(crate) fn outcome<T>(result: Result<T>) -> &'static str {
    match result {
        Ok(_) => "answers",
        Err(endura_engine::Error::Corrupt { .. }) => "`Corrupt`",
        Err(endura_engine::Error::Full { .. }) => "`Full`",
        Err(_) => "fails",
    }
}
