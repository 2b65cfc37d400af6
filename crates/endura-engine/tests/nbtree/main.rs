//! NBTree from outside: against a model, under threads that stop at named steps, across crashes, and
//! without memory.
//!
//! Where each scenario is gone through (`sim` is `crates/endura-sim/tests/`, where the power fails as well):
//!
//! | | scenario | tests |
//! | --- | --- | --- |
//! | N1 | keys and values at the ends of their ranges, kept to the bit | `edges` |
//! | N2, N4 | one key entered, replaced and removed by several threads | `races::of_two_inserts_…`, `stall::entries_…_balance`, `soak`, sim `nbtree::families` |
//! | N3 | the same, with a crash at each point | `crashes`, `steps::a_crash_at_each_step_…`, sim `nbtree`, `campaign::nbtree` |
//! | N5, N6 | a reader that repairs, a value that was there before | `races::no_update_…`, `races::a_reader_…`, sim `nbsmo2_…`, `nbsmo3_…` |
//! | N7 | a remove across whole changes | `races::a_remove_…` |
//! | N8 | a slot that is claimed and never written | `races::a_claimed_slot_…` |
//! | N9 | the same, until its memory is wanted again | the same, sim `nbtree::stopped::n9_…` (poisoned) |
//! | N10 | a thread that stands anywhere | `stall::a_thread_that_stands_…` |
//! | N11 | neighbours that change at once | `races::neighbours_…`, sim `nbtree::stopped::v1_v2_…` |
//! | N12 | updates beside a change | `races::no_update_…`, `stall::no_addition_…` |
//! | N13 | slots used up by one key | `edges::slots_that_are_used_up_…` |
//! | N14 | drained, and filled again | `footprint`, `edges::after_a_drain_…` |
//! | N15 | a merge against everything | `races::a_merge_…`, sim `schedules::seats` |
//! | N16 | a crash at each store of a change | `crashes`, sim `nbtree`, `campaign::nbtree` |
//! | N17 | seen and not durable | sim `nbtree::stopped::n17_…` |
//! | N18 | more claims than slots | `stall::three_hundred_threads_…` |
//! | N19 | equal fingerprints | `edges::keys_that_share_their_fingerprint_…` |
//! | N20 | inner nodes | `races::inner_nodes_…`, `races::a_reroute_…`, `stall::inner_nodes_…` |
//! | N21 | restarts | `restarts`, `endura bench reopen --stores nbtree` |
//! | N22 | flushes, fences, lines | `counts`, sim `nbtree::counts` |
//! | N23 | scans | `model`, `races::scans_…`, `races::a_scan_…`, sim `schedules::seats` |
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod counts;
mod crashes;
mod edges;
mod footprint;
mod full;
mod killed;
mod model;
mod pools;
mod races;
mod restarts;
mod soak;
mod stall;
mod steps;
#[path = "../support/mod.rs"]
mod support;
mod vectors;
