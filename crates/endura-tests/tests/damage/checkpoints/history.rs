//! Two pools with a history, as sessions leave them that are closed or killed, or that end with the machine.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use endura::{Checkpoints, Error, Kind, Map, MapOptions, Pool, PoolOptions, Result};
use endura_engine::space::superblock::{BYTES, Superblock};

use crate::choices::Choices;

/// Bytes of a page of a checkpoint.
pub(super) const SLOT: usize = 4096;
/// A pool of this history may grow to so many bytes.
pub(super) const ROOM: u64 = 32 << 20;
const KEYS: u64 = 60;

/// What is in all maps of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Contents {
    names: BTreeSet<String>,
    words: [Vec<(u64, u64)>; 2],
    texts: Vec<(String, String)>,
}

struct Maps {
    words: [Map<u64, u64>; 2],
    texts: Map<str, str>,
}

impl Maps {
    fn of(pool: &Pool) -> Result<Self> {
        let word = |name, kind| pool.map_with::<u64, u64>(name, MapOptions::new().kind(kind));
        let words = [word("blocks", Kind::NbTree)?, word("leaves", Kind::FastFair)?];
        Ok(Self { words, texts: pool.map("texts")? })
    }
}

impl Contents {
    pub(super) fn of(pool: &Pool) -> Result<Self> {
        let names = pool.maps()?.into_iter().map(|map| map.name).collect();
        let maps = Maps::of(pool)?;
        let [blocks, leaves] = maps.words.each_ref().map(|map| map.iter().collect::<Result<_>>());
        let texts = maps.texts.iter().collect::<Result<_>>()?;
        Ok(Self { names, words: [blocks?, leaves?], texts })
    }
}

/// Writes to all maps; what is there afterwards differs with each `step`.
pub(super) fn write(pool: &Pool, step: u64) -> Result<()> {
    let maps = Maps::of(pool)?;
    for n in (0..KEYS).filter(|n| (n + step).is_multiple_of(3) || step == 0) {
        for map in &maps.words {
            map.insert(n << 50, step << 32 | n)?;
        }
        let value = "x".repeat((n * 97 + step * 31) as usize % 900);
        maps.texts.insert(&format!("key {n}"), &value)?;
    }
    maps.words[0].remove((step % KEYS) << 50)?;
    maps.texts.remove(&format!("key {}", (step + 7) % KEYS))?;
    pool.map::<u64, u64>(&format!("of step {step}"))?.insert(step, step)?;
    if step > 1 {
        pool.drop_map(&format!("of step {}", step - 2))?;
    }
    Ok(())
}

/// How the last session of a pool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Closed,
    Killed,
    /// The machine went down.
    MachineDown,
}

/// A pool at one time of its history.
pub(super) struct Scene {
    pub(super) path: PathBuf,
    pub(super) is_closed: bool,
    /// The bytes of the pool and of its file of checkpoints.
    pub(super) pool: Vec<u8>,
    pub(super) kept: Vec<u8>,
    /// What is in it.
    pub(super) own: Contents,
    /// To what a power loss may take it back: the checkpoints of its last session, and those that this session has found. Where
    /// it had found the pool closed, that is the one of the close alone.
    pub(super) back: Vec<Contents>,
}

impl Scene {
    pub(super) fn kept_path(&self) -> PathBuf {
        kept_of(&self.path)
    }

    /// The bytes of the pool, whose session has ended so.
    pub(super) fn ended(&self, how: Ended) -> Vec<u8> {
        let mut pool = self.pool.clone();
        if how == Ended::MachineDown {
            change_superblock(&mut pool, |superblock| superblock.boot.id = [0xEE; 16]);
        }
        pool
    }
}

/// Scenes of two pools, and a folder with their files.
pub(super) struct History {
    pub(super) folder: tempfile::TempDir,
    pub(super) scenes: Vec<Scene>,
    /// All checkpoints of each pool.
    checkpoints: Vec<(PathBuf, Contents)>,
}

pub(super) fn options() -> PoolOptions {
    Pool::options().checkpoints(Checkpoints::on_demand()).max_size(ROOM).recovery_threads(0)
}

pub(super) fn kept_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".checkpoint");
    name.into()
}

/// Makes the file hold these bytes. It stays the same file: another one would be a copy.
pub(super) fn put(path: &Path, bytes: &[u8]) {
    let file = File::options().write(true).create(true).truncate(false).open(path).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
}

pub(super) fn change_superblock(pool: &mut [u8], change: impl Fn(&mut Superblock)) {
    for at in [0, SLOT] {
        let bytes: &mut [u8; BYTES] = (&mut pool[at..at + BYTES]).try_into().unwrap();
        let mut superblock = Superblock::decode(bytes).unwrap();
        change(&mut superblock);
        *bytes = superblock.encode();
    }
}

impl History {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let [closed, killed] = ["closed", "killed"].map(|name| folder.path().join(name));
        let mut history = Self { folder, scenes: Vec::new(), checkpoints: Vec::new() };
        history.of_a_pool_that_was_closed(&closed);
        history.of_a_pool_that_was_killed(&killed);
        history
    }

    /// A session that is closed, and one that makes two checkpoints; the scenes are after each step of the second one.
    fn of_a_pool_that_was_closed(&mut self, path: &Path) {
        let pool = options().create_new(path).unwrap();
        write(&pool, 0).unwrap();
        self.checkpoint(&pool);
        write(&pool, 1).unwrap();
        let closed = Contents::of(&pool).unwrap();
        pool.close().unwrap();
        drop(pool);
        self.checkpoints.push((path.to_owned(), closed.clone()));
        let mut back = vec![closed.clone()];
        self.add(path, true, closed, back.clone());
        let pool = options().open_existing(path).unwrap();
        write(&pool, 2).unwrap();
        self.add(path, false, Contents::of(&pool).unwrap(), back.clone());
        for step in [3, 5] {
            write(&pool, step).unwrap();
            back.push(self.checkpoint(&pool));
            write(&pool, step + 1).unwrap();
            self.add(path, false, Contents::of(&pool).unwrap(), back.clone());
        }
        let scene = self.scenes.last().unwrap();
        let mut under_way = scene.kept.clone();
        begin_a_round(self.folder.path(), &mut under_way);
        self.scenes.push(Scene { kept: under_way, ..self.again(self.scenes.len() - 1) });
        let own = Contents::of(&pool).unwrap();
        pool.close().unwrap();
        drop(pool);
        self.checkpoints.push((path.to_owned(), own.clone()));
        self.add(path, true, own.clone(), vec![own]);
    }

    /// A session that is killed after two checkpoints, and the one after it.
    fn of_a_pool_that_was_killed(&mut self, path: &Path) {
        let pool = options().create_new(path).unwrap();
        write(&pool, 0).unwrap();
        let first = self.checkpoint(&pool);
        write(&pool, 1).unwrap();
        let back = vec![first, self.checkpoint(&pool)];
        write(&pool, 2).unwrap();
        self.add(path, false, Contents::of(&pool).unwrap(), back.clone());
        pool.close().unwrap();
        drop(pool);
        let killed = self.scenes.last().unwrap();
        put(path, &killed.pool);
        put(&kept_of(path), &killed.kept);
        let pool = options().open_existing(path).unwrap();
        write(&pool, 3).unwrap();
        self.add(path, false, Contents::of(&pool).unwrap(), back);
        pool.close().unwrap();
    }

    fn checkpoint(&mut self, pool: &Pool) -> Contents {
        pool.checkpoint().unwrap();
        let contents = Contents::of(pool).unwrap();
        self.checkpoints.push((pool.path().to_owned(), contents.clone()));
        contents
    }

    /// The pool as it is now. A close removes the mark that the file has, so its superblock says that it has none.
    fn add(&mut self, path: &Path, is_closed: bool, own: Contents, back: Vec<Contents>) {
        let mut pool = fs::read(path).unwrap();
        change_superblock(&mut pool, |superblock| superblock.is_marked = false);
        let kept = fs::read(kept_of(path)).unwrap();
        self.scenes.push(Scene { path: path.to_owned(), is_closed, pool, kept, own, back });
    }

    fn again(&self, at: usize) -> Scene {
        let Scene { path, is_closed, pool, kept, own, back } = &self.scenes[at];
        Scene {
            path: path.clone(),
            is_closed: *is_closed,
            pool: pool.clone(),
            kept: kept.clone(),
            own: own.clone(),
            back: back.clone(),
        }
    }

    /// A scene whose last session was closed, or was not; of all if neither is said.
    pub(super) fn scene(&self, choices: &mut Choices<'_>, is_closed: Option<bool>) -> &Scene {
        let fits = |scene: &&Scene| is_closed.is_none_or(|is_closed| scene.is_closed == is_closed);
        let scenes: Vec<&Scene> = self.scenes.iter().filter(fits).collect();
        scenes[choices.below(scenes.len())]
    }

    /// The files of checkpoints of the same pool at all times.
    pub(super) fn kept_at_all_times(&self, scene: &Scene) -> Vec<&[u8]> {
        let same = self.scenes.iter().filter(|other| other.path == scene.path);
        same.map(|other| &other.kept[..]).collect()
    }

    /// Whether the pool of the scene has had these contents in a checkpoint.
    pub(super) fn was_a_checkpoint(&self, scene: &Scene, contents: &Contents) -> bool {
        self.checkpoints.iter().any(|(path, other)| *path == scene.path && other == contents)
    }

    /// Nothing is in the folder but pools and their checkpoints, and pools that were kept because they may have been whole,
    /// which go now.
    pub(super) fn expect_no_leavings(&self) {
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.contains(".torn") {
                fs::remove_file(self.folder.path().join(name)).unwrap();
                continue;
            }
            let name = name.strip_suffix(".checkpoint").unwrap_or(&name);
            assert!(["closed", "killed"].contains(&name), "{name} was left");
        }
    }
}

/// Pages of the next checkpoint are written, and it is not completed: what only the older root names is written over.
fn begin_a_round(folder: &Path, kept: &mut Vec<u8>) {
    let path = folder.join("under way");
    fs::write(&path, &kept).unwrap();
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let mut file = endura_engine::checkpoint::file::CheckpointFile::open(file, u32::MAX).unwrap();
    let pages: Vec<u32> = (2..40).collect();
    file.begin().unwrap().add(&pages, &vec![0xAB; pages.len() * SLOT]).unwrap();
    *kept = fs::read(&path).unwrap();
    fs::remove_file(path).unwrap();
}

/// Whether an open says with this error that it does not know the pool's contents, or has no way to them.
pub(super) fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::BadCheckpoint { .. }
            | Error::NeedsRestore { .. }
            | Error::Corrupt { .. }
            | Error::NotAPool { .. }
    )
}
