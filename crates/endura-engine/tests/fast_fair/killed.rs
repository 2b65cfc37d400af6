//! F19. SIGKILL, on the page cache, with the default nodes and with small ones.

use endura::{MapOptions, Pool};
use endura_engine::NodeLayout;

use crate::support::killed::Killed;

#[test]
fn acknowledged_operations_survive_sigkill() {
    let test = "killed::acknowledged_operations_survive_sigkill";
    for (name, layout) in [("wide", NodeLayout::Wide), ("narrow", NodeLayout::NarrowLeaves)] {
        Killed {
            test,
            rounds: 8,
            open: |pool: &Pool| {
                pool.map_with::<u64, u64>("map", MapOptions::new().node_layout(layout)).unwrap()
            },
        }
        .run(name);
    }
}
