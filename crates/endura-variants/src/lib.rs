//! What tests and experiments put below, inside and on top of the indexes of [`endura_engine`]: media that observe or direct
//! a run, the trees that the product does not ship, and maps over a tree on any medium. Media and trees are type
//! parameters: the indexes' own code knows nothing of them.
//!
//! | module | what is there | who wants it |
//! | --- | --- | --- |
//! | [`media`] | a medium that counts, one that stops threads, one that is slow | tests of protocols, counts and figures of the papers |
//! | [`fast_fair`] | searches from the left and by halves, the steps of the protocol | figure 3 of the paper, stopped threads |
//! | [`fast_fair_bytes`] | byte strings with nothing but a pointer in a node, as in the paper | the cost of that, exactly |
//! | [`nbtree`] | leaves of one layer, leaves with locks, the steps of the protocol | figures 6 and 8 of the paper, stopped threads |
//! | [`handles`] | the operations of a map over one index on any medium | tests of all trees, the explorer |
//! | [`random`] | numbers that look random | tests of all trees, the explorer |
//! | [`roart`] | trees without one of the paper's techniques each, and a tiny one | figure 16 of the paper, the explorer |
//! | [`sessions`] | sessions of a pool on any medium, without a file | all of these |

pub mod fast_fair;
pub mod fast_fair_bytes;
pub mod handles;
pub mod media;
pub mod nbtree;
pub mod random;
pub mod roart;
pub mod sessions;
