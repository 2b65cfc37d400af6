//! A load whose every state is known: operation `i` gives one number and one word the value `i`. So a pool tells how many
//! operations it has, and whether it has all of them and nothing else.

use std::path::{Path, PathBuf};

use endura::{Checkpoints, Error, Pool, PoolOptions};

use crate::process::*;

/// Keys of the numbers, and of the words.
const NUMBERS: u64 = 4_000;
const WORDS: u64 = 3_000;
/// Operations between two things that the load says.
const ROUND: u64 = 500;

fn word_of(i: u64) -> String {
    format!("{i} {}", "-".repeat((i * 37 % 1500) as usize))
}

/// Operation `i`.
fn operate(
    numbers: &endura::Map<u64, u64>,
    words: &endura::Map<str, str>,
    i: u64,
) -> endura::Result<()> {
    numbers.put(i % NUMBERS, i)?;
    words.put(&format!("key {}", i % WORDS), &word_of(i)).map(drop)
}

/// The last operation below `end` that has this key of so many.
fn last(end: u64, key: u64, keys: u64) -> Option<u64> {
    let rounds = end.checked_sub(key + 1)? / keys;
    Some(key + rounds * keys)
}

/// How many operations the pool has. Panics if it has not just these.
pub(crate) fn operations_in(pool: &Pool) -> u64 {
    pool.verify().unwrap();
    if pool.maps().unwrap().is_empty() {
        return 0;
    }
    let numbers = pool.map::<u64, u64>("numbers").unwrap();
    let words = pool.map::<str, str>("words").unwrap();
    let end = numbers.values().map(|value| value.unwrap() + 1).max().unwrap_or(0);
    for key in 0..NUMBERS {
        assert_eq!(numbers.get(key).unwrap(), last(end, key, NUMBERS), "number {key} of {end}");
    }
    // The last operation may have done its first half.
    let has = |end: u64| {
        (0..WORDS).all(|key| {
            let found = words.get(&format!("key {key}")).unwrap();
            found == last(end, key, WORDS).map(word_of)
        })
    };
    assert!(has(end) || end > 0 && has(end - 1), "the words are not those of {end} operations");
    end
}

fn options() -> PoolOptions {
    let how = std::env::var("ENDURA_TEST_CHECKPOINTS").unwrap_or_default();
    match how.as_str() {
        "off" => plain(),
        _ => Pool::options().checkpoints(Checkpoints::on_demand()),
    }
}

/// Goes on with the load until the file `close` is beside the pool's folder, or until an error.
#[test]
fn role_load() {
    let Some(path) = role_path() else { return };
    let pool = match options().open(&path) {
        Ok(pool) => pool,
        Err(error) => return say(&format!("refused {error}")),
    };
    if let Some(restored) = pool.restored() {
        say(&format!("restored {restored:?}"));
    }
    let numbers = pool.map::<u64, u64>("numbers").unwrap();
    let words = pool.map::<str, str>("words").unwrap();
    // The last operation again: it may have done its first half.
    let end = numbers.values().map(|value| value.unwrap() + 1).max().unwrap_or(0);
    let mut next = end.saturating_sub(1);
    let outcome: endura::Result<()> = loop {
        if let Err(error) = operate(&numbers, &words, next) {
            break Err(error);
        }
        next += 1;
        if next % ROUND == 0 {
            say(&format!("has {next}"));
        }
        if next % (4 * ROUND) == 0 && std::env::var_os("ENDURA_TEST_CHECKPOINTS").is_none() {
            match pool.checkpoint() {
                Ok(_) => say(&format!("kept {next}")),
                Err(error) => say(&format!("not kept {error}")),
            }
        }
        if signal_of(&path).exists() {
            break Ok(());
        }
    };
    let closed = pool.close();
    say(&format!(
        "ended {}",
        outcome.and(closed).map_or_else(|error| error.to_string(), |_| "well".into())
    ));
}

/// By which a load is told to close its pool.
pub(crate) fn signal_of(path: &Path) -> PathBuf {
    PathBuf::from(format!("/dev/shm/endura-{}-close", number_of(path)))
}

/// A number for a path.
fn number_of(path: &Path) -> String {
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(path.as_os_str().as_encoded_bytes()))
}

/// A load in another process, and what it has said.
pub(crate) struct Load {
    process: Process,
    path: PathBuf,
    /// Operations that have returned.
    pub(crate) has: u64,
    /// Operations that are in a checkpoint that was made.
    pub(crate) kept: u64,
    /// What it said when it ended.
    pub(crate) end: Option<String>,
    /// What it said if its open took the pool back to a checkpoint.
    pub(crate) restored: Option<String>,
    is_over: bool,
}

impl Load {
    pub(crate) fn start(path: &Path) -> Self {
        Self::start_with(path, role("role_load", path))
    }

    pub(crate) fn start_with(path: &Path, command: std::process::Command) -> Self {
        let _ = std::fs::remove_file(signal_of(path));
        let process = Process::start(command);
        Self {
            process,
            path: path.to_owned(),
            has: 0,
            kept: 0,
            end: None,
            restored: None,
            is_over: false,
        }
    }

    fn take(&mut self, said: &str) {
        let number = |text: &str| text.parse().unwrap();
        match said.split_once(' ') {
            Some(("has", text)) => self.has = number(text),
            Some(("kept", text)) => self.kept = number(text),
            Some(("ended" | "refused", _)) => self.end = Some(said.to_owned()),
            Some(("restored", _)) => self.restored = Some(said.to_owned()),
            _ => println!("{said}"),
        }
    }

    /// Waits until it has said so many things.
    pub(crate) fn wait(&mut self, times: u32) -> &mut Self {
        for _ in 0..times {
            if self.end.is_none() {
                let said = self.process.hear();
                self.take(&said);
            }
        }
        self
    }

    /// Waits until it has made another checkpoint.
    pub(crate) fn wait_for_checkpoint(&mut self) -> &mut Self {
        let before = self.kept;
        while self.kept == before && self.end.is_none() {
            self.wait(1);
        }
        self
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.is_over
    }

    /// Kills it.
    pub(crate) fn kill(mut self) -> Self {
        self.process.end();
        self.finish()
    }

    /// Has it close its pool.
    pub(crate) fn close(self) -> Self {
        std::fs::write(signal_of(&self.path), "").unwrap();
        self.finish()
    }

    fn finish(mut self) -> Self {
        while let Some(said) = self.process.hear_more() {
            self.take(&said);
        }
        let _ = std::fs::remove_file(signal_of(&self.path));
        self.is_over = true;
        self
    }
}

/// A pool that was taken back to a checkpoint says so, has what that has, and what was there is kept if that may be more.
pub(crate) fn expect_no_loss(pool: &Pool, load: &Load) -> u64 {
    let found = operations_in(pool);
    match pool.restored() {
        Some(restored) => {
            assert!(
                found >= load.kept,
                "{found} operations, and {} were kept: {restored:?}",
                load.kept
            );
            assert!(restored.reason.is_some(), "{restored:?}");
        }
        None => assert!(found >= load.has, "{found} operations, and {} had returned", load.has),
    }
    found
}

/// The load is what it is for: it notices what is missing.
#[test]
fn a_pool_that_lacks_something_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let pool = plain().create_new(folder.path().join("pool")).unwrap();
    let numbers = pool.map::<u64, u64>("numbers").unwrap();
    let words = pool.map::<str, str>("words").unwrap();
    (0..9_001).for_each(|i| operate(&numbers, &words, i).unwrap());
    assert_eq!(operations_in(&pool), 9_001);
    // Half of the next operation.
    numbers.put(9_001 % NUMBERS, 9_001).unwrap();
    assert_eq!(operations_in(&pool), 9_002);
    for damage in [0, 1] {
        let old = match damage {
            0 => numbers.put(7, 4_007).map(drop),
            _ => words.put("key 7", &word_of(3_007)).map(drop),
        };
        old.unwrap();
        let looks = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| operations_in(&pool)));
        assert!(looks.is_err(), "{damage}");
        numbers.put(7, 8_007).unwrap();
    }
    assert!(matches!(pool.map::<u64, u64>("words"), Err(Error::WrongTypes { .. })));
}
