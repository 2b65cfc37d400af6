//! Volatile state that every operation uses: which threads are inside an operation ([`epoch`]), numbers of threads
//! ([`thread`]), calls that run closures ([`calls`]), what writers are about to write ([`claims`]), nodes of structures in DRAM ([`arena`]). Besides, the start
//! of threads ([`threads`]).
//!
//! This is one of the four modules where `unsafe` is allowed. It may use `cpu` and `os`, besides `sync` and `error`.
//!
//! After a change run `.ci/quick` and the models, `RUSTFLAGS="--cfg loom" cargo test -p endura-engine --lib loom`.
//! After a change of [`thread`] also run `cargo test -p endura-engine --test waits`.

pub mod arena;
pub mod calls;
pub(crate) mod claims;
pub(crate) mod epoch;
#[cfg(all(test, loom))]
mod loom;
pub(crate) mod once_box;
pub(crate) mod retired;
pub(crate) mod thread;
mod thread_numbers;
pub(crate) mod threads;

#[cfg(all(test, not(loom)))]
pub(crate) use thread_numbers::MANY;
