//! Arguments that several commands take, each declared once.

pub(crate) mod flags;

mod shape;
mod stores;

pub(crate) use shape::{ShapeArgs, shape_arguments};
pub(crate) use stores::contender;
