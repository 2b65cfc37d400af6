//! Copies by programs that know nothing of pools, of a pool that is closed, open, or changes hands meanwhile. Each opens as what the
//! pool was, goes back to its checkpoint, or is refused: none has less and says nothing.
//!
//! `ENDURA_ROUNDS` is another number of copies: 200 take two minutes.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::LazyLock;

use endura::{Checkpoints, Error, Pool, PoolOptions};
use endura_engine::media::STEP;

use crate::load::*;
use crate::mounts::run;
use crate::process::*;
use crate::random::Random;

/// What a pool is after so many sessions, each of which puts in keys of its own and changes all earlier ones.
fn session(options: &PoolOptions, path: &Path, number: u64) {
    let pool = options.open(path).unwrap();
    fill(&pool, number);
    pool.close().unwrap();
}

const KEYS: u64 = 8_000;

fn fill(pool: &Pool, number: u64) {
    let map = pool.map::<u64, u64>("map").unwrap();
    // In an order in which neighbours lie apart.
    for i in 0..KEYS * number {
        let key = i.wrapping_mul(7_919) % (KEYS * number);
        map.put(key, key ^ number << 32).unwrap();
    }
}

/// After how many sessions the pool is as it is; panics if it is nothing of that kind.
fn sessions_in(pool: &Pool) -> u64 {
    pool.verify().unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    let number = map.get(0).unwrap().unwrap() >> 32;
    let found: Vec<_> = map.iter().map(|entry| entry.unwrap()).collect();
    assert_eq!(found.len() as u64, KEYS * number);
    assert!(found.iter().all(|&(key, value)| value == key ^ number << 32));
    number
}

/// Copies bytes of a file as they are at this moment.
fn copy_part(from: &Path, to: &Path, pages: std::ops::Range<u64>) {
    let (from, to) = (File::open(from).unwrap(), File::options().write(true).open(to).unwrap());
    let mut bytes = vec![0; 4096];
    for page in pages {
        match from.read_at(&mut bytes, page * 4096).unwrap() {
            0 => break,
            have => to.write_all_at(&bytes[..have], page * 4096).unwrap(),
        }
    }
}

/// The first part of a copy is read while the pool is closed, the rest after a session has begun, or has ended.
#[test]
fn a_copy_during_which_a_session_begins() {
    for (has_checkpoints, closes, cut) in [false, true]
        .into_iter()
        .flat_map(|a| [false, true].map(|b| (a, b)))
        .flat_map(|(a, b)| [1, 2, 3, 20, u64::MAX].map(|cut| (a, b, cut)))
    {
        for folder in folders() {
            let path = folder.path().join("pool");
            let how = if has_checkpoints { Checkpoints::on_demand() } else { Checkpoints::off() };
            let options = Pool::options().checkpoints(how);
            session(&options, &path, 1);
            let kept = path.with_file_name("pool.checkpoint");
            let pages = fs::metadata(&path).unwrap().len().div_ceil(4096);
            let other = tempfile::tempdir_in(folder.path()).unwrap();
            let copy = other.path().join("pool");
            File::create(&copy).unwrap();
            let cut = cut.min(pages / 2);
            copy_part(&path, &copy, 0..cut);
            if has_checkpoints {
                fs::copy(&kept, other.path().join("pool.checkpoint")).unwrap();
            }
            let open = match closes {
                true => {
                    session(&options, &path, 2);
                    None
                }
                false => {
                    let pool = options.open(&path).unwrap();
                    fill(&pool, 2);
                    Some(pool)
                }
            };
            copy_part(&path, &copy, cut..u64::MAX >> 12);
            drop(open);
            let at = format!("checkpoints: {has_checkpoints}, closes: {closes}, cut: {cut}");
            // Both superblocks lie in the first two pages: all but the first one is of a later close.
            let is_later = cut == 1 && closes;
            let reading = options.clone().read_only(true).open_existing(&copy);
            assert_eq!(matches!(reading, Err(Error::NeedsRestore { .. })), !is_later, "{at}");
            drop(reading);
            match options.open_existing(&copy) {
                Ok(pool) if is_later => assert_eq!(sessions_in(&pool), 2, "{at}"),
                Ok(pool) => {
                    assert!(has_checkpoints && pool.restored().is_some(), "{at}");
                    assert_eq!(sessions_in(&pool), 1, "{at}");
                    pool.close().unwrap();
                }
                Err(Error::BadCheckpoint { .. }) if is_later => {}
                Err(Error::NeedsRestore { .. }) if !has_checkpoints || cut == 1 => {}
                other => panic!("{at}: {other:?}"),
            }
        }
    }
}

/// An older copy is written over the pool, and that breaks off.
#[test]
fn a_copy_over_the_pool_that_breaks_off() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let old = folder.path().join("old");
        session(&plain(), &path, 1);
        fs::copy(&path, &old).unwrap();
        session(&plain(), &path, 2);
        let pages = fs::metadata(&old).unwrap().len() / 4096;
        copy_part(&old, &path, 0..pages / 2);
        assert!(matches!(refusal(&path), Error::NeedsRestore { .. }));
        // The rest of it: it is the pool of then.
        copy_part(&old, &path, pages / 2..pages + 1);
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(fs::metadata(&old).unwrap().len())
            .unwrap();
        assert_eq!(sessions_in(&plain().open(&path).unwrap()), 1);
    }
}

/// A pool that was moved, or copied with its checkpoint, is compared with that once.
#[test]
fn a_copy_that_is_not_what_its_checkpoint_says() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let options = Pool::options().checkpoints(Checkpoints::on_demand());
        session(&options, &path, 1);
        let other = tempfile::tempdir_in(folder.path()).unwrap();
        let copy = other.path().join("pool");
        let length = fs::metadata(&path).unwrap().len() / STEP * STEP;
        for is_whole in [true, false] {
            fs::copy(&path, &copy).unwrap();
            fs::copy(path.with_file_name("pool.checkpoint"), other.path().join("pool.checkpoint"))
                .unwrap();
            if !is_whole {
                let file = File::options().write(true).open(&copy).unwrap();
                file.write_all_at(&[0; 4096], length / 2).unwrap();
            }
            let pool = options.open(&copy).unwrap();
            assert_eq!(pool.restored().is_none(), is_whole);
            assert_eq!(sessions_in(&pool), 1);
            pool.close().unwrap();
            drop(pool);
            // It is the file of its last session now.
            assert!(options.open(&copy).unwrap().restored().is_none());
        }
    }
}

/// A session that was killed before its superblock has voided the end mark, and stored nothing.
#[test]
fn a_kill_while_a_session_begins_costs_nothing() {
    for folder in folders() {
        let path = folder.path().join("pool");
        session(&plain(), &path, 1);
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let at = file.metadata().unwrap().len() / STEP * STEP;
        let mut mark = [0; 44];
        file.read_exact_at(&mut mark, at).unwrap();
        assert_eq!(mark[8..24], superblock(&path).session);
        mark[24..40].fill(7);
        let sum = crc32c(&mark[..40]);
        mark[40..].copy_from_slice(&sum.to_le_bytes());
        file.write_all_at(&mark, at).unwrap();
        // The same bytes in another file are a copy that goes on to read what that session stores.
        let copy = folder.path().join("copy");
        fs::copy(&path, &copy).unwrap();
        assert!(matches!(refusal(&copy), Error::NeedsRestore { .. }));
        assert_eq!(sessions_in(&plain().open(&path).unwrap()), 1);
    }
}

/// CRC32C, a bit at a time.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |sum: u32| (sum >> 1) ^ (0x82F6_3B78 & (sum & 1).wrapping_neg());
    let byte = |sum: u32, byte: &u8| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum));
    !bytes.iter().fold(!0, byte)
}

static HAS_RSYNC: LazyLock<bool> = LazyLock::new(|| run("rsync --version").is_ok());

/// Sessions begin and end, are killed and closed, while another program copies the pool and its checkpoint.
#[test]
fn copies_by_others_at_any_moment() {
    if !*HAS_RSYNC {
        left_out("copies by rsync, which is not installed");
    }
    let rounds = std::env::var("ENDURA_ROUNDS").map_or(12, |rounds| rounds.parse().unwrap());
    let mut seen = [0; 3];
    for folder in folders() {
        let path = folder.path().join("pool");
        let mut random = Random::of(7);
        let mut load = Load::start(&path);
        load.wait_for_checkpoint();
        for round in 0..rounds {
            let other = tempfile::tempdir_in(folder.path()).unwrap();
            let mut copies = copy_tool(&mut random, folder.path(), other.path());
            let before = load.has;
            // The pool is closed, open, being opened or being closed.
            match random.below(4) {
                0 => load = load.close(),
                1 => load = load.kill(),
                _ => {}
            }
            let mut copying = copies.spawn().unwrap();
            if load.has_ended() {
                std::thread::sleep(std::time::Duration::from_micros(random.below(4_000)));
                load = Load::start(&path);
            }
            load.wait(1 + random.below(3) as u32);
            assert!(copying.wait().unwrap().success());
            let copy = other.path().join("pool");
            match Pool::open(&copy) {
                Ok(pool) => {
                    let found = operations_in(&pool);
                    seen[usize::from(pool.restored().is_some())] += 1;
                    let is_told = pool.restored().is_some();
                    assert!(is_told || found >= before, "{round}: {found} of {before}");
                }
                Err(
                    Error::NeedsRestore { .. }
                    | Error::BadCheckpoint { .. }
                    | Error::Truncated { .. }
                    | Error::Corrupt { .. },
                ) => seen[2] += 1,
                Err(error) => panic!("{round}: {error}"),
            }
        }
        drop(load.kill());
    }
    println!("{} as it was, {} taken back, {} refused", seen[0], seen[1], seen[2]);
}

/// A command that copies the pool, or the pool and its checkpoint.
fn copy_tool(random: &mut Random, from: &Path, to: &Path) -> std::process::Command {
    let (from, to) = (from.display(), to.display());
    let mut tools = vec![
        format!("cp {from}/pool {to}/pool; cp {from}/pool.checkpoint {to}/"),
        format!("cp {from}/pool.checkpoint {to}/; cp {from}/pool {to}/pool"),
        format!("cp -a {from}/pool {from}/pool.checkpoint {to}/"),
        format!("tar cf - -C {from} pool pool.checkpoint 2>/dev/null | tar xf - -C {to}"),
        format!("dd if={from}/pool of={to}/pool bs=4096 status=none"),
        format!("cp {from}/pool {to}/pool"),
    ];
    if *HAS_RSYNC {
        tools.extend([
            // It tells, and ends with 23, that a file became shorter meanwhile; the copy is there.
            format!("rsync -a {from}/pool {from}/pool.checkpoint {to}/ || [ $? -eq 23 ]"),
            format!("rsync -a --inplace {from}/pool {to}/ || [ $? -eq 23 ]"),
        ]);
    }
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &tools[random.below(tools.len() as u64) as usize]]);
    command
}
