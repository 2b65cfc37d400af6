//! How long a single update takes at most, with checkpoints and without.

use std::time::Duration;

use endura::Checkpoints;

use super::bed::{Bed, Watch};
use super::writers::{Spread, beside_writers};
use crate::Result;

/// The same writers with checkpoints and without, in turn.
#[derive(Debug, Clone, Copy)]
pub struct LongestPlan {
    /// The share of the pool's pages that changes.
    pub share: f64,
    /// How long each turn is.
    pub turn: Duration,
    /// Turns of each.
    pub turns: u32,
    /// How long after a checkpoint the next is made.
    pub interval: Duration,
}

/// One turn.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct LongestTurn {
    /// The longest update.
    pub longest_ms: f64,
    /// How many took more than 20 ms.
    pub over_20_ms: u64,
    /// All updates.
    pub updates: u64,
    /// Checkpoints that were made meanwhile.
    pub checkpoints: u64,
    /// Checkpoints that failed.
    pub failed: u64,
}

/// What was measured.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Longest {
    /// The share of pages that changed.
    pub share: f64,
    /// The turns without checkpoints.
    pub without: Vec<LongestTurn>,
    /// The turns with them.
    pub with: Vec<LongestTurn>,
}

/// Times each update of two writers that never rest.
pub fn longest(bed: &Bed, plan: LongestPlan, watch: &Watch<'_>) -> Result<Longest> {
    let mut found = Longest { share: plan.share, without: Vec::new(), with: Vec::new() };
    for n in 0..plan.turns {
        // A, B, then B, A: what a disk does later does not count for one of them alone.
        let order = if n % 2 == 0 { [false, true] } else { [true, false] };
        for with in order {
            let name = if with { "with" } else { "without" };
            let (share, turns) = (100.0 * plan.share, plan.turns);
            watch(format!("{share} %: turn {} of {turns}, {name} checkpoints", n + 1));
            let turns = if with { &mut found.with } else { &mut found.without };
            turns.push(turn(bed, plan, with)?);
        }
    }
    Ok(found)
}

fn turn(bed: &Bed, plan: LongestPlan, with: bool) -> Result<LongestTurn> {
    let how = if with { Checkpoints::every(plan.interval) } else { Checkpoints::off() };
    let opened = bed.open(how)?;
    let spread = Spread::of(bed, plan.share);
    spread.touch(&opened.map)?;
    if with {
        opened.first_checkpoint()?;
    }
    let before = opened.checkpoints();
    let wait = || {
        std::thread::sleep(plan.turn);
        Ok(opened.checkpoints())
    };
    let (after, updates) = beside_writers(&opened.map, spread, wait)?;
    opened.pool.close()?;
    Ok(LongestTurn {
        longest_ms: updates.longest.as_secs_f64() * 1e3,
        over_20_ms: updates.long,
        updates: updates.count,
        checkpoints: after[0] - before[0],
        failed: after[1] - before[1],
    })
}
