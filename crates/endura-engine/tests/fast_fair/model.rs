//! The map against a model, in nodes of every size.

use crate::support::model::agrees;
use crate::support::world::{Cap3, Cap4, Cap8, Narrow, Wide};

#[test]
fn a_map_with_nodes_of_3_agrees_with_btreemap() {
    agrees::<Cap3>();
}

#[test]
fn a_map_with_nodes_of_4_agrees_with_btreemap() {
    agrees::<Cap4>();
}

#[test]
fn a_map_with_nodes_of_8_agrees_with_btreemap() {
    agrees::<Cap8>();
}

#[test]
fn a_map_with_narrow_leaves_agrees_with_btreemap() {
    agrees::<Narrow>();
}

#[test]
fn a_map_with_wide_nodes_agrees_with_btreemap() {
    agrees::<Wide>();
}
