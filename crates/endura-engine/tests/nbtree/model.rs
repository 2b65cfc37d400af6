//! The map against a model, in blocks of every size.

use crate::support::model::agrees;
use crate::support::world::{Slots3, Slots7, Slots63};

#[test]
fn a_map_with_blocks_of_3_agrees_with_btreemap() {
    agrees::<Slots3>();
}

#[test]
fn a_map_with_blocks_of_7_agrees_with_btreemap() {
    agrees::<Slots7>();
}

#[test]
fn a_map_with_blocks_of_63_agrees_with_btreemap() {
    agrees::<Slots63>();
}
