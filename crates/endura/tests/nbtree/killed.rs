//! SIGKILL, on the page cache.

use endura::Pool;
use endura::lab::handles::Handles as _;

use crate::support::killed::Killed;

#[test]
fn acknowledged_operations_survive_sigkill() {
    let test = "killed::acknowledged_operations_survive_sigkill";
    Killed { test, rounds: 6, open: |pool: &Pool| pool.nbtree("map").unwrap() }.run("nbtree");
}
