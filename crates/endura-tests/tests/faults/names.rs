//! Names that a power loss leaves in a folder.

use std::fs;

use endura::{Error, Pool, PoolOptions};

use crate::power_loss::*;
use crate::process::*;
use crate::stays::{number, set_word, under_way, word};

/// A new file of checkpoints gets its name when it holds one. Before the folder is synced behind that, a power loss may leave
/// the folder as it was: nothing or an older file under its name, and the new one without any, or under a temporary one.
#[test]
fn a_power_loss_may_leave_names_as_they_were() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let (kept, new) = (checkpoint_of(&path), path.with_file_name("pool.checkpoint.new"));
        let goes_back_to = |keys| {
            let pool = Pool::open(&path).unwrap();
            expect_checkpoint(&pool, keys);
            pool.close().unwrap();
        };
        on_demand().create_new(&path).unwrap().close().unwrap();
        // The session makes a new file.
        fs::remove_file(&kept).unwrap();
        kill_after_checkpoint(&path);
        lose_power(&path, 1);
        fs::rename(&kept, &new).unwrap();
        let torn = fs::read(&path).unwrap();
        for open in [PoolOptions::open, PoolOptions::open_existing] {
            let refused = open(&Pool::options(), &path);
            assert!(matches!(refused, Err(Error::NeedsRestore { .. })), "{refused:?}");
        }
        assert!(fs::read(&path).unwrap() == torn && new.exists(), "nothing was done");
        fs::rename(&new, &kept).unwrap();
        goes_back_to(3000);
        // The older file has the name; the newer one is left over, and in nobody's way. Its number was not written.
        let older = (fs::read(&kept).unwrap(), word(&path));
        kill_after_checkpoint(&path);
        set_word(&path, under_way(number(older.1)));
        lose_power(&path, 2);
        fs::rename(&kept, &new).unwrap();
        fs::write(&kept, older.0).unwrap();
        goes_back_to(3000);
        kill_after_checkpoint(&path);
        lose_power(&path, 3);
        goes_back_to(6000);
    }
}
