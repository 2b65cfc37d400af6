//! All rows.

use super::row::PaperRow;
use super::{fast_fair, nbtree, roart};

/// All rows, in the order of the papers.
pub fn rows() -> impl Iterator<Item = &'static PaperRow> {
    fast_fair::ROWS.iter().chain(nbtree::ROWS).chain(roart::ROWS)
}
