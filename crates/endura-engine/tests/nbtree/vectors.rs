//! Searches of leaves and inner nodes by every set of vector instructions that this processor has.

use crate::support::vectors::again_over_each;

#[test]
fn the_map_is_the_same_over_all_vectors() {
    again_over_each(&["model::", "edges::", "races::", "restarts::"]);
}
