//! Random sequences of sessions and of what ends them, against a model of what the pool must hold afterwards.
//!
//! A kill is what the files are while the pool is open: they are read then, and put back after the close. A power loss is a
//! kill that takes the mark of the session as well, in another boot, with garbage in some pages of the pool. A
//! checkpoint fails where something else stands in its place.
//!
//! `ENDURA_SEQUENCES` sets how many sequences, `ENDURA_SEQUENCES_SEED` the first.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use endura::{Checkpoints, Error, Pool, PoolOptions};

use crate::process::*;
use crate::random::Random;
use crate::stays::{NUMBER, number, under_way, word};

const PAGE: u64 = 4096;
const KEYS: u64 = 12;
/// Of so many sequences one is on a disk, where syncs take long.
const ON_DISK: u64 = 25;

/// What a pool holds, and which closes have come before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Contents {
    entries: BTreeMap<u64, u64>,
    closes: BTreeSet<u64>,
}

/// The pool's file.
#[derive(Debug, Clone, Default)]
struct Model {
    now: Contents,
    is_torn: bool,
    is_closed: bool,
    /// Whether a power loss damaged nothing: a verification then accepts it.
    is_whole: bool,
}

#[derive(Debug, Clone)]
struct Saved {
    pool: (Vec<u8>, Model),
    checkpoint: Option<(Vec<u8>, Contents)>,
    place: usize,
}

struct Sequence {
    path: PathBuf,
    /// The two places of checkpoints, and what is there.
    places: [PathBuf; 2],
    kept: [Option<Contents>; 2],
    /// In which the pool has them.
    place: usize,
    /// Whether the pool has been told of a place: from then on it is told each time.
    is_given: bool,
    is_on: bool,
    pool: Model,
    /// Whether somebody has put files elsewhere since the last open: then the pool and the checkpoint may not belong together.
    is_mixed: bool,
    saved: Option<Saved>,
    random: Random,
    /// Of writes and closes.
    clock: u64,
    log: Vec<String>,
}

fn text_of(value: u64) -> String {
    format!("{value}{}", ".".repeat((value * 677 % 9_000) as usize))
}

impl Sequence {
    fn new(folder: &Path, seed: u64) -> Self {
        let path = folder.join(format!("pool-{seed}"));
        let places =
            [".checkpoint", ".elsewhere"].map(|end| folder.join(format!("pool-{seed}{end}")));
        Self {
            path,
            places,
            kept: [None, None],
            place: 0,
            is_given: false,
            is_on: true,
            pool: Model { is_closed: true, ..Model::default() },
            is_mixed: false,
            saved: None,
            random: Random::of(seed),
            clock: 0,
            log: Vec::new(),
        }
    }

    fn options(&self, how: Checkpoints) -> PoolOptions {
        let how = if self.is_given { how.in_file(self.checkpoint()) } else { how };
        Pool::options().checkpoints(how).max_size(64 << 20)
    }

    fn checkpoint(&self) -> &Path {
        &self.places[self.place]
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn note(&mut self, what: impl Into<String>) {
        self.log.push(what.into());
    }

    /// All that an open could change.
    fn files(&self) -> Vec<Option<Vec<u8>>> {
        [&self.path, &self.places[0], &self.places[1]].map(|path| fs::read(path).ok()).to_vec()
    }

    fn expect(&self, pool: &Pool, want: &Contents) {
        let (words, texts) = (pool.map::<u64, u64>("words"), pool.map::<u64, str>("texts"));
        let (words, texts) = (words.unwrap(), texts.unwrap());
        for key in 0..KEYS {
            let value = want.entries.get(&key);
            assert_eq!(words.get(key).unwrap().as_ref(), value, "key {key}");
            let text = texts.get(key).unwrap();
            assert_eq!(text.as_deref().map(str::to_owned), value.map(|&value| text_of(value)));
        }
    }

    /// Whether the checkpoint has all that was in the pool at its last close.
    fn has_last_close(&self) -> bool {
        let kept = self.kept[self.place].as_ref();
        kept.is_some_and(|kept| kept.closes.is_superset(&self.pool.now.closes))
    }

    /// Opens the pool, and sees that it is what it must be, or is refused for a reason.
    fn open(&mut self, how: Checkpoints) -> Option<Pool> {
        let goes_on = how != Checkpoints::off();
        let (options, before) = (self.options(how), self.files());
        match options.open(&self.path) {
            Ok(pool) => {
                if self.pool.is_torn {
                    assert!(pool.stats().unwrap().restored.is_some());
                    assert!(self.has_last_close(), "went back behind a close");
                    self.pool.now = self.kept[self.place].clone().unwrap();
                } else {
                    assert!(pool.stats().unwrap().restored.is_none());
                    assert_eq!(pool.stats().unwrap().clean_open, self.pool.is_closed);
                }
                self.expect(&pool, &self.pool.now);
                self.pool = Model { now: self.pool.now.clone(), ..Model::default() };
                self.is_mixed = false;
                if !goes_on && self.is_on {
                    self.kept[self.place] = None;
                    assert!(!self.checkpoint().exists());
                }
                self.is_on = goes_on;
                Some(pool)
            }
            Err(error) => {
                self.note(format!("refused: {error}"));
                assert!(self.files() == before, "a refused open changed something");
                match (&error, self.kept[self.place].is_some()) {
                    (Error::NeedsRestore { .. }, false) => assert!(self.pool.is_torn),
                    // What was left in another place is not looked at.
                    (Error::NeedsRestore { .. }, true) => {
                        assert!(self.pool.is_torn && !self.is_on && !goes_on);
                    }
                    // What was there before may only not be mounted.
                    (Error::BadCheckpoint { .. }, false) => {
                        assert!(self.is_given && !self.pool.is_closed, "refused for good");
                    }
                    (Error::BadCheckpoint { .. }, true) => assert!(
                        self.is_mixed || self.pool.is_torn && !self.has_last_close(),
                        "refused for good"
                    ),
                    _ => panic!("refused by {error:?}"),
                }
                None
            }
        }
    }

    /// What a person does with a pool that is refused.
    fn help(&mut self) {
        if !self.pool.is_torn && self.kept[self.place].is_some() {
            self.note("the checkpoint is moved away");
            fs::remove_file(self.checkpoint()).unwrap();
            self.kept[self.place] = None;
        }
        if !self.pool.is_torn {
            self.accept();
            return;
        }
        self.note("the pool is moved away");
        fs::remove_file(&self.path).unwrap();
        let kept = self.kept[self.place].clone();
        let is_anew = kept.is_some();
        if !is_anew {
            self.place = 0;
            for place in 0..2 {
                let _ = fs::remove_file(&self.places[place]);
                self.kept[place] = None;
            }
        }
        let options = self.options(Checkpoints::on_demand());
        let pool = options.open(&self.path).unwrap();
        assert_eq!(pool.stats().unwrap().restored.is_some(), is_anew);
        self.pool = Model { now: kept.unwrap_or_default(), ..Model::default() };
        self.expect(&pool, &self.pool.now);
        self.is_on = true;
        self.is_mixed = false;
        self.saved = None;
        self.end(pool);
    }

    fn write(&mut self, pool: &Pool) {
        let (words, texts) = (pool.map::<u64, u64>("words"), pool.map::<u64, str>("texts"));
        let (words, texts) = (words.unwrap(), texts.unwrap());
        for _ in 0..=self.random.below(6) {
            let (key, value) = (self.random.below(KEYS), self.tick());
            words.put(key, value).unwrap();
            texts.put(key, &text_of(value)).unwrap();
            self.pool.now.entries.insert(key, value);
        }
    }

    /// Lets checkpoints fail while `work` runs, and puts back what was there.
    fn with_no_room<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let at = self.checkpoint().to_owned();
        let (aside, new) = (at.with_extension("aside"), with_suffix(&at, ".new"));
        let is_there = fs::rename(&at, &aside).is_ok();
        fs::create_dir(&at).unwrap();
        fs::create_dir(&new).unwrap();
        let outcome = work(self);
        fs::remove_dir(&new).unwrap();
        fs::remove_dir(&at).unwrap();
        if is_there {
            fs::rename(&aside, &at).unwrap();
        }
        outcome
    }

    fn use_it(&mut self, pool: &Pool) {
        for _ in 0..self.random.below(5) {
            match self.random.below(9) {
                0..3 => {
                    self.note("write");
                    self.write(pool);
                }
                3..5 if self.is_on => {
                    self.note("checkpoint");
                    pool.checkpoint().unwrap();
                    self.kept[self.place] = Some(self.pool.now.clone());
                }
                5 if self.is_on => {
                    self.note("checkpoint without room");
                    self.with_no_room(|_| pool.checkpoint().unwrap_err());
                }
                6 if self.is_on && self.kept[self.place].is_some() => {
                    self.note("the checkpoint is removed");
                    fs::remove_file(self.checkpoint()).unwrap();
                    self.kept[self.place] = None;
                }
                7 => self.try_backup(pool),
                8 => self.save(),
                _ => {}
            }
        }
    }

    fn try_backup(&mut self, pool: &Pool) {
        self.note("backup");
        let to = with_suffix(&self.path, ".backup");
        pool.backup(&to).unwrap();
        if self.is_on {
            self.kept[self.place] = Some(self.pool.now.clone());
        }
        let copy = plain().open(&to).unwrap();
        self.expect(&copy, &self.pool.now);
        copy.close().unwrap();
        fs::remove_file(&to).unwrap();
    }

    /// Ends a session in one of the ways in which one ends.
    fn end(&mut self, pool: Pool) {
        let open = self.random.below(7);
        let mut before = [&self.path, self.checkpoint()].map(|path| fs::read(path).ok());
        match open {
            0..3 => {
                let is_full = self.is_on && self.random.one_in(3);
                self.note(if is_full { "close without room" } else { "close" });
                let close = self.tick();
                match is_full {
                    // On tmpfs it is the error of the close.
                    true => {
                        let closed = self.with_no_room(|_| pool.close());
                        assert!(closed.is_err() || closed.unwrap().checkpoint_error.is_some());
                    }
                    false => assert!(pool.close().unwrap().checkpoint_error.is_none()),
                }
                self.pool.now.closes.insert(close);
                self.pool.is_closed = true;
                if self.is_on && !is_full {
                    self.kept[self.place] = Some(self.pool.now.clone());
                }
                return;
            }
            3 if self.is_on => {
                self.note("killed in the close");
                pool.close().unwrap();
                // Its round says so first.
                let newest = number(word(&self.path)) - 1;
                before[0].as_mut().unwrap()[NUMBER].copy_from_slice(&under_way(newest));
                self.kept[self.place] = Some(self.pool.now.clone());
            }
            _ => {
                self.note("killed");
                pool.close().unwrap();
                put_back(self.checkpoint(), before[1].as_deref());
            }
        }
        put_back(&self.path, before[0].as_deref());
        if self.random.one_in(2) {
            self.lose_power();
        } else {
            patch(&self.path, |superblock| superblock.is_marked = false);
        }
    }

    fn lose_power(&mut self) {
        self.note("power loss");
        patch(&self.path, |superblock| superblock.boot.id = [0xEE; 16]);
        self.pool.is_torn = true;
        self.pool.is_whole = self.random.one_in(4);
        if !self.pool.is_whole {
            self.tear();
        }
    }

    fn tear(&mut self) {
        let file = File::options().read(true).write(true).open(&self.path).unwrap();
        let pages = file.metadata().unwrap().len() / PAGE;
        for page in 2..pages {
            if self.random.one_in(3) {
                let garbage = [self.random.next() as u8; PAGE as usize];
                file.write_all_at(&garbage, page * PAGE).unwrap();
            }
        }
        match self.random.below(3) {
            0 => file.set_len(pages / 2 * PAGE + 100).unwrap(),
            1 => file.set_len((pages + 16) * PAGE).unwrap(),
            _ => {}
        }
    }

    /// What happens between two sessions.
    fn meanwhile(&mut self) {
        match self.random.below(12) {
            0 | 1 => self.read(),
            2 => self.save(),
            3 => self.put_back_what_was_saved(),
            4 => {
                self.note("the other place");
                self.place = 1 - self.place;
                (self.is_given, self.is_mixed) = (true, true);
            }
            5 if superblock(&self.path).schedule.is_elsewhere => {
                let before = self.files();
                let forgotten = Pool::open(&self.path);
                assert!(matches!(forgotten, Err(Error::BadCheckpoint { .. })), "{forgotten:?}");
                assert!(self.files() == before);
            }
            6 if self.pool.is_torn => {
                let before = self.files();
                let refused = self.options(Checkpoints::on_demand()).restore(false);
                let refused = refused.open(&self.path);
                let is_as_wanted = matches!(
                    refused,
                    Err(Error::NeedsRestore { .. } | Error::BadCheckpoint { .. })
                );
                assert!(is_as_wanted, "{refused:?}");
                assert!(self.files() == before);
            }
            7 if self.pool.is_torn && self.pool.is_whole && !self.is_mixed => {
                self.accept();
            }
            8 if self.pool.is_torn => {
                self.note("a restore that was cut");
                self.pool.is_whole = false;
                self.tear();
            }
            _ => {}
        }
    }

    /// Says that the pool may go on as it is.
    fn accept(&mut self) {
        self.note("accepted");
        let options = self.options(Checkpoints::on_demand()).restore(false);
        let pool = options.accept_unclean(true).open(&self.path).unwrap();
        self.expect(&pool, &self.pool.now);
        self.pool = Model { now: self.pool.now.clone(), ..Model::default() };
        (self.is_on, self.is_mixed) = (true, false);
        self.end(pool);
    }

    fn read(&mut self) {
        self.note("read");
        let before = self.files();
        let opened = Pool::options().read_only(true).max_size(64 << 20).open_existing(&self.path);
        match opened {
            Ok(pool) => {
                assert!(!self.pool.is_torn);
                if !self.pool.now.entries.is_empty() {
                    self.expect(&pool, &self.pool.now);
                }
            }
            Err(error) => {
                let may_be = matches!(error, Error::NeedsRestore { .. } | Error::NeedsRecovery);
                assert!(may_be && !self.pool.is_closed, "{error:?}");
            }
        }
        assert!(self.files() == before);
    }

    fn save(&mut self) {
        self.note("saved");
        let checkpoint = fs::read(self.checkpoint()).ok();
        let kept = self.kept[self.place].clone();
        self.saved = Some(Saved {
            pool: (fs::read(&self.path).unwrap(), self.pool.clone()),
            checkpoint: checkpoint.zip(kept),
            place: self.place,
        });
    }

    fn put_back_what_was_saved(&mut self) {
        let Some(saved) = self.saved.clone() else { return };
        let which = self.random.below(3);
        self.note(["pool put back", "checkpoint put back", "both put back"][which as usize]);
        // A pool that was not closed would be a copy of an open one.
        if which != 1 {
            if !saved.pool.1.is_closed {
                return;
            }
            put_back(&self.path, Some(&saved.pool.0));
            self.pool = saved.pool.1;
            self.is_on = superblock(&self.path).schedule.is_on;
        }
        if which != 0 {
            let (bytes, kept) = saved.checkpoint.unzip();
            put_back(&self.places[saved.place], bytes.as_deref());
            self.kept[saved.place] = kept;
        }
        self.place = saved.place;
        self.is_mixed = true;
    }

    fn run(&mut self) {
        for _ in 0..12 {
            let how = match self.random.below(12) {
                0 => Checkpoints::off(),
                _ => Checkpoints::on_demand(),
            };
            self.note(if how == Checkpoints::off() { "open, off" } else { "open" });
            match self.open(how) {
                Some(pool) => {
                    self.use_it(&pool);
                    self.end(pool);
                }
                None => self.help(),
            }
            self.meanwhile();
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn any_sequence_leaves_what_it_must() {
    let first = setting("ENDURA_SEQUENCES_SEED", 1);
    let folders = folders();
    for seed in first..first + setting("ENDURA_SEQUENCES", 100) {
        let folder = if seed % ON_DISK == 0 { &folders[0] } else { &folders[folders.len() - 1] };
        let mut sequence = Sequence::new(folder.path(), seed);
        let run = std::panic::AssertUnwindSafe(|| sequence.run());
        if let Err(panic) = std::panic::catch_unwind(run) {
            println!("sequence {seed}: {:#?}", sequence.log);
            std::panic::resume_unwind(panic);
        }
    }
}
