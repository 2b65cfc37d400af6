//! A process that is killed with SIGKILL again and again.

use endura::Kind;

use crate::byte_killed::{FEW, MANY, Numbers, kept};

#[test]
fn acknowledged_operations_on_fast_fair_survive_sigkill() {
    let test = "killed::acknowledged_operations_on_fast_fair_survive_sigkill";
    kept::<Numbers>(test, Kind::FastFair, FEW);
}

#[test]
fn acknowledged_operations_on_an_nbtree_survive_sigkill() {
    let test = "killed::acknowledged_operations_on_an_nbtree_survive_sigkill";
    kept::<Numbers>(test, Kind::NbTree, FEW);
}

#[test]
#[ignore = "a minute: cargo test --release -p endura-engine --test records -- --ignored --nocapture hundred"]
fn a_hundred_kills_of_fast_fair() {
    kept::<Numbers>("killed::a_hundred_kills_of_fast_fair", Kind::FastFair, MANY);
}

#[test]
#[ignore = "a minute: cargo test --release -p endura-engine --test records -- --ignored --nocapture hundred"]
fn a_hundred_kills_of_an_nbtree() {
    kept::<Numbers>("killed::a_hundred_kills_of_an_nbtree", Kind::NbTree, MANY);
}
