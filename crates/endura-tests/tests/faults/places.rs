//! What lies at the paths of an open pool: its file, the file of its checkpoints, and their folders.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use endura::{Checkpoints, Error, Pool, PoolOptions};

use crate::mounts::{Volume, run, with_own_mounts};
use crate::power_loss::*;
use crate::process::*;

fn kept_in(file: &Path) -> PoolOptions {
    Pool::options().checkpoints(Checkpoints::on_demand().in_file(file))
}

fn put(pool: &Pool, key: u64) {
    pool.map::<u64, u64>("map").unwrap().put(key, key).unwrap();
}

fn len(pool: &Pool) -> usize {
    pool.map::<u64, u64>("map").unwrap().len().unwrap()
}

/// Fails with this in its text.
pub(crate) fn expect_refusal<T: std::fmt::Debug>(refused: endura::Result<T>, text: &str) {
    let error = refused.unwrap_err();
    assert!(error.to_string().contains(text), "{error}");
}

/// As `kill -9` while the pool is open, by what its files are then.
fn kill(pool: &Pool, path: &Path, kept: &Path) {
    let files = [path, kept].map(|path| fs::read(path).unwrap());
    let last = superblock(path);
    pool.close().unwrap();
    for (path, bytes) in [path, kept].iter().zip(files) {
        fs::write(path, bytes).unwrap();
    }
    mark(path, last.session);
}

fn mark(path: &Path, session: [u8; 16]) {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    let mut bytes = [0_u8; 32];
    bytes[..16].copy_from_slice(&session);
    let name = c"user.endura.session".as_ptr();
    // SAFETY: both names end with a zero, and so many bytes are there. It fails where there are no marks.
    let _ = unsafe { libc::setxattr(path.as_ptr(), name, bytes.as_ptr().cast(), 32, 0) };
}

/// A disk that is unplugged leaves another folder, or none: nothing is written there. When it is back, rounds go on.
#[test]
fn the_folder_of_checkpoints_goes_away_and_comes_back() {
    for folder in folders() {
        let [disk, gone] = ["disk", "gone"].map(|name| folder.path().join(name));
        fs::create_dir(&disk).unwrap();
        let (path, kept) = (folder.path().join("pool"), disk.join("kept"));
        let pool = kept_in(&kept).create_new(&path).unwrap();
        put(&pool, 1);
        pool.checkpoint().unwrap();
        fs::rename(&disk, &gone).unwrap();
        expect_refusal(pool.checkpoint(), "its folder is gone");
        fs::create_dir(&disk).unwrap();
        put(&pool, 2);
        expect_refusal(pool.checkpoint(), "its folder is another one");
        let stats = pool.stats().unwrap();
        let is_told = |what: &str| {
            what.starts_with("no checkpoint could be made, and")
                && what.contains("its folder is another one")
        };
        assert!(stats.warnings.iter().any(|what| is_told(what)), "{:?}", stats.warnings);
        assert_eq!(fs::read_dir(&disk).unwrap().count(), 0);
        fs::remove_dir(&disk).unwrap();
        fs::rename(&gone, &disk).unwrap();
        pool.checkpoint().unwrap();
        assert!(pool.stats().unwrap().warnings.is_empty());
        kill(&pool, &path, &kept);
        lose_power(&path, 1);
        assert_eq!(len(&kept_in(&kept).open(&path).unwrap()), 2);
    }
}

/// It has the newest checkpoint, so it is the same disk, whatever number it has now; one with an older one is not.
#[test]
fn the_newest_checkpoint_is_known_in_another_folder() {
    for folder in folders() {
        let [disk, gone] = ["disk", "gone"].map(|name| folder.path().join(name));
        fs::create_dir(&disk).unwrap();
        let (path, kept) = (folder.path().join("pool"), disk.join("kept"));
        let pool = kept_in(&kept).create_new(&path).unwrap();
        let mut older = Vec::new();
        for key in 0..2 {
            older = fs::read(&kept).unwrap_or_default();
            put(&pool, key);
            pool.checkpoint().unwrap();
        }
        fs::rename(&disk, &gone).unwrap();
        fs::create_dir(&disk).unwrap();
        fs::write(&kept, &older).unwrap();
        put(&pool, 2);
        expect_refusal(pool.checkpoint(), "its folder is another one");
        assert!(fs::read(&kept).unwrap() == older);
        fs::copy(gone.join("kept"), &kept).unwrap();
        pool.checkpoint().unwrap();
        kill(&pool, &path, &kept);
        lose_power(&path, 2);
        assert_eq!(len(&kept_in(&kept).open(&path).unwrap()), 3);
    }
}

/// What was put over the checkpoint stays; when it is moved away a new one is made.
#[test]
fn a_checkpoint_that_is_written_over_is_left_alone() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let kept = checkpoint_of(&path);
        let pool = on_demand().create_new(&path).unwrap();
        put(&pool, 1);
        pool.checkpoint().unwrap();
        let older = fs::read(&kept).unwrap();
        put(&pool, 2);
        pool.checkpoint().unwrap();
        fs::write(&kept, &older).unwrap();
        put(&pool, 3);
        for _ in 0..2 {
            expect_refusal(pool.checkpoint(), "another one was written over it");
            assert!(fs::read(&kept).unwrap() == older);
        }
        fs::rename(&kept, folder.path().join("moved")).unwrap();
        pool.checkpoint().unwrap();
        kill(&pool, &path, &kept);
        lose_power(&path, 1);
        assert_eq!(len(&Pool::open(&path).unwrap()), 3);
    }
}

/// A disk that is not mounted yet: a closed pool goes on with a warning, one that may have to go back does not.
#[test]
fn a_checkpoint_elsewhere_is_missing() {
    for folder in folders() {
        let (path, kept) = (folder.path().join("pool"), folder.path().join("kept"));
        let moved = folder.path().join("moved");
        let must_exist =
            || Pool::options().checkpoints(Checkpoints::on_demand().in_file(&kept).must_exist());
        for open in [PoolOptions::open, PoolOptions::open_existing, PoolOptions::create_new] {
            let refused = open(&must_exist(), &path);
            assert!(!path.exists() && refused.is_err(), "{refused:?}");
        }
        let pool = kept_in(&kept).open(&path).unwrap();
        put(&pool, 1);
        pool.checkpoint().unwrap();
        fs::rename(&kept, &moved).unwrap();
        fs::copy(&moved, &kept).unwrap();
        fs::remove_file(&kept).unwrap();
        fs::rename(&moved, &kept).unwrap();
        kill(&pool, &path, &kept);
        fs::rename(&kept, &moved).unwrap();
        unchanged(&path, || {
            expect_refusal(kept_in(&kept).open(&path), "was not closed, and the checkpoint");
        });
        // It is whole, and its owner says that it may go on.
        let pool = kept_in(&kept).accept_unclean(true).open(&path).unwrap();
        assert!(pool.stats().unwrap().warnings.iter().any(|what| what.contains("is not there")));
        pool.close().unwrap();
        fs::remove_file(&kept).unwrap();
        let refused = unchanged(&path, || must_exist().open(&path));
        expect_refusal(refused, "there must be");
        let pool = kept_in(&kept).open(&path).unwrap();
        assert!(pool.stats().unwrap().warnings.iter().any(|what| what.contains("is not there")));
        pool.close().unwrap();
        assert!(must_exist().open(&path).unwrap().stats().unwrap().warnings.is_empty());
    }
}

/// The second one, which is new, is not made of what the first one has.
#[test]
fn a_new_pool_is_not_made_of_another_ones_checkpoint() {
    for folder in folders() {
        let [users, sessions, kept] =
            ["users", "sessions", "kept"].map(|name| folder.path().join(name));
        let pool = kept_in(&kept).open(&users).unwrap();
        put(&pool, 1);
        pool.close().unwrap();
        let before = fs::read(&kept).unwrap();
        for open in [PoolOptions::open, PoolOptions::open_existing, PoolOptions::create_new] {
            expect_refusal(open(&kept_in(&kept), &sessions), "of a pool at another path");
        }
        assert!(!sessions.exists() && fs::read(&kept).unwrap() == before);
        // The first one may still begin from it, by a link as well; and so may one that was renamed, on demand.
        fs::remove_file(&users).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert_eq!(len(&kept_in(&kept).open(link.join("users")).unwrap()), 1);
        fs::remove_file(&users).unwrap();
        Pool::restore(&sessions, Some(&kept), false).unwrap();
        let pool = kept_in(&kept).open(&sessions).unwrap();
        assert_eq!(len(&pool), 1);
        pool.close().unwrap();
        // It is that one's from now on.
        fs::remove_file(&sessions).unwrap();
        assert_eq!(len(&kept_in(&kept).open(&sessions).unwrap()), 1);
    }
}

/// Where the pool is at the end.
type Now = Option<PathBuf>;
type Way = (&'static str, fn(&Path, &Path) -> Now);

/// A pool that has no name left, or whose name leads elsewhere: its close says so, and where it is.
#[test]
fn a_pool_that_was_moved_while_it_was_open() {
    let ways: [Way; 5] = [
        ("removed", |path, _| {
            fs::remove_file(path).unwrap();
            None
        }),
        ("removed, with a link", |path, other| {
            fs::hard_link(path, other).unwrap();
            fs::remove_file(path).unwrap();
            None
        }),
        ("moved", |path, other| {
            fs::rename(path, other).unwrap();
            Some(other.to_owned())
        }),
        ("another one renamed over it", |path, other| {
            fs::copy(path, other).unwrap();
            fs::rename(other, path).unwrap();
            None
        }),
        ("in a folder that was replaced", |path, other| {
            let folder = path.parent().unwrap();
            fs::rename(folder, other).unwrap();
            fs::create_dir(folder).unwrap();
            fs::copy(other.join("pool"), path).unwrap();
            Some(other.join("pool"))
        }),
    ];
    for folder in folders() {
        for (i, (what, move_it)) in ways.iter().enumerate() {
            for options in [on_demand(), plain()] {
                let own = tempfile::tempdir_in(folder.path()).unwrap();
                let inside = own.path().join("inside");
                fs::create_dir(&inside).unwrap();
                let (path, other) = (inside.join("pool"), own.path().join(format!("other{i}")));
                options.create_new(&path).unwrap().close().unwrap();
                let pool = Pool::open(&path).unwrap();
                put(&pool, 1);
                let has_checkpoints = pool.checkpoint().is_ok();
                let now = move_it(&path, &other);
                put(&pool, 2);
                if has_checkpoints {
                    expect_refusal(pool.checkpoint(), "was removed, moved or replaced while");
                }
                match pool.close() {
                    Err(Error::Displaced { path: told, now: found }) => {
                        assert_eq!(told, path, "{what}");
                        let canonical = now.map(|now| now.canonicalize().unwrap());
                        assert_eq!(found.as_deref(), canonical.as_deref(), "{what}");
                        if let Some(now) = found {
                            assert!(superblock(&now).clean);
                            assert_eq!(len(&Pool::open(&now).unwrap()), 2, "{what}");
                        }
                    }
                    closed => panic!("{what}: {closed:?}"),
                }
            }
        }
    }
}

/// A name that leads to the file is enough: a folder by a link, a relative one, a hard link that came and stays.
#[test]
fn a_pool_that_is_where_it_was_is_closed() {
    for folder in folders() {
        let (path, link) = (folder.path().join("pool"), folder.path().join("link"));
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        let pool = on_demand().open(link.join("pool")).unwrap();
        fs::hard_link(&path, folder.path().join("second")).unwrap();
        pool.checkpoint().unwrap();
        pool.close().unwrap();
        let file = File::open(&path).unwrap();
        let by_descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
        let pool = plain().open_existing(by_descriptor).unwrap();
        drop(file);
        pool.close().unwrap();
    }
}

/// A program that makes backups locks what it copies.
#[test]
fn a_locked_checkpoint_is_waited_for() {
    for folder in folders() {
        let path = folder.path().join("pool");
        on_demand().create_new(&path).unwrap().close().unwrap();
        for how in [libc::LOCK_SH, libc::LOCK_EX] {
            let file = File::open(checkpoint_of(&path)).unwrap();
            // SAFETY: the call locks the file that is open.
            assert_eq!(unsafe { libc::flock(file.as_raw_fd(), how) }, 0);
            expect_refusal(Pool::open(&path), "locked by another process");
            let waiting = Pool::options().lock_timeout(Duration::from_secs(60));
            std::thread::scope(|scope| {
                let opened = scope.spawn(|| waiting.open(&path));
                std::thread::sleep(Duration::from_millis(400));
                drop(file);
                opened.join().unwrap().unwrap().close().unwrap();
            });
        }
    }
}

#[test]
fn an_empty_file_beside_a_whole_checkpoint() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let pool = on_demand().create_new(&path).unwrap();
        put(&pool, 1);
        pool.close().unwrap();
        File::create(&path).unwrap();
        for open in [PoolOptions::open, PoolOptions::open_existing] {
            let refused = open(&Pool::options(), &path);
            let names = checkpoint_of(&path).display().to_string();
            expect_refusal(refused, &names);
            expect_refusal(open(&Pool::options(), &path), "move this file away");
        }
        fs::rename(&path, folder.path().join("empty")).unwrap();
        assert_eq!(len(&Pool::open(&path).unwrap()), 1);
        fs::remove_file(checkpoint_of(&path)).unwrap();
        File::create(folder.path().join("other")).unwrap();
        expect_refusal(Pool::open(folder.path().join("other")), "the file is empty");
    }
}

/// The file system of a checkpoint is asked as the pool's is.
#[test]
fn a_checkpoint_in_memory_of_a_pool_on_a_disk() {
    let [disk, memory] = &folders()[..] else { return };
    let pool = kept_in(&memory.path().join("kept")).open(disk.path().join("pool")).unwrap();
    let warnings = pool.stats().unwrap().warnings;
    assert!(warnings.iter().any(|what| what.contains("the checkpoint is in memory")));
}

#[test]
fn role_places_of_mounts() {
    let Some(above) = role_path() else { return };
    let Some(mut disk) = Volume::new("ext4", 32) else { return };
    let (path, kept) = (above.join("pool"), disk.path().join("kept"));
    // Unplugged, plugged in again, and again as another device.
    let pool = kept_in(&kept).create_new(&path).unwrap();
    for key in 0..3 {
        put(&pool, key);
        pool.checkpoint().unwrap();
        run(&format!("umount -l {}", disk.path().display())).unwrap();
        expect_refusal(pool.checkpoint(), "its folder is another one");
        assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
        disk.mount();
        pool.checkpoint().unwrap();
    }
    assert_eq!(len(&pool), 3);
    pool.close().unwrap();
    disk.unmount();
    // Started before its disk was mounted.
    expect_refusal(
        Pool::options()
            .checkpoints(Checkpoints::on_demand().in_file(&kept).must_exist())
            .open(&path),
        "there must be",
    );
    let pool = on_demand().create_new(disk.path().join("pool")).unwrap();
    disk.mount();
    expect_refusal(pool.checkpoint(), "was removed, moved or replaced");
    assert!(matches!(pool.close(), Err(Error::Displaced { now: None, .. })));

    a_file_that_is_mounted_alone(&above, &disk);
    other_file_systems(&above, &disk);
    say("as it should be");
}

/// As containers do.
fn a_file_that_is_mounted_alone(above: &Path, disk: &Volume) {
    let inside = above.join("inside");
    fs::create_dir(&inside).unwrap();
    let mounted = inside.join("pool");
    File::create(&mounted).unwrap();
    let outside = disk.path().join("pool");
    on_demand().create_new(&outside).unwrap().close().unwrap();
    run(&format!("mount --bind {} {}", outside.display(), mounted.display())).unwrap();
    let warns = |options: PoolOptions| {
        let pool = options.open(&mounted).unwrap();
        let warnings = pool.stats().unwrap().warnings;
        pool.close().unwrap();
        warnings.iter().any(|what| what.contains("mounted by itself"))
    };
    assert!(warns(on_demand()));
    let _ = fs::remove_file(inside.join("pool.checkpoint"));
    assert!(!warns(kept_in(&inside.join("kept"))));
    run(&format!("umount {}", mounted.display())).unwrap();
}

/// Below the checkpoint.
fn other_file_systems(above: &Path, disk: &Volume) {
    let (strange, other) = (above.join("strange"), above.join("other"));
    fs::create_dir(&strange).unwrap();
    let strange = strange.display();
    if run(&format!("mount -t hugetlbfs none {strange}")).is_ok() {
        let how = kept_in(&above.join("strange/kept"));
        expect_refusal(how.open(&other), "network file system");
        run(&format!("umount {strange}")).unwrap();
    }
    let _ = fs::remove_file(&other);
    for name in ["lower", "upper", "work"] {
        fs::create_dir(disk.path().join(name)).unwrap();
    }
    let at = disk.path();
    let at = at.display();
    let layers = format!("lowerdir={at}/lower,upperdir={at}/upper,workdir={at}/work");
    if run(&format!("mount -t overlay -o {layers} none {strange}")).is_ok() {
        let pool = kept_in(&above.join("strange/kept")).open(&other).unwrap();
        let warnings = pool.stats().unwrap().warnings;
        assert!(warnings.iter().any(|what| what.contains("overlayfs")), "{warnings:?}");
        pool.close().unwrap();
    }
}

#[test]
fn places_of_mounts() {
    with_own_mounts("role_places_of_mounts");
}
