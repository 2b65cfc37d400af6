//! NBTree of byte strings, from outside: against a model, under threads that stop at every step, across crashes, and
//! without memory.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../support/byte_crashes.rs"]
mod byte_crashes;
#[path = "../support/byte_damage.rs"]
mod byte_damage;
#[path = "../support/byte_full.rs"]
mod byte_full;
#[path = "../support/byte_killed.rs"]
mod byte_killed;
#[path = "../support/byte_model.rs"]
mod byte_model;
#[path = "../support/byte_races.rs"]
mod byte_races;
#[path = "../support/byte_readers.rs"]
mod byte_readers;
#[path = "../support/byte_soak.rs"]
mod byte_soak;
#[path = "../support/byte_world.rs"]
mod byte_world;
#[path = "../support/children.rs"]
mod children;
mod counts;
mod crashes;
mod damage;
mod edges;
mod full;
mod killed;
mod model;
mod owners;
#[allow(dead_code, reason = "the tests of the other trees use the rest")]
#[path = "../engine/support/patience.rs"]
mod patience;
mod races;
#[path = "../support/record_crashes.rs"]
mod record_crashes;
#[path = "../support/record_races.rs"]
mod record_races;
mod refusals;
mod restarts;
mod rotten_keys;
mod scans;
#[allow(dead_code, reason = "the tests of the other trees use the rest")]
#[path = "../support/sessions.rs"]
mod sessions;
mod soak;
#[allow(dead_code, reason = "the tests of the other trees use the rest")]
#[path = "../support/stage.rs"]
mod stage;
mod unfinished;
mod world;
