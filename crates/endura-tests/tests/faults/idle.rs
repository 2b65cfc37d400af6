//! What a pool costs that is open and not used.

use std::fs;
use std::time::Duration;

use endura::{Checkpoints, Pool};

use crate::process::*;

/// How often the thread of the checkpoints has slept until now.
fn sleeps() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let is_it = |name: &str| name.starts_with("endura-checkpoi");
    let mut threads = tasks.filter(|task| is_it(&fs::read_to_string(task.join("comm")).unwrap()));
    let thread = threads.next().expect("a thread that makes checkpoints");
    let status = fs::read_to_string(thread.join("status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap();
    line.split_whitespace().last().unwrap().parse().unwrap()
}

#[test]
fn role_do_nothing() {
    let Some(folder) = role_path() else { return };
    let every = Duration::from_millis(200);
    let options = Pool::options().checkpoints(Checkpoints::every(every));
    let pool = options.create_new(folder.join("pool")).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    map.insert(1, 1).unwrap();
    // The first one, a second after the open, and one for what was written.
    std::thread::sleep(Duration::from_secs(2));
    let before = sleeps();
    std::thread::sleep(Duration::from_secs(1));
    let woken = sleeps() - before;
    // Five times for what may have changed, and up to 50 times where a copy may share blocks.
    assert!(woken <= 100, "{woken} times a second");
    map.insert(1, 2).unwrap();
    std::thread::sleep(4 * every);
    assert_eq!(pool.stats().unwrap().checkpoints.unwrap().changed_bytes, 0, "it is awake");
    say("as it should be");
}

#[test]
fn a_pool_that_is_not_used_sleeps() {
    // Not on tmpfs, where a pool has no checkpoints unless it is asked for them.
    let folder = &folders()[0];
    let mut process = Process::start(role("role_do_nothing", folder.path()));
    assert_eq!(process.hear(), "as it should be");
    process.finish();
}
