//! A process that is killed with SIGKILL again and again.

use endura::Kind;

use crate::byte_killed::{FEW, MANY, Texts, kept};

#[test]
fn acknowledged_operations_survive_sigkill() {
    kept::<Texts>("killed::acknowledged_operations_survive_sigkill", Kind::NbTree, FEW);
}

#[test]
#[ignore = "a minute: cargo test --release -p endura-engine --test nbtree_bytes -- --ignored --nocapture hundred"]
fn a_hundred_kills() {
    kept::<Texts>("killed::a_hundred_kills", Kind::NbTree, MANY);
}
