//! Maps: the class, its operations, and its iterators.

mod arguments;
mod arrays;
mod bounds;
mod bulk;
mod change;
mod class;
mod edit;
mod entries;
mod fetched;
mod open_map;
mod runs;

pub(crate) use class::Map;
pub(crate) use edit::Edit;
pub(crate) use entries::Entries;
pub(crate) use open_map::OpenMap;
