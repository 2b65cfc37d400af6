//! Backups from damaged checkpoints.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::LazyLock;

use endura::{Error, Pool};

use super::alter::{alter, alter_sealed};
use super::history::{Contents, Ended, History, options, put};
use super::torn::use_it;
use crate::choices::Choices;

/// Copies the checkpoint of a pool that is in use, and then the pool through the handle that has it open, with a damaged file of
/// checkpoints: damaged before the pool is opened, or while it is open.
///
/// A copy of the checkpoint is a checkpoint as in [`damaged_checkpoint`](super::torn::damaged_checkpoint), or the one that the open
/// session has made meanwhile. A copy of the pool is the pool as it is. If a copy is refused, nothing is left under its name.
pub(crate) fn damaged_backup(bytes: &[u8]) {
    static HISTORY: LazyLock<History> = LazyLock::new(History::new);
    let (history, mut choices) = (&*HISTORY, Choices(bytes));
    let scene = history.scene(&mut choices, Some(false));
    let (is_sealed, is_early) = (choices.one_in(2), choices.one_in(2));
    let mut kept = scene.kept.clone();
    put(&scene.path, &scene.ended(Ended::Killed));
    put(&scene.kept_path(), &kept);
    let early = (!is_early).then(|| options().open_existing(&scene.path).unwrap());
    if choices.one_in(3)
        && let Some(pool) = &early
    {
        pool.checkpoint().unwrap();
        kept = fs::read(scene.kept_path()).unwrap();
    }
    let others = history.kept_at_all_times(scene);
    match is_sealed {
        true => alter_sealed(&mut kept, &others, &mut choices),
        false => alter(&mut kept, &others, &mut choices),
    }
    put(&scene.kept_path(), &kept);
    let pool = early.map_or_else(|| options().open_existing(&scene.path), Ok);
    let to = scene.path.with_file_name("copy");
    // As the command does with a pool that is in use.
    if pool.is_ok() {
        let reader = options().read_only(true).open_existing(&scene.path);
        assert!(matches!(reader, Err(Error::Locked)), "{reader:?}");
    }
    let from = scene.kept_path();
    let from = choices.one_in(2).then_some(from.as_path());
    let copied =
        Pool::backup_of_checkpoint(&scene.path, from, &to, |_, _| ControlFlow::Continue(()));
    let is_one = |found: &Contents| match from {
        Some(_) => history.was_a_checkpoint(scene, found) || *found == scene.own,
        None => scene.back.contains(found) || *found == scene.own,
    };
    expect_copy(copied.map(drop), &to, is_sealed, is_one);
    if let Ok(pool) = pool {
        expect_copy(pool.backup(&to), &to, is_sealed, |found| *found == scene.own);
        if !is_sealed {
            assert_eq!(Contents::of(&pool).unwrap(), scene.own);
        }
        // On tmpfs nothing but the checkpoint outlives the machine: that it could not be made is the error of the close.
        let closed = pool.close();
        assert!(matches!(closed, Ok(_) | Err(Error::BadCheckpoint { .. })), "{closed:?}");
    }
    history.expect_no_leavings();
}

fn expect_copy(
    copied: endura::Result<()>,
    to: &Path,
    is_sealed: bool,
    may_be: impl Fn(&Contents) -> bool,
) {
    match copied {
        Err(error) => {
            assert!(fs::symlink_metadata(to).is_err(), "refused, and there: {error:?}");
            assert!(is_sealed || matches!(error, Error::BadCheckpoint { .. }), "{error:?}");
        }
        Ok(()) => {
            let copy = options().open_existing(to);
            if is_sealed {
                _ = copy.map(|copy| use_it(copy, to));
            } else {
                let copy = copy.unwrap();
                assert!(copy.stats().unwrap().clean_open);
                copy.verify().unwrap();
                let found = Contents::of(&copy).unwrap();
                assert!(may_be(&found), "it was never so: {found:?}");
                copy.close().unwrap();
            }
            fs::remove_file(to).unwrap();
            let _ = fs::remove_file(super::history::kept_of(to));
        }
    }
}
