//! A process that writes is killed with SIGKILL, again and again.

use endura::NodeLayout;

use crate::support::killed;

/// F19, with the default nodes and with small ones.
#[test]
fn acknowledged_operations_survive_sigkill() {
    killed::acknowledged_operations_survive_sigkill(
        "killed::acknowledged_operations_survive_sigkill",
        &[
            |pool| _ = pool.fast_fair_with("map", NodeLayout::Wide).unwrap(),
            |pool| _ = pool.fast_fair_with("map", NodeLayout::Paper).unwrap(),
        ],
    );
}
