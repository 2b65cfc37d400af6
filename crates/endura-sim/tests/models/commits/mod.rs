//! Commits of several changes beside single writers and readers: the steps B1 to B12, W1 to W4 and R1 to R3 of the protocol.
//!
//! | | |
//! | --- | --- |
//! | keys | three, each in a map of its own; in different stripes, or all in one |
//! | threads | up to four, with programs of single writes, reads, batches, transactions, and batches that find no room |
//! | memory | a writer's pin and claim wait in a store buffer, until a fence or at any time; all else is seen at once |
//! | crash | in every state: the end of the process, or a power loss that leaves each word as it was since its last flush; then the replay |
//! | claim | in every state a crash leaves what some order of all operations tells, each batch as one of them; each answer is explained; no thread is stuck |
//!
//! Each rule can be left out. Then something must be found.

mod commit;
mod specification;
mod state;
mod steps;

use crate::checker::{Model, explore};
use specification::Op::{Batch, Copy, Full, Get, Put, PutIfBothAbsent};
use specification::{Op, THREADS};
use state::State;

/// A rule of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// B2: a commit that enters the mode waits for writers that have not seen the gate.
    EntryWaits,
    /// B2: and issues a heavy barrier before.
    EntryBarrier,
    /// W2: a writer that finds the bit of the gate claims its stripe.
    Claims,
    /// W2: and issues a fence before it looks at the mark.
    ClaimFence,
    /// W4: the claim ends before the writer waits.
    ClaimEndsAtWait,
    /// B1: the intent is durable before the word.
    IntentFirst,
    /// B4: in ascending order.
    MarksAscend,
    /// B4: keys that are only read are marked too.
    MarksReads,
    /// B5.
    WaitsForClaims,
    /// B6.
    Compares,
    /// B6: under the marks.
    ComparesUnderMarks,
    /// B7 before B8.
    WordBeforeCommitted,
    /// B7 before B9.
    WordBeforeApplied,
    /// B9: each change is durable before B10.
    AppliedDurable,
    /// B10 before B11.
    ClearedBeforeUnmarked,
    /// B10: and durable.
    ClearedDurable,
    /// R1.
    ReadersLook,
    /// R2: only of a flight that is COMMITTED.
    OnlyCommitted,
    /// R2: state and intent are loaded at once.
    OneLoad,
    /// The mode stays while a commit is under way.
    ModeStays,
    /// An open applies what the last session has left.
    Replays,
}

/// Programs, and what else is about.
#[derive(Default)]
pub(crate) struct Scenario {
    pub(crate) programs: [Vec<Op>; THREADS],
    pub(crate) left_out: Option<Rule>,
    /// Whether all keys are in one stripe.
    pub(crate) one_stripe: bool,
    /// Whether the mode is on from the start.
    pub(crate) is_on: bool,
    /// Whether the mode is left as soon as no commit is under way.
    pub(crate) leaves: bool,
    /// Whether power losses are looked at, besides the end of the process.
    pub(crate) loses_power: bool,
}

impl Scenario {
    fn of(programs: &[&[Op]]) -> Self {
        let mut all: [Vec<Op>; THREADS] = Default::default();
        all.iter_mut().zip(programs).for_each(|(all, ops)| *all = ops.to_vec());
        Self { programs: all, loses_power: true, ..Self::default() }
    }

    fn kills_only(self) -> Self {
        Self { loses_power: false, ..self }
    }

    fn in_one_stripe(self) -> Self {
        Self { one_stripe: true, ..self }
    }

    fn in_mode(self) -> Self {
        Self { is_on: true, ..self }
    }

    fn leaving(self) -> Self {
        Self { leaves: true, ..self }
    }

    pub(crate) fn has(&self, rule: Rule) -> bool {
        self.left_out != Some(rule)
    }

    pub(crate) fn stripe(&self, key: usize) -> usize {
        if self.one_stripe { 0 } else { key }
    }
}

impl Model for Scenario {
    type State = State;

    fn start(&self) -> State {
        State::new(self.is_on)
    }

    /// Besides those of the programs: the memory, which empties store buffers, and one that leaves the mode.
    fn threads(&self) -> usize {
        THREADS + 2
    }

    fn step(&self, state: &State, thread: usize) -> Result<Vec<State>, String> {
        match thread {
            THREADS => Ok(state.drained_by_one()),
            thread if thread > THREADS => Ok(self.leave(state).into_iter().collect()),
            thread => self.act(state, thread),
        }
    }

    fn check(&self, state: &State) -> Result<(), String> {
        state.check_crashes(self.has(Rule::Replays), self.loses_power)
    }

    fn check_end(&self, state: &State) -> Result<(), String> {
        let is_stuck = |&t: &usize| state.threads[t].ops < self.programs[t].len();
        match (0..THREADS).find(is_stuck) {
            Some(thread) => Err(format!("thread {thread} waits for ever")),
            None => Ok(()),
        }
    }
}

const B1: Op = Batch([Some(1), Some(1), None]);
const B2: Op = Batch([Some(2), Some(2), None]);
/// Removes the first key.
const B3: Op = Batch([Some(0), Some(3), None]);
const ALL: Op = Batch([Some(1), Some(1), Some(1)]);
const NO_ROOM: Op = Full([Some(1), Some(1), None]);

fn sound(scenarios: Vec<Scenario>) {
    let (mut states, count) = (0, scenarios.len());
    for (i, scenario) in scenarios.into_iter().enumerate() {
        match explore(&scenario) {
            Ok(all) => states += all,
            Err(violation) => panic!("{i}: {:?}: {violation:?}", scenario.programs),
        }
    }
    println!("{count} scenarios, {states} states");
}

#[test]
fn batches_beside_single_writers_and_readers() {
    sound(vec![
        Scenario::of(&[&[B1], &[Put(0, 2), Put(0, 3)]]),
        Scenario::of(&[&[B1], &[Put(0, 2)], &[Get(0), Get(1)]]),
        Scenario::of(&[&[B1], &[Put(1, 2)], &[Get(1), Get(0)]]),
        Scenario::of(&[&[B3], &[Put(0, 2)], &[Get(0), Get(1)]]),
        Scenario::of(&[&[B1], &[Get(1), Put(0, 2)]]),
        Scenario::of(&[&[B1], &[Get(1), Put(0, 2)], &[Get(1), Get(0)]]).kills_only(),
        Scenario::of(&[&[NO_ROOM], &[Put(0, 2)], &[Get(0), Get(1)]]),
        Scenario::of(&[&[B1, B2], &[Put(0, 2), Put(0, 3)]]).leaving(),
        Scenario::of(&[&[B1], &[Put(0, 2)], &[Put(1, 3), Put(0, 3)]]).in_mode(),
    ]);
}

#[test]
fn batches_beside_batches() {
    sound(vec![
        Scenario::of(&[&[B1, B2], &[], &[Get(0), Get(1)]]),
        Scenario::of(&[&[B1], &[B2], &[Put(0, 3)]]).kills_only(),
        Scenario::of(&[&[B1], &[B2], &[Get(0), Get(1)]]).kills_only(),
        Scenario::of(&[&[B1], &[B2], &[Put(0, 3)]]).kills_only().leaving(),
    ]);
}

#[test]
fn transactions() {
    sound(vec![
        Scenario::of(&[&[Copy(0, 1)], &[Put(0, 2), Put(0, 0)]]),
        Scenario::of(&[&[Copy(0, 1)], &[Put(0, 2), Put(1, 3)]]),
        Scenario::of(&[&[PutIfBothAbsent(0, 1)], &[PutIfBothAbsent(1, 0)], &[Put(1, 2)]])
            .kills_only(),
        Scenario::of(&[&[Copy(0, 1)], &[B1], &[Get(0), Get(1)]]).kills_only(),
    ]);
}

/// Three keys in one stripe: the claims and marks of one key are met by those of the others.
#[test]
fn three_keys_in_one_stripe() {
    sound(vec![
        Scenario::of(&[&[B1], &[Put(2, 2), Put(0, 2)]]).in_one_stripe(),
        Scenario::of(&[&[B1], &[Put(2, 2), Put(2, 3)], &[Get(2), Get(0)]]).in_one_stripe(),
        Scenario::of(&[&[ALL], &[Put(2, 2)], &[Get(2), Get(0)]]).in_one_stripe(),
        Scenario::of(&[&[ALL], &[Put(2, 2)], &[Put(0, 3)]]).in_one_stripe().kills_only(),
        Scenario::of(&[&[B1], &[B2], &[Put(2, 3)]]).in_one_stripe().kills_only(),
        Scenario::of(&[&[Copy(0, 1)], &[Put(2, 2)], &[Put(0, 3)]]).in_one_stripe().kills_only(),
    ]);
}

fn missed(rule: Rule, scenario: Scenario) {
    let scenario = Scenario { left_out: Some(rule), ..scenario };
    match explore(&scenario) {
        Err(violation) => {
            println!("| {rule:?} | {} | {} steps |", violation.finding, violation.steps.len());
        }
        Ok(states) => panic!("{rule:?} is not missed in {states} states"),
    }
}

#[test]
fn each_rule_is_missed() {
    let observed = || Scenario::of(&[&[B1], &[Put(0, 2)], &[Get(1), Get(0)]]);
    let copy = || Scenario::of(&[&[Copy(0, 1)], &[Put(0, 2), Put(1, 3)]]);
    missed(Rule::EntryWaits, observed());
    missed(Rule::EntryBarrier, observed());
    missed(Rule::Claims, observed().in_mode());
    missed(Rule::ClaimFence, observed().in_mode());
    missed(Rule::WaitsForClaims, observed().in_mode());
    missed(Rule::ClaimEndsAtWait, Scenario::of(&[&[B1], &[B2], &[Put(0, 3)]]).in_mode());
    missed(Rule::IntentFirst, Scenario::of(&[&[B1]]));
    missed(Rule::MarksAscend, Scenario::of(&[&[B1], &[B2]]));
    let skew = Scenario::of(&[&[PutIfBothAbsent(0, 1)], &[PutIfBothAbsent(1, 0)]]);
    missed(Rule::MarksReads, skew);
    missed(Rule::Compares, copy());
    missed(Rule::ComparesUnderMarks, copy());
    missed(Rule::WordBeforeCommitted, Scenario::of(&[&[B1], &[], &[Get(0)]]));
    missed(Rule::WordBeforeApplied, Scenario::of(&[&[B1]]));
    missed(Rule::AppliedDurable, Scenario::of(&[&[B1]]));
    missed(Rule::ClearedBeforeUnmarked, Scenario::of(&[&[B1], &[Get(1), Put(0, 2)]]));
    missed(Rule::ClearedDurable, Scenario::of(&[&[B1], &[Put(0, 2)]]));
    missed(Rule::ReadersLook, Scenario::of(&[&[B1], &[], &[Get(0), Get(1)]]));
    missed(Rule::OnlyCommitted, Scenario::of(&[&[B1], &[], &[Get(0)]]));
    missed(Rule::OneLoad, Scenario::of(&[&[B1, B2], &[], &[Get(0), Get(1)]]));
    missed(Rule::ModeStays, Scenario::of(&[&[B1], &[Get(1), Put(0, 2)]]).leaving());
    missed(Rule::Replays, Scenario::of(&[&[B1]]));
}
