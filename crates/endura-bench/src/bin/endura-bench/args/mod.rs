//! Arguments that several commands take, each declared once.

pub(crate) mod flags;

mod names;
mod shape;

pub(crate) use names::{contender, one_of, vectors};
pub(crate) use shape::{ShapeArgs, shape_arguments};
