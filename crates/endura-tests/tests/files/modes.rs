//! Who may read a pool may read its checkpoints and copies, and nobody else.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use endura::{Checkpoints, Pool};
use endura_engine::space::superblock::Superblock;

use crate::process::*;

/// A service's user and group, neither of them the test's own.
const SERVICE: (u32, u32) = (12_345, 23_456);

fn facts(path: &Path) -> (u32, u32, u32) {
    let facts = fs::metadata(path).unwrap();
    (facts.mode() & 0o7777, facts.uid(), facts.gid())
}

/// Everything that is made beside a pool and from it.
fn make_all(folder: &Path, ready: &dyn Fn(&Path)) {
    let at = |name: &str| folder.join(name);
    let path = at("pool");
    let options = Pool::options().checkpoints(Checkpoints::on_demand());
    options.create_new(&path).unwrap().close().unwrap();
    fs::remove_file(at("pool.checkpoint")).unwrap();
    ready(&path);
    let right = facts(&path);
    let pool = options.open_existing(&path).unwrap();
    pool.map::<u64, u64>("map").unwrap().put(1, 1).unwrap();
    pool.checkpoint().unwrap();
    assert_eq!(facts(&at("pool.checkpoint")), right, "the checkpoint");
    pool.backup(at("backup")).unwrap();
    assert_eq!(facts(&at("backup")), right, "a backup");
    Pool::backup_of_checkpoint(&path, None, at("copy"), |_, _| std::ops::ControlFlow::Continue(()))
        .unwrap();
    assert_eq!(facts(&at("copy")), right, "a backup of the checkpoint");
    pool.close().unwrap();
    drop(pool);
    fs::remove_file(&path).unwrap();
    options.open_existing(&path).unwrap().close().unwrap();
    assert_eq!(facts(&path), right, "a pool that was made anew");
    patch(&path, |superblock| *superblock = Superblock { clean: false, ..*superblock });
    patch(&path, |superblock| superblock.boot.id = [0xEE; 16]);
    Pool::restore(&path, Some(&at("pool.checkpoint")), true).unwrap();
    assert_eq!(facts(&at("pool.torn")), right, "a torn pool that was kept");
}

#[test]
fn what_is_made_from_a_pool_has_its_mode() {
    for mode in [0o600, 0o640, 0o666] {
        for folder in folders() {
            make_all(folder.path(), &|path| {
                fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            });
        }
    }
}

/// A command of the administrator's does not lock the service out.
#[test]
fn what_root_makes_belongs_to_the_owner_of_the_pool() {
    let folder = tempfile::tempdir().unwrap();
    if chown(folder.path(), Some(SERVICE.0), Some(SERVICE.1)).is_err() {
        return left_out("only root gives files away");
    }
    for folder in folders() {
        make_all(folder.path(), &|path| {
            chown(path, Some(SERVICE.0), Some(SERVICE.1)).unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        });
    }
}
