//! SIGKILL, on the page cache.

use endura::{MapOptions, Pool};
use endura_engine::Kind;

use crate::support::killed::Killed;

#[test]
fn acknowledged_operations_survive_sigkill() {
    let test = "killed::acknowledged_operations_survive_sigkill";
    Killed {
        test,
        rounds: 6,
        open: |pool: &Pool| {
            pool.map_with::<u64, u64>("map", MapOptions::new().kind(Kind::NbTree)).unwrap()
        },
    }
    .run("nbtree");
}
