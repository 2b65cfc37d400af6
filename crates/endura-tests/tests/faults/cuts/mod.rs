//! Power cuts of a file system: it is shut down without its journal while three threads write, unmounted, mounted in
//! another boot, and the pool is opened. Each thread runs a fixed [programme], so that a pool tells after how many
//! operations of each thread it is, or that it is in no state of the programme.
//!
//! `ENDURA_ROUNDS` is another number of rounds: 100 take a few minutes.

mod load;
mod programme;
mod rounds;

use crate::mounts::with_own_mounts;
use crate::process::{role_path, say};

fn run_rounds(kind: &'static str, megabytes: u64) {
    if role_path().is_some() && rounds::run(kind, megabytes).is_some() {
        say("as it should be");
    }
}

#[test]
fn role_ext4_loses_power() {
    run_rounds("ext4", 200);
}

#[test]
fn role_xfs_loses_power() {
    run_rounds("xfs", 320);
}

#[test]
fn ext4_loses_power() {
    with_own_mounts("role_ext4_loses_power");
}

#[test]
fn xfs_loses_power() {
    with_own_mounts("role_xfs_loses_power");
}
