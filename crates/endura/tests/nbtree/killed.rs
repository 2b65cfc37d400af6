//! A process that writes is killed with SIGKILL, again and again.

use crate::support::killed;

#[test]
fn acknowledged_operations_survive_sigkill() {
    killed::acknowledged_operations_survive_sigkill(
        "killed::acknowledged_operations_survive_sigkill",
        &[|pool| _ = pool.nbtree("map").unwrap()],
    );
}
