//! The commands, one in each file.

pub(crate) mod check;
pub(crate) mod count;
pub(crate) mod del;
pub(crate) mod drop;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod import;
pub(crate) mod info;
pub(crate) mod put;
pub(crate) mod rename;
pub(crate) mod scan;
pub(crate) mod shell;
