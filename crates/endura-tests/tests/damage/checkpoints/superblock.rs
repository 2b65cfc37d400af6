//! A damaged superblock.

use std::fs;
use std::sync::LazyLock;

use endura_engine::space::superblock::BYTES;

use super::alter::{alter_superblock, tear};
use super::history::{Contents, Ended, History, SLOT, is_refusal, options, put, write};
use super::torn::use_it;
use crate::choices::Choices;

/// Opens a pool that was closed or killed, or whose machine went down, with a damaged superblock, beside its checkpoint or without.
///
/// A pool that opens is what its last session left; after the machine went down it is the newest checkpoint. All others are refused,
/// and then no byte has changed. One whole copy of the two is enough.
pub(crate) fn damaged_superblock(bytes: &[u8]) {
    static HISTORY: LazyLock<History> = LazyLock::new(History::new);
    let (history, mut choices) = (&*HISTORY, Choices(bytes));
    let how = [Ended::Closed, Ended::Killed, Ended::MachineDown][choices.below(3)];
    let scene = history.scene(&mut choices, Some(how == Ended::Closed));
    let (is_sealed, has_checkpoint) = (choices.one_in(2), choices.byte() % 4 > 0);
    let mut pool = scene.ended(how);
    if how == Ended::MachineDown {
        tear(&mut pool, &history.scene(&mut choices, None).pool, &mut choices);
    }
    let before = pool.clone();
    alter_superblock(&mut pool, &mut choices, is_sealed);
    let has_whole_copy = [0, SLOT].iter().any(|&at| pool[at..at + BYTES] == before[at..at + BYTES]);
    put(&scene.path, &pool);
    match has_checkpoint {
        true => put(&scene.kept_path(), &scene.kept),
        false => _ = fs::remove_file(scene.kept_path()),
    }
    // What opens after a power loss is the newest one: nothing is wrong with the file of checkpoints.
    let is = match how {
        Ended::Closed | Ended::Killed => Some(&scene.own),
        Ended::MachineDown => scene.back.last().filter(|_| has_checkpoint),
    };
    if let Ok(pool) = options().read_only(true).open_existing(&scene.path) {
        let found = Contents::of(&pool);
        let is_whole = how != Ended::MachineDown && found.is_ok_and(|found| found == scene.own);
        assert!(is_sealed || is_whole, "read as it never was");
    }
    match options().open_existing(&scene.path) {
        Ok(pool) if is_sealed => use_it(pool, &scene.path),
        Ok(opened) => {
            opened.verify().unwrap();
            let found = Contents::of(&opened).unwrap();
            assert!(is == Some(&found), "it was never so: {found:?}");
            write(&opened, 9).unwrap();
            let written = Contents::of(&opened).unwrap();
            opened.close().unwrap();
            drop(opened);
            let opened = options().open_existing(&scene.path).unwrap();
            assert_eq!(Contents::of(&opened).unwrap(), written);
        }
        Err(_) if is_sealed => {}
        Err(error) => {
            assert!(is_refusal(&error), "{error:?}");
            assert!(is.is_none() || !has_whole_copy, "one copy is whole: {error:?}");
            assert!(fs::read(&scene.path).unwrap() == pool, "refused, and changed: {error:?}");
        }
    }
    history.expect_no_leavings();
}
