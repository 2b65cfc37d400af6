//! A limit on the size of files (`ulimit -f`).

use std::fs;

use endura::lab::pool::PAGE;
use endura::{Error, Pool};

use crate::process::*;

#[test]
fn role_with_a_limit_on_files() {
    let Some(folder) = role_path() else { return };
    let old = folder.join("old");
    Pool::options().create_new(&old).unwrap().close().unwrap();
    let before = fs::read(&old).unwrap();
    let page = PAGE;
    for limit in [0, 1, 191, 192, 4096, 4287, 4288, 8192, page - 1, page, page + 1, 2 * page] {
        let limits = libc::rlimit { rlim_cur: limit, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: limits this process alone.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limits) }, 0);
        for name in ["new", "old"] {
            let path = folder.join(name);
            let outcome = Pool::open(&path).and_then(|pool| {
                let map = pool.map::<u64, u64>("map")?;
                (0..100_000).try_for_each(|key| map.insert(key, !key).map(drop))
            });
            let error = outcome.unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, Error::Full { .. } | Error::Io { .. }), "{limit}: {text}");
            assert!(text.contains("ulimit -f"), "{limit}: {text}");
            if limit < page {
                assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "{limit}: {name}");
            }
        }
        let _ = fs::remove_file(folder.join("new"));
        if limit < 4288 {
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
