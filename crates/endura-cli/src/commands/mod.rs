//! The commands, one in each file: on [`entries`] of a map, on [`pools`] and their maps, on [`copies`] of pools.

pub(crate) mod copies;
pub(crate) mod entries;
pub(crate) mod pools;
pub(crate) mod shell;
