//! Every crash state that the hardware allows, for structures that live on an [`endura_engine`] medium.
//!
//! A structure in persistent memory is right if every moment of every operation is a state from which
//! it can go on. Which states those are is up to the hardware: a store reaches persistence by a flush
//! and a fence, or by itself at any time before. A program that was run a thousand times and killed a
//! thousand times has met next to none of them. This crate goes through them.
//!
//! # Method
//!
//! 1. **Record once.** The structure runs on a [`Sim`](sim::Sim), a [`Media`](endura_engine::media::Media) that
//!    logs every store, flush and fence with its place in the source. What happens before a crash does
//!    not depend on where the crash is, so one run serves all of its crashes.
//! 2. **Crash where it matters.** What a crash leaves earlier, it can also leave just before the next
//!    fence that makes something durable. So it is enough to crash before each of those, at the begin of
//!    an operation, and when the caller has been told something ([`run::points`]; the rule is that of
//!    Jaaru).
//! 3. **Ask the hardware what is left.** A [`Model`](model::Model) says which stores certainly are
//!    durable and which contents each other line may have ([`cache`], [`aftermath`]). All of them are
//!    legal, in every combination: the states of Yat, of which a split already has millions.
//! 4. **Choose when somebody looks.** The structure is opened on a medium on which those lines are
//!    undecided. When recovery loads a word that may have several values, one is chosen and the line
//!    keeps the contents that agree; then the others are gone through, depth first, until none is
//!    left ([`choose`]). Combinations that nobody can tell apart are looked at once. The millions become
//!    dozens. `tests/explorer/eager.rs` shows on small runs that nothing is missed.
//! 5. **Compare with what was promised.** The recovered structure holds what the operations that had
//!    returned made of it, with or without the one in flight; every way to read it says the same; its
//!    own check finds nothing ([`Subject::verify`](subject::Subject::verify)). That is not enough:
//!    the published FAST & FAIR reads well in states from which its next delete loses a key. So it is
//!    then *used* ([`Subject::continuation`](subject::Subject::continuation)), and compared again.
//! 6. **Crash that as well**: recovery and the work after it are a run like any other, and
//!    [`Effort::depth`](tally::Effort::depth) says how many crashes come in a row.
//!
//! Several threads are explored by [`act_as`](sim::act_as), where an operation stands for two that meet,
//! and by a scheduler that calls the explorer for every schedule. Where a run is too long to go through
//! all contents, those that find most are: all old, all new, each line alone old (a flush is missing)
//! or new (an order is missing), and random ones.
//!
//! Faults can be planted at single calls of a structure ([`mutant`]), without a rebuild: a test that
//! finds nothing is worth what it finds when something is wrong. `tests/planted/` carries published bugs
//! of persistent indexes and allocators into structures written for the purpose, and finds each.
//!
//! # A tutorial: a log
//!
//! A log has a length and records. The classic mistake is to make both durable with one fence: the
//! length may be durable when the record is not, and a crash leaves a record that nobody has written.
//! Here is the log, its [`Subject`](subject::Subject), and an exploration with and without the mistake.
//! (It is `examples/log.rs`: `cargo run --release -p endura-sim --example log`.)
//!
//! ```
#![doc = include_str!("../examples/log.rs")]
//! ```
//!
//! It prints that the sound log has passed 551 crash images, and for the other:
//!
//! ```text
//! found [0], expected [[], [78]]
//!   made by  []
//!   then     [78]
//!   crash    before event 6 at crates/endura-sim/examples/log.rs:50:21
//!              line 0x0
//!                reached 0x0 = 0x1, thread 0, crates/endura-sim/examples/log.rs:47:16
//!              line 0x40
//!                lost    0x40 = 0x4e, thread 0, crates/endura-sim/examples/log.rs:40:17
//! ```
//!
//! An append to an empty log, a crash before the fence at its end: the length (line 0) had reached
//! persistence by itself, the record had not. What to do then:
//!
//! - *Start small.* Nodes of three entries split after four operations, and everything that can go
//!   wrong goes wrong in a few. All short sequences from all small states find more than long random
//!   ones; do both.
//! - *Let recycled memory be poison.* Announce what an allocator hands out with
//!   [`Mark::Fresh`](endura_engine::media::Mark::Fresh): whoever relies on zeros is then found.
//! - *Name the steps* of a protocol with [`Mark::Step`](endura_engine::media::Mark::Step), and look in the
//!   [`Tally`](tally::Tally) whether all were cut through.
//! - *Break it.* Plant a [`Mutant`](mutant::Mutant) at each flush, fence and `Release`: whatever
//!   nobody notices is not needed, or not tested.
//!
//! # Limits
//!
//! Loads and stores of threads interleave as under sequential consistency: what weak memory does to
//! *visibility* is not explored. Neither are damaged words and full media; `endura`'s own tests have
//! those. A word of eight bytes is written whole or not at all, as on all hardware considered here.
//!
//! # Sources
//!
//! - *Lazy exploration, crash points*: Gorjiara, Xu, Demsky: Jaaru, ASPLOS 2021.
//! - *Which images are legal*: Lantz et al.: Yat, USENIX ATC 2014; Raad et al.: Persistency semantics of
//!   the Intel-x86 architecture, POPL 2020.
//! - *Compare with runs that have or have not the operation*: Fu et al.: Witcher, SOSP 2021.
//! - *Adversarial images, durable linearizability*: Fu et al.: Durinn, OSDI 2022.

pub mod aftermath;
pub mod cache;
pub mod choose;
pub mod eager;
pub mod event;
pub mod explore;
pub mod failure;
pub mod hygiene;
pub mod image;
pub mod model;
pub mod mutant;
pub mod mutate;
mod owned;
pub mod run;
#[cfg(feature = "schedules")]
pub mod schedule;
pub mod shrink;
pub mod sim;
pub mod site;
pub mod subject;
pub mod subjects;
pub mod tally;
pub mod workload;
