//! A limit on the size of files (`ulimit -f`).

use std::fs;

use endura::{Error, Pool, SpaceLimit};
use endura_engine::media::STEP;
use endura_engine::space::PAGE;

use crate::identity::writer_of;
use crate::process::*;

fn limit_to(bytes: u64) {
    let limits = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: limits this process alone.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limits) }, 0);
}

#[test]
fn role_with_a_limit_on_files() {
    let Some(folder) = role_path() else { return };
    let old = folder.join("old");
    Pool::options().create_new(&old).unwrap().close().unwrap();
    let before = fs::read(&old).unwrap();
    for limit in [0, 1, 255, 256, 4096, 4351, 4352, 8192, STEP - 1, STEP, STEP + 1, 2 * PAGE] {
        limit_to(limit);
        for name in ["new", "old"] {
            let path = folder.join(name);
            let outcome = Pool::open(&path).and_then(|pool| {
                let map = pool.map::<u64, u64>("map")?;
                (0..400_000).try_for_each(|key| map.insert(key, !key).map(drop))
            });
            let error = outcome.unwrap_err();
            let text = error.to_string();
            let is_right = match &error {
                Error::Full { limit, .. } => *limit == SpaceLimit::FileSizeLimit,
                error => matches!(error, Error::Io { .. }),
            };
            assert!(is_right, "{limit}: {text}");
            assert!(!text.contains("max_size"), "one cause, one advice: {text}");
            assert!(text.contains("ulimit -f"), "{limit}: {text}");
            if limit < STEP {
                let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name());
                let pools = files.filter(|name| !name.to_string_lossy().contains(".checkpoint"));
                assert_eq!(pools.count(), 1, "{limit}: {name}");
            }
        }
        let _ = fs::remove_file(folder.join("new"));
        let _ = fs::remove_file(folder.join("new.checkpoint"));
        if limit < 4352 {
            assert!(fs::read(&old).unwrap() == before, "{limit}");
        }
    }
    say("as it should be");
}

/// The kernel says that a file would become too long by a signal as well, which ends the process.
#[test]
fn a_limit_on_files_is_an_error_and_no_signal() {
    for folder in folders() {
        let mut process = Process::start(role("role_with_a_limit_on_files", folder.path()));
        assert_eq!(process.hear(), "as it should be");
        process.finish();
    }
}

#[test]
fn role_fail_to_begin() {
    let Some(path) = role_path() else { return };
    for _ in 0..2 {
        limit_to(0);
        let error = Pool::options().open_existing(&path).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
        limit_to(libc::RLIM_INFINITY);
        // A reader finds what the killed session left: its superblock beside a mark that was begun.
        Pool::options().read_only(true).open_existing(&path).unwrap();
    }
    Pool::options().open_existing(&path).unwrap().close().unwrap();
    say("as it should be");
}

/// The session that fails has marked the file, and not written its superblock.
#[test]
fn a_session_that_cannot_begin_costs_nothing() {
    for folder in folders() {
        let path = closed_pool(&folder);
        writer_of(&path).kill();
        let mut process = Process::start(role("role_fail_to_begin", &path));
        assert_eq!(process.hear(), "as it should be");
        process.finish();
    }
}
