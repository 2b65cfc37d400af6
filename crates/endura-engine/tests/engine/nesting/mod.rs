//! What may be nested in what: closures, operations, forks, panics.

pub(crate) mod closures;
mod forked;
mod nested;
mod recursive;
mod unwinding;
