//! A page of a pool rots: the checkpoint, which has it whole, is not replaced by what a session has read of that.
//!
//! For each kind of index a page of zeros or of garbage lies in a pool that was closed, or whose process was killed. A
//! short session does one thing and closes the pool. Where that thing met the damage, and in each pool that was
//! killed, the file of the checkpoint stays what it was, but for a root that tells of it; else it still gives the whole contents
//! back.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use endura::dynamic::DynamicMap;
use endura::{
    Checkpoints, Error, Event, Kind, LeakRecoveryState, Map, MapOptions, NodeLayout, Pool, Result,
};

use crate::killed_file::leave_as_killed;
use crate::power_loss::{checkpoint_of, on_demand};
use crate::process::*;

const PAGE: u64 = 4096;
const KEYS: u64 = 6_000;
/// The entry of the first map in the directory.
const FIRST_ENTRY: u64 = 16384;
/// What each key has as its value.
fn value_of(key: u64) -> u64 {
    key.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

const KINDS: [(Kind, NodeLayout); 4] = [
    (Kind::FastFair, NodeLayout::Wide),
    (Kind::FastFair, NodeLayout::NarrowLeaves),
    (Kind::NbTree, NodeLayout::Wide),
    (Kind::Roart, NodeLayout::Wide),
];

type Deed = fn(&Pool, &Map<u64, u64>) -> Result<()>;

/// What a short session does.
const DEEDS: [(&str, Deed); 8] = [
    ("nothing", |_, _| Ok(())),
    ("get", |_, map| (0..KEYS).step_by(7).try_for_each(|key| map.get(key << 40).map(drop))),
    ("get_many", |_, map| map.get_many((0..KEYS).map(|key| key << 40)).map(drop)),
    ("put", |_, map| (0..KEYS).step_by(7).try_for_each(|key| map.put(key << 40, 1).map(drop))),
    ("len", |_, map| map.len().map(drop)),
    ("range", |_, map| map.iter().try_for_each(|entry| entry.map(drop))),
    ("remove_range", |_, map| map.remove_range((KEYS / 2) << 40..).map(drop)),
    ("verify", |pool, _| pool.verify().map(drop)),
];

/// Keys all over the map.
fn keys() -> impl Iterator<Item = u64> {
    (0..KEYS).step_by(7).map(|key| key << 40)
}

/// Whether each call is well.
fn each(call: impl FnMut(u64) -> Result<()>) -> Result<()> {
    keys().try_for_each(call)
}

fn all<T>(mut entries: impl Iterator<Item = Result<T>>) -> Result<()> {
    entries.try_for_each(|entry| entry.map(drop))
}

fn dynamic(pool: &Pool) -> DynamicMap {
    DynamicMap::open(pool, "map").unwrap()
}

/// Every other operation of a map.
const OTHERS: [(&str, Deed); 29] = [
    ("contains_key", |_, map| each(|key| map.contains_key(key).map(drop))),
    ("get_with", |_, map| each(|key| map.get_with(key, |_| ()).map(drop))),
    ("insert", |_, map| each(|key| map.insert(key, 1).map(drop))),
    ("insert_if_absent", |_, map| each(|key| map.insert_if_absent(key + 1, 1).map(drop))),
    ("replace", |_, map| each(|key| map.replace(key, 2).map(drop))),
    ("compare_exchange", |_, map| each(|key| map.compare_exchange(key, None, None).map(drop))),
    ("alter", |_, map| each(|key| map.alter(key, |old| old).map(drop))),
    ("update", |_, map| each(|key| map.update(key, |old| old.unwrap_or(1)).map(drop))),
    ("remove", |_, map| each(|key| map.remove(key).map(drop))),
    ("delete", |_, map| each(|key| map.delete(key).map(drop))),
    ("extend", |_, map| map.extend(keys().map(|key| (key + 3, 3))).map(drop)),
    ("first_key_value", |_, map| map.first_key_value().map(drop)),
    ("last_key_value", |_, map| map.last_key_value().map(drop)),
    ("is_empty", |_, map| map.is_empty().map(drop)),
    ("approximate_len", |_, map| map.approximate_len().map(drop)),
    ("rev", |_, map| all(map.iter().rev())),
    ("keys", |_, map| all(map.keys())),
    ("values", |_, map| all(map.values())),
    ("range_with", |_, map| map.range_with(.., |_, _| ())),
    ("visit_rev", |_, map| map.iter().visit_rev(|_, _| ())),
    ("retain", |_, map| map.retain(|key, _| key % 3 != 0).map(drop)),
    ("clear", |_, map| map.clear()),
    ("pop_first", |_, map| (0..KEYS).try_for_each(|_| map.pop_first().map(drop))),
    ("pop_last_key", |_, map| (0..KEYS).try_for_each(|_| map.pop_last_key().map(drop))),
    ("dynamic get", |pool, _| each(|key| dynamic(pool).get(&key.to_be_bytes()).map(drop))),
    ("dynamic range", |pool, _| all(dynamic(pool).iter())),
    ("rename", |pool, _| pool.rename("map", "other")),
    ("drop_map", |pool, _| pool.drop_map("map").map(drop)),
    ("recover_leaks", |pool, _| pool.recover_leaks().map(drop)),
];

/// A pool and its checkpoint, which are put back for each case into the same files: another file would be a copy.
struct Sound {
    path: PathBuf,
    pool: Vec<u8>,
    checkpoint: Vec<u8>,
}

impl Sound {
    fn new(folder: &Path, kind: (Kind, NodeLayout), is_killed: bool) -> Self {
        let path = folder.join("pool");
        let _ = (fs::remove_file(&path), fs::remove_file(checkpoint_of(&path)));
        let pool = on_demand().create_new(&path).unwrap();
        let mut options = MapOptions::new().kind(kind.0);
        if kind.0 == Kind::FastFair {
            options = options.node_layout(kind.1);
        }
        let map = pool.map_with::<u64, u64>("map", options).unwrap();
        for key in 0..KEYS {
            map.put(key << 40, value_of(key)).unwrap();
        }
        pool.checkpoint().unwrap();
        match is_killed {
            true => leave_as_killed(&path, || pool.close().unwrap()),
            false => drop(pool.close().unwrap()),
        }
        let checkpoint = fs::read(checkpoint_of(&path)).unwrap();
        Self { pool: fs::read(&path).unwrap(), checkpoint, path }
    }

    fn put_back(&self) {
        fs::write(&self.path, &self.pool).unwrap();
        fs::write(checkpoint_of(&self.path), &self.checkpoint).unwrap();
    }

    fn damage(&self, page: u64, with: Rot) {
        self.put_back();
        let file = File::options().write(true).open(&self.path).unwrap();
        file.write_all_at(&with.page(), page * PAGE).unwrap();
    }

    /// Pages that a verification finds damaged, some of them.
    fn pages(&self, with: Rot) -> Vec<u64> {
        let is_used = |page: &u64| {
            let at = (page * PAGE) as usize;
            self.pool[at..at + PAGE as usize].iter().any(|&byte| byte != 0)
        };
        let used: Vec<u64> = (16..self.pool.len() as u64 / PAGE).filter(is_used).collect();
        let is_told = |page: &u64| {
            self.damage(*page, with);
            let pool = Pool::options().read_only(true).open_existing(&self.path).unwrap();
            matches!(pool.verify(), Err(Error::Corrupt { .. }))
        };
        let some = [1, 3, 4, 6].map(|part| used[used.len() * part / 7]);
        let pages: Vec<u64> = some.into_iter().filter(is_told).collect();
        assert!(pages.len() >= 3, "{some:?} {pages:?}");
        pages
    }

    /// All but the roots, of which one may say by now that the session met damage.
    fn has_checkpoint_as_it_was(&self) -> bool {
        slots(&fs::read(checkpoint_of(&self.path)).unwrap()) == slots(&self.checkpoint)
    }

    /// What the checkpoint gives back where its pool is gone.
    fn restored(&self, folder: &Path) -> Vec<(u64, u64)> {
        let path = folder.join("restored/pool");
        let _ = fs::remove_dir_all(path.parent().unwrap());
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::copy(checkpoint_of(&self.path), checkpoint_of(&path)).unwrap();
        let pool = Pool::open(&path).unwrap();
        pool.verify().unwrap();
        pool.map::<u64, u64>("map").unwrap().iter().map(|entry| entry.unwrap()).collect()
    }
}

/// What the file of a checkpoint has behind its roots.
fn slots(checkpoint: &[u8]) -> &[u8] {
    &checkpoint[2 * PAGE as usize..]
}

#[derive(Debug, Clone, Copy)]
enum Rot {
    Zeros,
    Garbage,
}

impl Rot {
    fn page(self) -> [u8; PAGE as usize] {
        match self {
            Self::Zeros => [0; PAGE as usize],
            Self::Garbage => std::array::from_fn(|i| (i * i + 3 * i / 8) as u8 | 1),
        }
    }
}

/// What a session says of damage.
fn warns(pool: &Pool) -> bool {
    pool.stats().unwrap().warnings.iter().any(|what| what.contains("this session met damage"))
}

/// One short session; whether it met the damage.
fn session(sound: &Sound, deed: Deed) -> bool {
    // A second thread would meet the damage at any moment.
    let pool = on_demand().recovery_threads(0).open_existing(&sound.path).unwrap();
    let told = pool.map("map").and_then(|map| deed(&pool, &map));
    let is_damage = |told: &Result<()>| matches!(told, Err(Error::Corrupt { .. }));
    // An entry that does not decode may be one of another type.
    assert!(
        told.is_ok() || is_damage(&told) || matches!(told, Err(Error::Decode { .. })),
        "{told:?}"
    );
    if is_damage(&told) {
        assert!(warns(&pool));
        let refused = pool.checkpoint().unwrap_err();
        assert!(refused.to_string().contains("met damage"), "{refused}");
    }
    let closed = pool.close().map(drop);
    assert!(closed.is_ok() || is_damage(&closed), "{closed:?}");
    assert!(closed.is_err() || !is_damage(&told));
    assert_eq!(superblock(&sound.path).clean, closed.is_ok());
    closed.is_err()
}

fn each_deed(kind: (Kind, NodeLayout)) {
    let folder = folders().pop().unwrap();
    let folder = folder.path();
    for is_killed in [false, true] {
        let sound = Sound::new(folder, kind, is_killed);
        // The damage is what the session meets, and nothing else.
        sound.put_back();
        assert!(!session(&sound, |_, map| map.get(0).map(drop)));
        for with in [Rot::Zeros, Rot::Garbage] {
            for page in sound.pages(with) {
                let mut times_met = 0;
                for (name, deed) in DEEDS {
                    let case = format!("{kind:?}, killed: {is_killed}, {with:?} in {page}, {name}");
                    sound.damage(page, with);
                    let has_met = session(&sound, deed);
                    times_met += u32::from(has_met);
                    if has_met {
                        assert!(sound.has_checkpoint_as_it_was(), "{case}");
                        continue;
                    }
                    assert!(!is_killed && name != "verify", "{case}");
                    if !matches!(name, "put" | "remove_range") {
                        let whole: Vec<_> =
                            (0..KEYS).map(|key| (key << 40, value_of(key))).collect();
                        assert!(sound.restored(folder) == whole, "{case}");
                    }
                }
                assert!(times_met >= 1, "{kind:?}, {with:?} in {page}: met {times_met} times");
            }
        }
    }
}

#[test]
fn a_rotten_page_of_a_fast_fair_stays_out_of_the_checkpoint() {
    each_deed(KINDS[0]);
    each_deed(KINDS[1]);
}

#[test]
fn a_rotten_page_of_an_nbtree_stays_out_of_the_checkpoint() {
    each_deed(KINDS[2]);
}

#[test]
fn a_rotten_page_of_a_roart_stays_out_of_the_checkpoint() {
    each_deed(KINDS[3]);
}

/// A page in the middle of a long value: nothing but its checksum tells.
#[test]
fn a_rotten_page_of_a_long_value_stays_out_of_the_checkpoint() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let pool = on_demand().create_new(&path).unwrap();
        let map = pool.map::<str, [u8]>("map").unwrap();
        (0..20).for_each(|key| _ = map.put(&key.to_string(), &[key; 50_000]).unwrap());
        pool.checkpoint().unwrap();
        leave_as_killed(&path, || pool.close().unwrap());
        let bytes = fs::read(&path).unwrap();
        let is_inside = |page: &usize| bytes[page * 4096..][..8192].iter().all(|&byte| byte == 7);
        let page = (0..bytes.len() / 4096 - 1).find(is_inside).unwrap() as u64;
        let file = File::options().write(true).open(&path).unwrap();
        file.write_all_at(&Rot::Zeros.page(), page * PAGE).unwrap();
        let before = fs::read(checkpoint_of(&path)).unwrap();
        let pool = Pool::open(&path).unwrap();
        pool.map::<str, [u8]>("map").unwrap().put("1", &[1]).unwrap();
        assert!(matches!(pool.close(), Err(Error::Corrupt { .. })));
        assert!(slots(&fs::read(checkpoint_of(&path)).unwrap()) == slots(&before));
    }
}

/// Whatever tells damage, the session knows of it.
#[test]
fn each_operation_that_tells_damage_is_known_to_have() {
    let folder = folders().pop().unwrap();
    let mut told = BTreeSet::new();
    for kind in KINDS {
        let sound = Sound::new(folder.path(), kind, false);
        for with in [Rot::Zeros, Rot::Garbage] {
            for page in sound.pages(with).into_iter().take(1) {
                for (name, deed) in OTHERS {
                    sound.damage(page, with);
                    if session(&sound, deed) {
                        assert!(sound.has_checkpoint_as_it_was(), "{kind:?}, {page}, {name}");
                        told.insert(name);
                    }
                }
            }
        }
    }
    println!("{told:?}");
    assert!(told.len() >= 20, "{told:?}");
}

/// The thread that makes checkpoints makes none after damage was told, and says so.
#[test]
fn a_session_that_goes_on_after_damage_makes_no_checkpoint() {
    let folder = folders().pop().unwrap();
    let sound = Sound::new(folder.path(), KINDS[0], false);
    let page = sound.pages(Rot::Zeros)[0];
    sound.damage(page, Rot::Zeros);
    let (sender, events) = mpsc::channel();
    let pool = Pool::options()
        .checkpoints(Checkpoints::every(Duration::from_millis(20)))
        .on_event(move |event| _ = sender.send(*event))
        .open_existing(&sound.path)
        .unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    let other = pool.map::<u64, u64>("other").unwrap();
    let next = || events.recv_timeout(Duration::from_secs(60)).unwrap();
    other.put(1, 1).unwrap();
    while !matches!(next(), Event::CheckpointEnded { .. }) {}
    assert!(map.iter().any(|entry| entry.is_err()));
    let then = fs::read(checkpoint_of(&sound.path)).unwrap();
    other.put(2, 2).unwrap();
    while !matches!(next(), Event::CheckpointFailed { code: "bad_checkpoint", in_a_row: 1 }) {}
    assert!(warns(&pool));
    assert!(matches!(pool.close(), Err(Error::Corrupt { .. })));
    // The pages that the root names are those of before.
    let whole: Vec<_> = (0..KEYS).map(|key| (key << 40, value_of(key))).collect();
    assert!(sound.restored(folder.path()) == whole);
    assert!(slots(&fs::read(checkpoint_of(&sound.path)).unwrap()) == slots(&then));
}

/// The next session goes back by itself, as the error says: what met the damage needs no command of the user.
#[test]
fn the_open_after_damage_was_met_goes_back_to_the_checkpoint() {
    let folder = folders().pop().unwrap();
    for kind in KINDS {
        let sound = Sound::new(folder.path(), kind, false);
        let page = sound.pages(Rot::Zeros)[0];
        sound.damage(page, Rot::Zeros);
        let pool = on_demand().open_existing(&sound.path).unwrap();
        let map = pool.map::<u64, u64>("map").unwrap();
        let met = (0..KEYS).find_map(|key| map.put(key << 40, 1).err());
        let met = met.or_else(|| map.iter().find_map(|entry| entry.err())).unwrap();
        let text = met.to_string();
        assert!(matches!(met, Error::Corrupt { .. }), "{kind:?}: {text}");
        assert!(text.contains("its next open goes back to its checkpoint"), "{text}");
        let closed = pool.close();
        assert!(matches!(closed, Err(Error::Corrupt { .. })), "{kind:?}: {closed:?}");
        let pool = on_demand().open_existing(&sound.path).unwrap();
        let restored = pool.restored().unwrap();
        assert!(restored.reason.is_some() && restored.kept.is_some(), "{restored:?}");
        let map = pool.map::<u64, u64>("map").unwrap();
        assert_eq!(map.get(0).unwrap(), Some(value_of(0)));
        fs::remove_file(restored.kept.as_ref().unwrap()).unwrap();
        pool.close().unwrap();
    }
}

/// After a kill the first round waits for the walk over all maps, whoever makes it; a sound pool then gets its round.
#[test]
fn a_pool_found_not_closed_is_verified_before_its_first_checkpoint() {
    let folder = folders().pop().unwrap();
    for kind in KINDS {
        let sound = Sound::new(folder.path(), kind, true);
        for threads in [0, 1] {
            sound.put_back();
            let options = on_demand().recovery_threads(threads);
            let pool = options.open_existing(&sound.path).unwrap();
            pool.map::<u64, u64>("map").unwrap().put(1, 1).unwrap();
            pool.checkpoint().unwrap();
            let state = pool.stats().unwrap().leak_recovery.state;
            let early = [LeakRecoveryState::Pending, LeakRecoveryState::Marking];
            assert!(!early.contains(&state), "{state:?}");
            pool.close().unwrap();
            assert!(superblock(&sound.path).clean);
            let page = sound.pages(Rot::Garbage)[1];
            sound.damage(page, Rot::Garbage);
            let pool = options.open_existing(&sound.path).unwrap();
            let refused = pool.checkpoint().unwrap_err();
            assert!(refused.to_string().contains("met damage"), "{refused}");
            assert!(warns(&pool) && sound.has_checkpoint_as_it_was());
        }
    }
}

/// Without checkpoints there is nothing to keep: such a pool can be closed, as it could.
#[test]
fn a_pool_without_checkpoints_closes_all_the_same() {
    let folder = folders().pop().unwrap();
    let sound = Sound::new(folder.path(), KINDS[0], false);
    let page = sound.pages(Rot::Zeros)[0];
    sound.damage(page, Rot::Zeros);
    fs::remove_file(checkpoint_of(&sound.path)).unwrap();
    let pool = plain().open_existing(&sound.path).unwrap();
    assert!(pool.map::<u64, u64>("map").unwrap().iter().any(|entry| entry.is_err()));
    pool.close().unwrap();
}

/// Nobody can say what a kill has left of a map that this build does not know: the checkpoint stays until a build that knows
/// it has opened the pool.
#[test]
fn a_pool_with_an_unknown_map_keeps_its_checkpoint_after_a_kill() {
    let folder = folders().pop().unwrap();
    let sound = Sound::new(folder.path(), KINDS[0], true);
    sound.put_back();
    let file = File::options().read(true).write(true).open(&sound.path).unwrap();
    let mut what = [0; 8];
    file.read_exact_at(&mut what, FIRST_ENTRY + 8).unwrap();
    file.write_all_at(&[99], FIRST_ENTRY + 8).unwrap();
    let pool = on_demand().open_existing(&sound.path).unwrap();
    pool.map::<u64, u64>("other").unwrap().put(1, 1).unwrap();
    for refused in [pool.checkpoint().map(drop), pool.close().map(drop)] {
        let told = refused.unwrap_err();
        assert!(matches!(told, Error::BadCheckpoint { .. }), "{told:?}");
        assert!(told.to_string().contains("does not know"), "{told}");
    }
    assert!(sound.has_checkpoint_as_it_was() && !superblock(&sound.path).clean);
    file.write_all_at(&what, FIRST_ENTRY + 8).unwrap();
    let pool = on_demand().open_existing(&sound.path).unwrap();
    assert_eq!(pool.map::<u64, u64>("other").unwrap().get(1).unwrap(), Some(1));
    pool.close().unwrap();
    assert!(superblock(&sound.path).clean && !sound.has_checkpoint_as_it_was());
}
