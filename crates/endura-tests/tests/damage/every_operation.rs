//! A sound pool with some words changed, and then every operation: each must answer or fail.
//!
//! What is changed is read from a string of bytes, so that a fuzzer can steer it. The same code
//! runs in the tests from random bytes and in `fuzz/` from those that libFuzzer makes up.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use endura::{Kind, Map, MapOptions, NodeLayout, Pool, Result};
use endura_engine::media::{Heap, Media, Ordering, Region};
use endura_engine::space::{PAGE, Session, Space, superblock};
use endura_engine::tree::fast_fair::LineBinary;
use endura_engine::tree::{Index, fast_fair, nbtree};
use endura_variants::handles::WordMap;
use endura_variants::sessions;

use crate::choices::{Choices, EXTREMES};
use crate::killed_file::leave_as_killed;

pub(crate) type Damaged = Arc<Space<Arc<Heap>>>;

/// A tree of small nodes.
pub(crate) trait Tiny: Sized {
    fn open(space: &Damaged, name: &str) -> Result<Self>;

    /// Puts enough into it to split often, and takes some out again, which leaves merged nodes and free chunks.
    fn fill(&self);

    /// Calls every operation. Errors are answers, too: what counts is that there is one.
    fn use_all(&self, choices: &mut Choices<'_>);

    /// Checks all of it.
    fn check(&self) -> Result<()>;

    /// What sessions leave that were closed and killed.
    fn images() -> &'static [Image; 2];
}

pub(crate) type TinyFastFair = fast_fair::Tree<Arc<Heap>, 16, 16, LineBinary>;
pub(crate) type TinyNbTree = nbtree::Tree<Arc<Heap>, 16, 4>;

impl Tiny for TinyFastFair {
    fn open(space: &Damaged, name: &str) -> Result<Self> {
        Self::open(space, name)
    }

    fn fill(&self) {
        fill_tree(&WordMap::over(self.clone()));
    }

    fn use_all(&self, choices: &mut Choices<'_>) {
        let _ = on_tree(&WordMap::over(self.clone()), choices);
    }

    fn check(&self) -> Result<()> {
        self.check(&mut |_, _| ()).map(drop)
    }

    fn images() -> &'static [Image; 2] {
        static IMAGES: LazyLock<[Image; 2]> = LazyLock::new(Image::of_sessions::<TinyFastFair>);
        &IMAGES
    }
}

impl Tiny for TinyNbTree {
    fn open(space: &Damaged, name: &str) -> Result<Self> {
        Self::open(space, name)
    }

    fn fill(&self) {
        fill_tree(&WordMap::over(self.clone()));
    }

    fn use_all(&self, choices: &mut Choices<'_>) {
        let _ = on_tree(&WordMap::over(self.clone()), choices);
    }

    fn check(&self) -> Result<()> {
        self.check(&mut |_, _| ()).map(drop)
    }

    fn images() -> &'static [Image; 2] {
        static IMAGES: LazyLock<[Image; 2]> = LazyLock::new(Image::of_sessions::<TinyNbTree>);
        &IMAGES
    }
}

/// Room that a damaged pool may grow to.
pub(crate) const ROOM: u64 = 24 * PAGE;
/// Keys in the sound pool: multiples of this step.
pub(crate) const STEP: u64 = u64::MAX / 700;

/// The session that meets the damage.
const GENERATION: u64 = 2;

/// The words of a pool that are not zero, with their numbers.
pub(crate) struct Image(Vec<(usize, u64)>);

impl Image {
    pub(crate) fn of_sessions<T: Tiny>() -> [Self; 2] {
        [true, false].map(Self::of_session::<T>)
    }

    /// What a session leaves that was closed, or killed.
    fn of_session<T: Tiny>(closed: bool) -> Self {
        let heap = Arc::new(Heap::new(ROOM));
        let space = mounted(Arc::clone(&heap), 1);
        for name in ["first", "second"] {
            T::open(&space, name).unwrap().fill();
        }
        if closed {
            space.close().unwrap();
            space.save().unwrap();
        }
        let words = Region::new(&*heap, 0, heap.len() as usize / 8).unwrap();
        let numbered = (0..words.words()).map(|i| (i, words.load(i, Ordering::Acquire)));
        Self(numbered.filter(|&(_, word)| word != 0).collect())
    }

    /// Words to change: number, and new value.
    fn damage(&self, choices: &mut Choices<'_>) -> Vec<(usize, u64)> {
        let changes = 1 + choices.below(6);
        let mut damage: Vec<_> = (0..changes).map(|_| self.changed(choices)).collect();
        if choices.byte().is_multiple_of(2) {
            let changes = 1 + choices.below(24);
            damage.extend((0..changes).map(|_| self.stamped(choices)));
        }
        damage
    }

    /// The first word of a line as a lock word of this session or one of those around it, locked or not.
    fn stamped(&self, choices: &mut Choices<'_>) -> (usize, u64) {
        let (i, _) = self.0[choices.below(self.0.len())];
        let generation = GENERATION - 1 + u64::from(choices.byte() % 3);
        (i / 8 * 8, generation << 44 | u64::from(choices.byte() % 64))
    }

    fn changed(&self, choices: &mut Choices<'_>) -> (usize, u64) {
        let (i, word) = self.0[choices.below(self.0.len())];
        let (_, other) = self.0[choices.below(self.0.len())];
        let how = choices.byte();
        match how % 8 {
            0..3 => (i, word ^ 1 << (choices.byte() % 64)),
            3 => (i, 0),
            4 => (i, EXTREMES[usize::from(how / 8) % EXTREMES.len()]),
            5 => (i, other),
            6 => (i, word.wrapping_add(u64::from(choices.byte())).wrapping_sub(128)),
            _ => (i, choices.number()),
        }
    }

    fn heap(&self, changes: &[(usize, u64)]) -> Heap {
        let heap = Heap::new(ROOM);
        let words = Region::new(&heap, 0, ROOM as usize / 8).unwrap();
        for &(i, word) in self.0.iter().chain(changes) {
            words.store(i, word, Ordering::Release);
        }
        heap
    }
}

fn mounted(heap: Arc<Heap>, generation: u64) -> Damaged {
    match generation {
        1 => sessions::first(heap).unwrap(),
        _ => sessions::begin(heap, generation, true).unwrap(),
    }
}

/// Enough to split often, and some removes, which leave merged nodes and free chunks.
fn fill(
    insert: impl Fn(u64, u64) -> Result<Option<u64>>,
    remove: impl Fn(u64) -> Result<Option<u64>>,
) {
    for n in 0..700 {
        insert(n * STEP, n).unwrap();
    }
    for n in (100..300).chain((400..500).step_by(2)) {
        remove(n * STEP).unwrap();
    }
}

fn fill_tree(map: &WordMap<impl Index>) {
    fill(|key, value| map.insert(key, value), |key| map.remove(key));
}

/// Damages a pool on the heap as `bytes` say, and uses it.
pub(crate) fn on_heap<T: Tiny>(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let image = &T::images()[choices.below(2)];
    let heap = Arc::new(image.heap(&image.damage(&mut choices)));
    let session = Session {
        generation: GENERATION,
        clean: choices.byte().is_multiple_of(2),
        read_only: false,
    };
    let Ok(space) = Space::mount(heap, session).map(Arc::new) else { return };
    for name in ["first", "second", "third"] {
        if let Ok(tree) = T::open(&space, name) {
            tree.use_all(&mut choices);
            let _ = tree.check();
        }
    }
    let _ = (space.stats(), space.relieve());
    let _ = (space.close(), space.save());
}

/// A pool file that was closed, one that a killed process has left, and a place for damaged copies.
pub(crate) struct Files {
    folder: tempfile::TempDir,
    image: Image,
    room: u64,
    use_maps: Box<UseMaps>,
}

/// Uses the maps of a pool.
type UseMaps = dyn Fn(&Pool, &mut Choices<'_>) + Send + Sync;

impl Files {
    /// Of two maps of this kind.
    pub(crate) fn of(kind: Kind) -> Self {
        let options = MapOptions::new().kind(kind);
        let fill = |pool: &Pool| {
            let second = match kind {
                Kind::FastFair => options.node_layout(NodeLayout::NarrowLeaves),
                _ => options,
            };
            for (name, options) in [("first", options), ("second", second)] {
                let map = pool.map_with::<u64, u64>(name, options).unwrap();
                fill(|key, value| map.insert(key, value), |key| map.remove(key));
            }
        };
        Self::with(ROOM, fill, move |pool, choices| {
            for name in ["first", "second", "third"] {
                if let Ok(map) = pool.map_with(name, options) {
                    let _ = on_map(&map, choices);
                }
            }
        })
    }

    /// Of maps that `fill` makes, and `use_maps` uses, in a pool that may grow to `room` bytes.
    pub(crate) fn with(
        room: u64,
        fill: impl Fn(&Pool),
        use_maps: impl Fn(&Pool, &mut Choices<'_>) + Send + Sync + 'static,
    ) -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let path = folder.path().join("sound");
        let pool = Pool::options().max_size(room).create_new(&path).unwrap();
        fill(&pool);
        pool.close().unwrap();
        let killed = folder.path().join("killed");
        let pool = Pool::options().max_size(room).create_new(&killed).unwrap();
        fill(&pool);
        leave_as_killed(&killed, || pool.close().unwrap());
        let bytes = fs::read(&path).unwrap();
        let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        let image = Image(words.enumerate().filter(|&(_, word)| word != 0).collect());
        Self { folder, image, room, use_maps: Box::new(use_maps) }
    }

    fn damaged(&self, choices: &mut Choices<'_>) -> PathBuf {
        let (sound, path) = (self.folder.path().join("sound"), self.folder.path().join("damaged"));
        fs::copy(sound, &path).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        for (i, word) in self.image.damage(choices) {
            file.write_all_at(&word.to_le_bytes(), 8 * i as u64).unwrap();
        }
        if choices.byte().is_multiple_of(2) {
            seal(&path);
        }
        cut_short(&file, choices);
        path
    }

    /// Damages a copy of the file as `bytes` say, opens it in every way, and uses it.
    pub(crate) fn on_file(&self, bytes: &[u8]) {
        let mut choices = Choices(bytes);
        let path = self.damaged(&mut choices);
        let options = Pool::options().max_size(self.room);
        if let Ok(pool) = options.clone().read_only(true).open_existing(&path) {
            let _ = self.use_pool(&pool, &mut choices);
        }
        let accept = choices.byte().is_multiple_of(2);
        if let Ok(pool) = options.clone().accept_unclean(accept).open_existing(&path) {
            let _ = self.use_pool(&pool, &mut choices);
            let _ = pool.close();
        }
        if let Ok(pool) = options.open_existing(&path) {
            let _ = pool.verify();
        }
    }

    /// Damages the file of the killed process, in its place, for a copy is refused. Opens it to be read only, tries
    /// everything, and repairs it.
    pub(crate) fn on_killed_file(&self, bytes: &[u8]) {
        let mut choices = Choices(bytes);
        let path = self.folder.path().join("killed");
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut damage = self.image.damage(&mut choices);
        damage.retain(|&(i, _)| 8 * i as u64 + 8 <= file.metadata().unwrap().len());
        let read = |at: u64, bytes: &mut [u8]| file.read_exact_at(bytes, at).unwrap();
        let mut before = vec![0; 8192];
        read(0, &mut before);
        let mut words = Vec::new();
        for (i, word) in damage {
            let (at, mut old) = (8 * i as u64, [0; 8]);
            read(at, &mut old);
            words.push((at, old));
            file.write_all_at(&word.to_le_bytes(), at).unwrap();
        }
        if choices.byte().is_multiple_of(2) {
            seal(&path);
        }
        let options = Pool::options().read_only(true);
        if let Ok(pool) = options.open_existing(&path) {
            let _ = self.use_pool(&pool, &mut choices);
            let _ = (pool.recover_leaks(), pool.close());
        }
        words.iter().rev().for_each(|(at, old)| file.write_all_at(old, *at).unwrap());
        file.write_all_at(&before, 0).unwrap();
    }

    fn use_pool(&self, pool: &Pool, choices: &mut Choices<'_>) -> Result<()> {
        let _ = (pool.maps(), pool.stats(), pool.verify());
        (self.use_maps)(pool, choices);
        let _ = (pool.rename("third", "fourth"), pool.rename("fourth", "first"));
        let _ = (pool.verify(), pool.drop_map("second"), pool.drop_map("nothing"));
        pool.verify().map(drop)
    }
}

/// Gives the superblocks the checksum of what is in them, so that it is looked at.
fn seal(path: &Path) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    for at in [0, 4096] {
        let mut bytes = [0; superblock::BYTES];
        file.read_exact_at(&mut bytes, at).unwrap();
        superblock::seal(&mut bytes);
        file.write_all_at(&bytes, at).unwrap();
    }
}

/// Once in sixteen times the file ends too early.
fn cut_short(file: &File, choices: &mut Choices<'_>) {
    if choices.byte() % 16 == 1 {
        let len = file.metadata().unwrap().len();
        file.set_len(choices.number() % len).unwrap();
    }
}

/// All that a map offers, on keys all over the tree.
macro_rules! every_operation {
    (
        $map:ident,
        $choices:ident,
        $insert_new:ident,
        $update:ident,
        $fetch_update:ident,
        $first:ident,
        $last:ident,
        $keys:expr
    ) => {{
        let from = $choices.below(700) as u64;
        let keys: Vec<u64> = (0..30).map(|i| (from + 23 * i) % 700 * STEP).collect();
        let _ =
            ($map.len(), $map.is_empty(), $map.$first(), $map.$last(), $map.get_many($keys(&keys)));
        for (i, &key) in keys.iter().enumerate() {
            let value = i as u64;
            let _ = ($map.get(key), $map.contains_key(key), $map.insert(key, value));
            let _ =
                ($map.$insert_new(key + 1, value), $map.$update(key, value), $map.remove(key + 2));
            let _ = ($map.compare_exchange(key, Some(value), Some(7)), $map.remove(key));
            let _ = $map.$fetch_update(key + 3, |old| old.map(|old| old ^ 1).or(Some(1)));
        }
        // A run that splits nodes, and one that merges them.
        let _ = (0..40).try_for_each(|i| $map.insert(keys[0] + 8 * i, i).map(drop));
        let _ = (0..40).try_for_each(|i| $map.remove(keys[0] + 8 * i).map(drop));
        // At most so many entries can be told apart in the room there is.
        let limit = (ROOM / 16) as usize;
        assert!($map.range(..).take(limit).count() < limit, "a scan ends");
        assert!($map.range(..).rev().take(limit).count() < limit, "a scan ends");
        let _ = $map.range(keys[1]..=keys[1].saturating_add(90 * STEP)).take(50).count();
        let _ = ($map.pop_first(), $map.pop_last(), $map.retain(|key, _| !key.is_multiple_of(3)));
        let _ = $map.remove_range(keys[2]..keys[2].saturating_add(200 * STEP));
        let _ = ($map.$first(), $map.len());
        if $choices.byte().is_multiple_of(4) {
            $map.clear()?;
        }
        Ok(())
    }};
}

fn on_tree(map: &WordMap<impl Index>, choices: &mut Choices<'_>) -> Result<()> {
    every_operation!(map, choices, insert_new, update, fetch_update, first, last, Vec::as_slice)
}

fn on_map(map: &Map<u64, u64>, choices: &mut Choices<'_>) -> Result<()> {
    every_operation!(
        map,
        choices,
        insert_if_absent,
        replace,
        alter,
        first_key_value,
        last_key_value,
        |keys: &[u64]| keys.to_vec()
    )
}
