//! Nodes and leaf arrays: their words, their locks, and how they are published.

pub(crate) mod array;
pub(crate) mod entered;
pub(crate) mod lock;
pub(crate) mod node;
pub(crate) mod order;
pub(crate) mod publish;
pub(crate) mod root;
pub(crate) mod sample;
pub(crate) mod sizes;
pub(crate) mod sort;
pub(crate) mod word;
