//! A node: its layout, the search in it, and the primitives that change it.

pub(crate) mod child;
pub(crate) mod contents;
pub(crate) mod extent;
pub(crate) mod leaf;
pub(crate) mod node;
pub(crate) mod search;
pub(crate) mod shift;
pub(crate) mod texts;
pub(crate) mod whole;
