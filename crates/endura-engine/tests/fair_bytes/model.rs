//! The map against a model, on keys that share prefixes, are prefixes of each other, and differ only far behind.

use crate::byte_model::run;
use crate::sessions::World;
use crate::world::{Paper, Small, Ties, Whole, WholePaper};

#[test]
fn equal_words() {
    run::<Ties>(60, 1_500, World::new);
}

#[test]
fn small_nodes() {
    run::<Small>(60, 1_500, World::new);
}

#[test]
fn small_nodes_with_flushes() {
    run::<Small>(20, 1_500, World::adr);
    run::<Ties>(20, 1_500, World::adr);
}

#[test]
fn the_nodes_of_a_pool() {
    run::<Whole>(30, 1_500, World::new);
}

/// With pointers alone, as in the paper: the lab's variant.
#[test]
fn nodes_without_words() {
    run::<Paper>(60, 1_500, World::new);
    run::<Paper>(20, 1_500, World::adr);
    run::<WholePaper>(15, 1_500, World::new);
}
