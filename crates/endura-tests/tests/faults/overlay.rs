//! Pools in an overlay (a container's layer), which are there by two paths: in the overlay and in its upper folder. Locks
//! of one are not seen from the other, and of two that open such a pool at once only one may get it.
//!
//! Both are threads of one process here: to the kernel, and to the locks, they are as far apart as two processes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use endura::{Error, Pool, PoolOptions, Result};

use crate::killed_file::leave_as_killed;
use crate::mounts::*;
use crate::power_loss::{checkpoint_of, on_demand};
use crate::process::*;

/// An overlay over two folders of a volume, mounted.
struct Overlay {
    volume: Volume,
}

impl Overlay {
    fn new(kind: &str, megabytes: u64) -> Option<Self> {
        let volume = Volume::new(kind, megabytes)?;
        let at = volume.path();
        for folder in ["low", "up", "work", "merged"] {
            fs::create_dir(at.join(folder)).unwrap();
        }
        let at = at.display();
        let mounted = run(&format!(
            "mount -t overlay overlay -o lowerdir={at}/low,upperdir={at}/up,workdir={at}/work {at}/merged"
        ));
        if let Err(why) = mounted {
            leave_out(&why);
            return None;
        }
        Some(Self { volume })
    }

    /// The pool's path in the overlay.
    fn inside(&self) -> PathBuf {
        self.volume.path().join("merged/pool")
    }

    /// The same in the upper folder.
    fn outside(&self) -> PathBuf {
        self.volume.path().join("up/pool")
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = run(&format!("umount -l {}/merged", self.volume.path().display()));
    }
}

fn keys_of(pool: &Pool) -> Vec<u64> {
    pool.map::<u64, u64>("map").unwrap().keys().map(|key| key.unwrap()).collect()
}

fn put(pool: &Pool, key: u64) {
    pool.map::<u64, u64>("map").unwrap().put(key, key).unwrap();
}

/// Opens the pool by both paths at the same moment.
fn both_at_once(overlay: &Overlay, options: &PoolOptions) -> [Result<Pool>; 2] {
    let start = Barrier::new(2);
    let open = |path: PathBuf| {
        start.wait();
        options.open_existing(path)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| open(overlay.outside()));
        [open(overlay.inside()), other.join().unwrap()]
    })
}

#[test]
fn role_two_at_once() {
    if role_path().is_none() {
        return;
    }
    let rounds = std::env::var("ENDURA_TWO_AT_ONCE").map_or(100, |rounds| rounds.parse().unwrap());
    for (kind, megabytes) in [("tmpfs", 64), ("ext4", 64), ("xfs", 320)] {
        let Some(overlay) = Overlay::new(kind, megabytes) else { return };
        plain().create_new(overlay.inside()).unwrap().close().unwrap();
        let (mut keys, mut none) = (Vec::new(), 0);
        for round in 0..rounds {
            let opened = both_at_once(&overlay, &plain());
            assert!(opened.iter().any(|pool| pool.is_err()), "{kind}: both, in round {round}");
            for pool in &opened {
                match pool {
                    Ok(pool) => {
                        put(pool, round);
                        keys.push(round);
                        pool.close().unwrap();
                    }
                    Err(Error::Locked | Error::NeedsRestore { .. }) => {}
                    Err(error) => panic!("{kind}, round {round}: {error}"),
                }
            }
            none += u64::from(opened.iter().all(|pool| pool.is_err()));
        }
        let pool = plain().open_existing(overlay.inside()).unwrap();
        pool.verify().unwrap();
        assert_eq!(keys_of(&pool), keys);
        assert!(none <= rounds / 4, "{kind}: {none} of {rounds} times nobody");
    }
    say("as it should be");
}

#[test]
fn of_two_that_open_a_pool_by_two_paths_one_gets_it() {
    with_own_mounts("role_two_at_once");
}

/// Sees that neither a restore nor an open that accepts goes past a writer of the other path.
fn expect_locked(path: &Path) {
    unchanged(path, || {
        let refused = Pool::restore(path, None, false);
        assert!(matches!(refused, Err(Error::Locked)), "{refused:?}");
        let refused = on_demand().accept_unclean(true).open_existing(path);
        assert!(matches!(refused, Err(Error::Locked)), "{refused:?}");
    });
}

#[test]
fn role_restore_beside_a_writer() {
    if role_path().is_none() {
        return;
    }
    for (kind, megabytes) in [("tmpfs", 64), ("ext4", 64), ("xfs", 320)] {
        let Some(overlay) = Overlay::new(kind, megabytes) else { return };
        let (inside, outside) = (overlay.inside(), overlay.outside());
        let pool = on_demand().create_new(&inside).unwrap();
        put(&pool, 1);
        pool.close().unwrap();
        drop(pool);
        let pool = on_demand().open_existing(&inside).unwrap();
        put(&pool, 2);
        pool.checkpoint().unwrap();
        put(&pool, 3);
        let refused = on_demand().open_existing(&outside);
        assert!(matches!(refused, Err(Error::NeedsRestore { .. })), "{refused:?}");
        expect_locked(&outside);
        put(&pool, 4);
        assert_eq!(keys_of(&pool), [1, 2, 3, 4]);
        // The handle has the file open still when it is closed.
        leave_as_killed(&inside, || pool.close().unwrap());
        drop(pool);
        // Nobody writes any more: a reader, as a copy or a backup is one, is not in the way.
        let reading = File::open(&inside).unwrap();
        Pool::restore(&outside, None, false).unwrap();
        drop(reading);
        let pool = on_demand().open_existing(&outside).unwrap();
        assert!(matches!(keys_of(&pool)[..], [1, 2, ..]));
        // From inside nobody can see the writer outside.
        for refused in [
            Pool::restore(&inside, None, false).map(drop),
            on_demand().accept_unclean(true).open_existing(&inside).map(drop),
        ] {
            let told = refused.as_ref().map_err(|error| error.to_string());
            assert!(matches!(&told, Err(what) if what.contains("overlay")), "{told:?}");
        }
        put(&pool, 5);
        leave_as_killed(&outside, || pool.close().unwrap());
        drop(pool);
        // Who was there last needs nothing of it.
        let pool = on_demand().open_existing(&outside).unwrap();
        assert_eq!(keys_of(&pool).last(), Some(&5));
        pool.close().unwrap();
        let pool = on_demand().open_existing(&inside).unwrap();
        assert_eq!(keys_of(&pool).last(), Some(&5));
        pool.close().unwrap();
        assert!(checkpoint_of(&outside).exists());
    }
    say("as it should be");
}

#[test]
fn a_restore_from_outside_sees_the_writer_inside() {
    with_own_mounts("role_restore_beside_a_writer");
}

/// What a process leaves that was killed after its mark and before its superblock, or in its close.
#[test]
fn a_mark_that_was_left_on_a_closed_pool_holds_up_one_open() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let file = File::open(&path).unwrap();
        let flags = rustix::fs::XattrFlags::CREATE;
        if rustix::fs::fsetxattr(&file, "user.endura.session", &[7; 32], flags).is_err() {
            left_out("no extended attributes here");
            continue;
        }
        let begun = Instant::now();
        let pool = plain().open_existing(&path).unwrap();
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(2), "{took:?}");
        pool.close().unwrap();
        let begun = Instant::now();
        plain().open_existing(&path).unwrap().close().unwrap();
        println!("{took:?}, and then {:?}", begun.elapsed());
    }
}

/// Programs that read the file, as `cp` and backups do, neither wait nor keep anybody out.
#[test]
fn readers_of_the_file_are_not_in_the_way() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let pool = on_demand().create_new(&path).unwrap();
        put(&pool, 1);
        leave_as_killed(&path, || pool.close().unwrap());
        drop(pool);
        patch(&path, |superblock| superblock.boot.id = [0xEE; 16]);
        let reading = File::open(&path).unwrap();
        let pool = on_demand().restore(false).accept_unclean(true).open_existing(&path).unwrap();
        assert_eq!(keys_of(&pool), [1]);
        drop(reading);
        pool.close().unwrap();
    }
}
