//! The map against a model.

use crate::byte_model::run;
use crate::sessions::World;
use crate::world::{Fair, Nb, SmallFair, SmallNb};

#[test]
fn fast_fair() {
    run::<SmallFair>(60, 1_500, World::new);
    run::<Fair>(20, 1_500, World::new);
}

#[test]
fn fast_fair_with_flushes() {
    run::<SmallFair>(30, 1_500, World::adr);
}

#[test]
fn nbtree() {
    run::<SmallNb>(60, 1_500, World::new);
    run::<Nb>(20, 1_500, World::new);
}

#[test]
fn nbtree_with_flushes() {
    run::<SmallNb>(30, 1_500, World::adr);
}
