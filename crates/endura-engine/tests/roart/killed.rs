//! R18: a process that is killed with SIGKILL again and again.

use std::time::Duration;

use endura::Kind;

use crate::byte_killed::{FEW, Texts, kept};

#[test]
fn r18_acknowledged_operations_survive_sigkill() {
    let test = "killed::r18_acknowledged_operations_survive_sigkill";
    kept::<Texts>(test, Kind::Roart, FEW);
}

#[test]
#[ignore = "a minute: cargo test --release -p endura-engine --test roart -- --ignored --nocapture r18"]
fn r18_a_minute_with_a_kill_every_two_seconds() {
    let test = "killed::r18_a_minute_with_a_kill_every_two_seconds";
    kept::<Texts>(test, Kind::Roart, (30, Duration::from_secs(2)));
}
