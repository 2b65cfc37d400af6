//! What distinguishes a tree of numbers from a tree of byte strings.

pub(crate) mod fences;
pub(crate) mod form;
pub(crate) mod key;
pub(crate) mod numbers;
pub(crate) mod strings;
pub(crate) mod word;
