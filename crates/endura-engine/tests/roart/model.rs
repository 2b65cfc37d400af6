//! The map against a model, on keys that share prefixes, are prefixes of each other, and fan out widely, with all leaf
//! arrays, tiny ones and none.

use endura_engine::tree::roart::Full;
use endura_variants::roart::{Tiny, WithoutArrays};

use crate::byte_model::run;
use crate::world::World;

#[test]
fn all_arrays() {
    run::<Full>(60, 1_500, World::new);
}

#[test]
fn tiny_arrays() {
    run::<Tiny>(60, 1_500, World::new);
}

#[test]
fn tiny_arrays_and_tags() {
    run::<Tiny>(30, 1_500, World::adr);
}

#[test]
fn no_arrays() {
    run::<WithoutArrays>(30, 1_500, World::new);
}
