//! Files of others beside a pool, and at the path of its checkpoint.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

use endura::{Checkpoints, Error, Pool, PoolOptions};

use crate::process::*;

fn on_demand() -> PoolOptions {
    Pool::options().checkpoints(Checkpoints::on_demand())
}

fn checkpoint_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".checkpoint");
    name.into()
}

fn put(pool: &Pool, key: u64) {
    pool.map::<u64, u64>("map").unwrap().put(key, key).unwrap();
}

fn expect_refusal<T: std::fmt::Debug>(refused: endura::Result<T>, text: &str) {
    let error = refused.unwrap_err();
    assert!(error.to_string().contains(text), "{error}");
}

fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A pool is made, gets checkpoints and is closed beside a text, another pool, a link, and a link that leads nowhere.
#[test]
fn what_lies_beside_a_checkpoint_is_left_alone() {
    for folder in folders() {
        let other = folder.path().join("other");
        plain().create_new(&other).unwrap().close().unwrap();
        let precious = fs::read(&other).unwrap();
        for what in ["text", "pool", "link", "nowhere"] {
            let path = folder.path().join("pool");
            let new = folder.path().join("pool.checkpoint.new");
            match what {
                "text" => fs::write(&new, &precious).unwrap(),
                "pool" => fs::rename(&other, &new).unwrap(),
                "link" => symlink(&other, &new).unwrap(),
                _ => symlink("target", &new).unwrap(),
            }
            let pool = on_demand().create_new(&path).unwrap();
            put(&pool, 1);
            pool.checkpoint().unwrap();
            pool.close().unwrap();
            match what {
                "nowhere" => assert!(fs::symlink_metadata(&new).unwrap().is_symlink()),
                _ => assert!(fs::read(&new).unwrap() == precious, "{what}"),
            }
            assert!(!folder.path().join("target").exists(), "{what}");
            if what == "pool" {
                fs::rename(&new, &other).unwrap();
            }
            let _ = [&path, &checkpoint_of(&path), &new].map(fs::remove_file);
        }
        assert_eq!(names(folder.path()), ["other"]);
    }
}

/// A new file of checkpoints has no name before it holds one: a process that is killed in its first round leaves none.
#[test]
fn a_first_round_that_fails_leaves_no_name() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let pool = on_demand().create_new(&path).unwrap();
        put(&pool, 1);
        // Something of that name comes there after the open.
        fs::create_dir(checkpoint_of(&path)).unwrap();
        assert!(pool.checkpoint().is_err());
        assert_eq!(names(folder.path()), ["pool", "pool.checkpoint"]);
        fs::remove_dir(checkpoint_of(&path)).unwrap();
        pool.checkpoint().unwrap();
        assert_eq!(names(folder.path()), ["pool", "pool.checkpoint"]);
    }
}

/// An empty file, zeros (a disk image), and a text. The pool goes on where it has another file.
#[test]
fn what_holds_no_checkpoint_is_no_checkpoint() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let kept = checkpoint_of(&path);
        for bytes in [vec![], vec![0; 4096], vec![0; 65_536], vec![0; 300_000], b"text\n".to_vec()]
        {
            let refused = |outcome: endura::Result<Pool>| {
                assert!(matches!(outcome, Err(Error::BadCheckpoint { .. })), "{outcome:?}");
            };
            fs::write(&kept, &bytes).unwrap();
            refused(on_demand().create_new(&path));
            refused(on_demand().open(&path));
            fs::remove_file(&kept).unwrap();
            on_demand().create_new(&path).unwrap().close().unwrap();
            fs::write(&kept, &bytes).unwrap();
            unchanged(&path, || refused(on_demand().open(&path)));
            refused(Pool::options().checkpoints(Checkpoints::off()).open(&path));
            let how = Checkpoints::on_demand().in_file(folder.path().join("another"));
            Pool::options().checkpoints(how).open(&path).unwrap().close().unwrap();
            assert!(fs::read(&kept).unwrap() == bytes);
            let another = folder.path().join("another");
            let _ = [&path, &kept, &another].map(|path| fs::remove_file(path).unwrap());
        }
    }
}

/// Its disk is not mounted, for all that can be seen.
#[test]
fn a_link_that_leads_nowhere_is_no_place_for_a_checkpoint() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let (kept, target) = (checkpoint_of(&path), folder.path().join("target"));
        let nowhere = "a link to a file that does not exist";
        symlink(&target, &kept).unwrap();
        expect_refusal(on_demand().create_new(&path), nowhere);
        expect_refusal(Pool::open(&path), nowhere);
        fs::remove_file(&kept).unwrap();
        on_demand().create_new(&path).unwrap().close().unwrap();
        fs::rename(&kept, &target).unwrap();
        symlink(&target, &kept).unwrap();
        fs::rename(&target, folder.path().join("aside")).unwrap();
        // A closed pool is whole without it.
        let pool = Pool::open(&path).unwrap();
        put(&pool, 1);
        expect_refusal(pool.checkpoint(), nowhere);
        assert!(!target.exists() && fs::symlink_metadata(&kept).unwrap().is_symlink());
        fs::remove_file(&kept).unwrap();
        pool.checkpoint().unwrap();
        pool.close().unwrap();
    }
}

/// The file of the newest root of a checkpoint, with its first run damaged.
fn damage_run(kept: &Path) {
    let file = File::options().read(true).write(true).open(kept).unwrap();
    let number = |at| {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, at).unwrap();
        u64::from_le_bytes(bytes)
    };
    let root = if number(24) > number(4096 + 24) { 0 } else { 4096 };
    let slot = number(root + 320) as u32;
    file.write_all_at(&[0xFF; 16], u64::from(slot) * 4096).unwrap();
}

/// A file of checkpoints that cannot be gone on with is replaced: through a link the file that it leads to.
#[test]
fn a_checkpoint_that_is_given_up_is_replaced_where_it_is() {
    for folder in folders() {
        for is_link in [false, true] {
            let path = folder.path().join("pool");
            let (kept, target) = (checkpoint_of(&path), folder.path().join("target"));
            on_demand().create_new(&path).unwrap().close().unwrap();
            if is_link {
                fs::rename(&kept, &target).unwrap();
                symlink(&target, &kept).unwrap();
            }
            damage_run(&kept);
            let before = names(folder.path());
            let pool = Pool::open(&path).unwrap();
            put(&pool, 7);
            expect_refusal(pool.checkpoint(), "damaged");
            pool.checkpoint().unwrap();
            pool.close().unwrap();
            assert_eq!(names(folder.path()), before);
            assert_eq!(fs::symlink_metadata(&kept).unwrap().is_symlink(), is_link);
            fs::remove_file(&path).unwrap();
            let pool = Pool::open(&path).unwrap();
            assert_eq!(pool.map::<u64, u64>("map").unwrap().get(7).unwrap(), Some(7));
            pool.close().unwrap();
            let _ = [&path, &kept, &target].map(fs::remove_file);
        }
    }
}

fn limit_files(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the call reads two numbers.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
}

#[test]
fn role_fail_to_switch_off() {
    let Some(path) = role_path() else { return };
    // Enough for the number of the checkpoint, and not for the superblock.
    limit_files(4096);
    let refused = plain().open_existing(&path);
    assert!(matches!(refused, Err(Error::Io { .. })), "{refused:?}");
    limit_files(libc::RLIM_INFINITY);
    say("as it should be");
}

/// The pool was killed, and may need its way back: the checkpoint goes last.
#[test]
fn an_open_that_fails_keeps_the_checkpoint() {
    for folder in folders() {
        let path = folder.path().join("pool");
        on_demand().create_new(&path).unwrap().close().unwrap();
        let mut process = Process::start(role("role_fail_to_switch_off", &path));
        assert_eq!(process.hear(), "as it should be");
        process.finish();
        assert!(checkpoint_of(&path).exists());
        plain().open_existing(&path).unwrap().close().unwrap();
        assert_eq!(names(folder.path()), ["pool"]);
    }
}
