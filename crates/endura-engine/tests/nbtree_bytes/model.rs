//! The map against a model, on keys that share prefixes, are prefixes of each other, and differ only far behind.

use crate::byte_model::run;
use crate::sessions::World;
use crate::world::{Small, Ties, Whole};

#[test]
fn equal_words() {
    run::<Ties>(60, 1_500, World::new);
}

#[test]
fn small_blocks() {
    run::<Small>(60, 1_500, World::new);
}

#[test]
fn small_blocks_with_flushes() {
    run::<Small>(20, 1_500, World::adr);
    run::<Ties>(20, 1_500, World::adr);
}

#[test]
fn the_blocks_of_a_pool() {
    run::<Whole>(30, 1_500, World::new);
}
