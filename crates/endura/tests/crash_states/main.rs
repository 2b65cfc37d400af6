//! Crash states of FAST & FAIR trees with tiny nodes: whatever a power failure, or the end of the
//! process and then a power failure, can leave of an operation is opened, compared, and *used*.
//!
//! The medium keeps, per line of 64 bytes, the stores that are not yet certainly durable; a crash
//! image is any prefix of them per line (the weakest ADR: an exchange is no fence). A moment of an
//! operation is followed up in three ways: power fails; the process dies, and another one reads or
//! writes before power fails; another thread of the same process reads or writes, and then power
//! fails. What was acknowledged or read must be there afterwards, whoever goes on.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod explore;
mod memory;
mod model;

use explore::{Effort, Explorer, Tally};
use memory::{LEFT_OUT, Random, Site, State};
use model::{Expect, Op, Opened, Universe};

/// Builds trees in several ways and explores every operation on each.
fn campaign<const I: usize, const L: usize>(effort: Effort, seed: u64, most: usize) -> Tally {
    let cap = (L - 8) / 2;
    let mut tally = Tally::default();
    let mut random = Random(seed | 1);
    for keys in 0..=most.min(2 * cap + 1) {
        for shape in 0..4 {
            for order in 0..5 {
                let universe = Universe::new(shape, keys);
                let mut explorer = Explorer::<I, L>::new(effort, random.below(u64::MAX), universe);
                explorer.tally = tally;
                explorer.start(keys, order, &format!("<{I},{L}> shape {shape} order {order}"));
                tally = explorer.tally;
            }
        }
    }
    tally
}

impl<const I: usize, const L: usize> Explorer<I, L> {
    fn start(&mut self, keys: usize, order: u64, name: &str) {
        let present: Vec<u64> = self.universe.keys().iter().skip(1).step_by(2).copied().collect();
        assert_eq!(present.len(), keys);
        let mut build: Vec<Op> =
            present.iter().enumerate().map(|(i, &k)| Op::Put(k, i as u64 % 3)).collect();
        match order {
            0 => {}
            1 => build.reverse(),
            2 | 3 => self.shuffle(&mut build),
            _ => {
                // More of them, then fewer again.
                let absent: Vec<u64> = self.universe.keys().iter().step_by(2).copied().collect();
                build.extend(absent.iter().map(|&k| Op::Put(k, 7)));
                self.shuffle(&mut build);
                let mut gone: Vec<Op> = absent.iter().map(|&k| Op::Remove(k)).collect();
                self.shuffle(&mut gone);
                build.extend(gone);
            }
        }
        let pool = Opened::<I, L>::create();
        let (_, _, befores) = self.run(&pool, &Expect::default(), &build).unwrap();
        let state = State::of(pool.recorder().state().visible().clone());
        let expect = befores.last().unwrap().clone();
        for key in self.universe.keys().to_vec() {
            let mut ops = vec![Op::Put(key, 99)];
            if expect.sure.contains_key(&key) {
                ops.push(Op::Remove(key));
            }
            for op in ops {
                let generation = 1 + self.random.below(2);
                let name = format!("{name} built by {build:?}, session {generation}: {op:?}");
                self.explore(&state, generation, &expect, op, &name);
            }
        }
    }

    fn shuffle(&mut self, ops: &mut [Op]) {
        for i in (1..ops.len()).rev() {
            ops.swap(i, self.random.below(i as u64 + 1) as usize);
        }
    }
}

/// Runs a campaign and fails if it found anything. `ENDURA_CRASH_EFFORT` (1 by default) makes it
/// so many times longer, with other random choices.
fn nothing_is_lost<const I: usize, const L: usize>(effort: Effort, most: usize) {
    let times = std::env::var("ENDURA_CRASH_EFFORT").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    for round in 0..times {
        let mut tally = campaign::<I, L>(effort, 88_172_645_463_325_252 + 2 * round, most);
        let findings = std::mem::take(&mut tally.findings);
        println!("<{I},{L}> {tally:?}");
        for (what, (count, detail)) in &findings {
            println!("  {count} x {what}\n      {detail}");
        }
        assert!(findings.is_empty(), "{} kinds of findings", findings.len());
    }
}

const EFFORT: Effort = Effort { images: 64, scripts: 16, again: 6, kills: 400, probes: 160 };

#[test]
fn nothing_is_lost_with_three_records_in_a_node() {
    nothing_is_lost::<14, 14>(EFFORT, 5);
}

#[test]
fn nothing_is_lost_with_a_full_line_in_a_node() {
    nothing_is_lost::<16, 16>(EFFORT, 4);
}

#[test]
fn nothing_is_lost_with_records_in_two_lines() {
    nothing_is_lost::<22, 22>(Effort { kills: 600, probes: 400, ..EFFORT }, 4);
}

#[test]
fn nothing_is_lost_with_large_leaves_below_small_nodes() {
    nothing_is_lost::<14, 22>(Effort { kills: 600, probes: 400, ..EFFORT }, 4);
}

/// A thread stands still for ever at each of its stores while another one works and power fails. The
/// tree is one whose root splits: what is posted meanwhile must not outlive the split.
#[test]
fn another_thread_comes_by_at_every_moment() {
    let effort = Effort { images: 4, scripts: 0, again: 0, kills: 0, probes: 1 };
    let mut explorer = Explorer::<14, 14>::new(effort, 1, Universe::new(0, 4));
    explorer.start(4, 1, "");
    explorer.start(4, 2, "");
    assert!(explorer.tally.findings.is_empty(), "{:#?}", explorer.tally.findings);
}

/// The process is killed at each of its stores, the next one now and then as well, early in its
/// repair; what the last one read or acknowledged outlives the power failure.
#[test]
fn a_process_is_killed_at_every_moment() {
    let effort = Effort { images: 4, scripts: 0, again: 0, kills: 1, probes: 0 };
    let mut explorer = Explorer::<14, 14>::new(effort, 1, Universe::new(0, 2));
    explorer.start(2, 0, "");
    assert!(explorer.tally.findings.is_empty(), "{:#?}", explorer.tally.findings);
}

/// The explorer can fail: without any one of these it finds something.
#[test]
fn what_is_left_out_is_missed() {
    const POWER_ONLY: Effort = Effort { images: 64, scripts: 32, again: 0, kills: 0, probes: 0 };
    for site in SITES {
        LEFT_OUT.set(Some(site));
        let findings = match site.0 {
            "fast_insert.shift" => campaign::<22, 22>(POWER_ONLY, 1, 5).findings,
            _ => campaign::<14, 14>(POWER_ONLY, 1, 3).findings,
        };
        LEFT_OUT.set(None);
        assert!(!findings.is_empty(), "nobody misses {site:?}");
    }
}

const SITES: [Site; 12] = [
    ("fast_insert.shift", "fence"),
    ("fast_insert.commit", "flush"),
    ("fast_insert.commit", "drain"),
    ("fast_delete.commit", "flush"),
    ("fast_delete.shift", "flush"),
    ("fast_delete.shift", "drain"),
    ("split.S2", "flush"),
    ("split.S2", "fence"),
    ("split.S3.tag", "flush"),
    ("split.S3.tag", "drain"),
    ("merge.M3", "fence"),
    ("merge.M4.tag", "flush"),
];
