//! A torn pool beside its damaged checkpoints.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use endura::{Error, Pool};

use super::alter::{alter, alter_sealed, tear};
use super::history::{Contents, Ended, History, Scene, is_refusal, options, put, write};
use crate::choices::Choices;

/// Opens a pool whose machine went down, beside its file of checkpoints, which is damaged.
///
/// A pool that opens is what a checkpoint was: one of its last session, or one that this session has found (where that found the
/// pool closed, the one of the close and none before). If the pool is missing, any checkpoint that was completed will do. All
/// others are refused, and then no byte of the pool has changed.
pub(crate) fn damaged_checkpoint(bytes: &[u8]) {
    static HISTORY: LazyLock<History> = LazyLock::new(History::new);
    let (history, mut choices) = (&*HISTORY, Choices(bytes));
    let scene = history.scene(&mut choices, Some(false));
    let (is_sealed, is_gone) = (choices.one_in(2), choices.one_in(4));
    let mut kept = scene.kept.clone();
    let others = history.kept_at_all_times(scene);
    match is_sealed {
        true => alter_sealed(&mut kept, &others, &mut choices),
        false => alter(&mut kept, &others, &mut choices),
    }
    let mut pool = scene.ended(Ended::MachineDown);
    tear(&mut pool, &history.scene(&mut choices, None).pool, &mut choices);
    put(&scene.kept_path(), &kept);
    if is_gone {
        // The other one keeps its inode, by which its superblock knows it.
        let path = scene.path.with_file_name("gone");
        fs::rename(scene.kept_path(), super::history::kept_of(&path)).unwrap();
        open_missing(history, scene, &path, is_sealed);
        let _ = fs::remove_file(super::history::kept_of(&path));
    } else {
        put(&scene.path, &pool);
        open_torn(scene, &pool, is_sealed, &mut choices);
    }
    history.expect_no_leavings();
}

fn open_torn(scene: &Scene, torn: &[u8], is_sealed: bool, choices: &mut Choices<'_>) {
    let reader = options().read_only(true).open_existing(&scene.path);
    assert!(reader.is_err(), "a torn pool was opened to be read");
    match options().open_existing(&scene.path) {
        Err(error) => {
            let is_clear = is_refusal(&error);
            assert!(is_clear || is_sealed, "{error:?}");
            if !is_sealed
                || matches!(error, Error::BadCheckpoint { .. } | Error::NeedsRestore { .. })
            {
                let found = fs::read(&scene.path).unwrap();
                assert!(found == torn, "a pool that was refused has changed: {error:?}");
            }
        }
        Ok(pool) if is_sealed => use_it(pool, &scene.path),
        Ok(pool) => {
            assert!(pool.stats().unwrap().restored.is_some(), "a torn pool was opened as it is");
            pool.verify().unwrap();
            let found = Contents::of(&pool).unwrap();
            assert!(scene.back.contains(&found), "it is no checkpoint: {found:?}");
            go_on(pool, scene, choices);
        }
    }
}

/// The pool is written, closed, opened, and torn again: it never goes behind the close.
fn go_on(pool: Pool, scene: &Scene, choices: &mut Choices<'_>) {
    write(&pool, 9).unwrap();
    pool.verify().unwrap();
    let written = Contents::of(&pool).unwrap();
    // A slot that the restore had no need of may be damaged still: then there may be no checkpoint of the close.
    pool.close().unwrap();
    drop(pool);
    let pool = options().open_existing(&scene.path).unwrap();
    assert_eq!(Contents::of(&pool).unwrap(), written, "closed, and opened again");
    write(&pool, 10).unwrap();
    let torn = as_machine_down(scene, pool, choices);
    match options().open_existing(&scene.path) {
        Err(error) => {
            assert!(is_refusal(&error), "{error:?}");
            assert!(fs::read(&scene.path).unwrap() == torn, "refused, and changed: {error:?}");
        }
        Ok(pool) => {
            pool.verify().unwrap();
            assert_eq!(Contents::of(&pool).unwrap(), written, "it went behind a close");
        }
    }
}

/// Leaves the pool as its machine leaves it that goes down now, and gives its bytes.
fn as_machine_down(scene: &Scene, pool: Pool, choices: &mut Choices<'_>) -> Vec<u8> {
    let mut bytes = fs::read(&scene.path).unwrap();
    let kept = fs::read(scene.kept_path()).unwrap();
    pool.close().unwrap();
    drop(pool);
    super::history::change_superblock(&mut bytes, |superblock| {
        (superblock.is_marked, superblock.boot.id) = (false, [0xEE; 16]);
    });
    tear(&mut bytes, &scene.pool, choices);
    put(&scene.path, &bytes);
    put(&scene.kept_path(), &kept);
    bytes
}

fn open_missing(history: &History, scene: &Scene, path: &Path, is_sealed: bool) {
    match options().open_existing(path) {
        Err(error) => {
            let is_missing = matches!(&error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound);
            assert!(is_sealed || is_missing || is_refusal(&error), "{error:?}");
        }
        Ok(pool) if is_sealed => use_it(pool, path),
        Ok(pool) => {
            pool.verify().unwrap();
            let found = Contents::of(&pool).unwrap();
            assert!(history.was_a_checkpoint(scene, &found), "it is no checkpoint: {found:?}");
            pool.close().unwrap();
        }
    }
    // A pool that could not be used after it was made stays, as any other.
    let _ = fs::remove_file(path);
}

/// Errors are answers, too: what counts is that there is one.
pub(super) fn use_it(pool: Pool, path: &Path) {
    let _ = (pool.maps(), pool.stats(), pool.verify(), Contents::of(&pool));
    let _ = (write(&pool, 9), pool.checkpoint(), pool.verify(), pool.close());
    drop(pool);
    if let Ok(pool) = options().open_existing(path) {
        let _ = (pool.verify(), Contents::of(&pool), pool.close());
    }
}
