//! What parts of all campaigns are made of: media and explorers that carry the fault.

use std::borrow::Borrow;

use super::Calls;
use crate::aftermath::Aftermath;
use crate::choose::Chooser;
use crate::event::{Action, Event, Trace};
use crate::explore::{Explorer, Next, visible};
use crate::failure::Failure;
use crate::model::Model;
use crate::mutant::Mutant;
use crate::sim::{Sim, act_as};
use crate::subject::{Finding, Subject};
use crate::tally::Effort;

/// The fault that parts carry, if any, and the calls that they make, where those are counted.
pub struct Harness {
    mutant: Option<Mutant>,
    calls: Option<Calls>,
}

/// What is explored, and how far.
pub struct Bed<'s, S> {
    /// The structure.
    pub subject: &'s S,
    /// What the hardware promises.
    pub model: Model,
    /// Bytes of the medium at most.
    pub limit: u64,
    /// How much is gone through after each crash.
    pub effort: Effort,
}

impl<S> Clone for Bed<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Bed<'_, S> {}

fn finding<Op>(failure: Failure<Op>) -> Finding {
    failure.finding
}

impl Harness {
    /// What runs crashed everywhere look at.
    pub const QUICK: Effort = Effort {
        exhaustive: 40,
        samples: 8,
        depth: 2,
        deepen_one_in: 8,
        deep_points: 3,
        deep_ops: 2,
        ..Effort::EXHAUSTIVE
    };

    /// After a kill, the session that follows is crashed everywhere up to the end of its first operation.
    pub const KILLS: Effort = Effort {
        exhaustive: 12,
        samples: 4,
        depth: 1,
        continue_one_in: 4,
        deep_ops: 1,
        ..Self::QUICK
    };

    /// With this fault; takes down which calls are made if it `counts`.
    pub fn new(mutant: Option<Mutant>, counts: bool) -> Self {
        Self { mutant, calls: counts.then(Calls::default) }
    }

    /// The fault.
    pub fn mutant(&self) -> Option<Mutant> {
        self.mutant
    }

    /// The calls that were made.
    pub fn into_calls(self) -> Calls {
        self.calls.unwrap_or_default()
    }

    /// Whether calls are counted.
    pub fn counts(&self) -> bool {
        self.calls.is_some()
    }

    /// Takes calls down that were made elsewhere.
    pub fn count(&mut self, calls: impl FnOnce() -> Calls) {
        if let Some(all) = &mut self.calls {
            all.add(calls());
        }
    }

    /// A medium of zeros.
    pub fn sim(&self, model: Model, limit: u64) -> Sim {
        self.planted(Sim::new(model, limit))
    }

    /// A medium on which this was left.
    pub fn after(&self, model: Model, limit: u64, left: &Aftermath) -> Sim {
        self.planted(Sim::after(model, limit, left, Chooser::first()))
    }

    /// A medium with the fault, which counts calls where they are counted.
    pub fn planted(&self, sim: Sim) -> Sim {
        sim.plant(self.mutant);
        if self.calls.is_some() {
            sim.count_calls();
        }
        sim
    }

    /// What an explorer with the fault gives.
    ///
    /// # Errors
    ///
    /// What it finds; so for all that follow.
    pub fn explored<S: Subject, T>(
        &mut self,
        on: Bed<'_, S>,
        run: impl FnOnce(&mut Explorer<'_, S>) -> Result<T, Finding>,
    ) -> Result<T, Finding> {
        let mut explorer = Explorer::new(on.subject, on.model, on.limit, on.effort, 1);
        explorer.plant(self.mutant);
        explorer.calls = self.calls.take();
        let result = run(&mut explorer);
        self.calls = explorer.calls.take();
        result
    }

    /// Crashes operations everywhere, from number `from` on, on what is durable of others.
    pub fn alone<S: Subject>(
        &mut self,
        on: Bed<'_, S>,
        before: &[S::Op],
        ops: &[S::Op],
        from: usize,
    ) -> Result<(), Finding> {
        self.explored(on, |explorer| {
            let start = explorer.start(before).map_err(finding)?;
            explorer.explore(&start, ops, from).map_err(finding)
        })
    }

    /// The same with processes that are killed in each of the operations, and a power failure later.
    pub fn alone_and_killed<S: Subject>(
        &mut self,
        on: Bed<'_, S>,
        before: &[S::Op],
        ops: &[S::Op],
    ) -> Result<(), Finding> {
        self.explored(on, |explorer| {
            let start = explorer.start(before).map_err(finding)?;
            explorer.explore_kills(&start, ops, 0).map_err(finding)
        })
    }

    /// Kills a process in an operation; what the next ones do is crashed.
    pub fn killed<S: Subject>(
        &mut self,
        on: Bed<'_, S>,
        before: &[S::Op],
        op: &S::Op,
        next: &[Next<S::Op>],
    ) -> Result<(), Finding> {
        self.explored(on, |explorer| {
            let start = explorer.start(before).map_err(finding)?;
            explorer.kill(&start, op, next).map_err(finding)
        })
    }

    /// Crashes a run from an event on. Before so many events one of what `expect` gives is there.
    pub fn crashed<S: Subject>(
        &mut self,
        on: Bed<'_, S>,
        trace: &Trace,
        from: usize,
        expect: impl Fn(usize) -> Vec<S::Model>,
    ) -> Result<(), Finding> {
        self.explored(on, |explorer| {
            explorer.crash_trace(trace, from, expect).map_err(|(finding, _)| finding)
        })
    }

    /// Crashes the making of a structure, from the first event on that is its own: what is below it is
    /// another's.
    pub fn made<S: Subject>(
        &mut self,
        on: Bed<'_, S>,
        is_own: impl Fn(&Event) -> bool,
    ) -> Result<(), Finding> {
        let sim = self.sim(on.model, on.limit);
        let open = on.subject.create(sim.clone())?;
        on.subject.observe(&open)?;
        self.count(|| sim.all_calls());
        let trace = sim.trace();
        let from = trace.events.iter().position(is_own).unwrap_or(0);
        self.crashed(on, &trace, from, |_| vec![on.subject.empty()])
    }

    /// A new structure on which operations were done.
    pub fn done<S: Subject, Op: Borrow<S::Op>>(
        &mut self,
        on: Bed<'_, S>,
        ops: impl IntoIterator<Item = Op>,
    ) -> Result<S::Open, Finding> {
        let sim = self.sim(on.model, on.limit);
        let open = on.subject.create(sim.clone())?;
        let done: Result<(), Finding> =
            ops.into_iter().try_for_each(|op| on.subject.apply(&open, op.borrow()).map(drop));
        self.count(|| sim.all_calls());
        done.map(|()| open)
    }

    /// The trace of operations on what is durable of others, up to a step.
    pub fn up_to<S: Subject>(
        &mut self,
        on: Bed<'_, S>,
        before: &[S::Op],
        ops: &[S::Op],
        step: &'static str,
    ) -> Result<Trace, Finding> {
        let mut trace = self.explored(on, |explorer| {
            let start = explorer.start(before).map_err(finding)?;
            explorer.trace(&start, ops)
        })?;
        let comes = |event: &Event| event.action == Action::Step(step);
        let end = trace.events.iter().position(comes).ok_or_else(|| format!("no {step}"))?;
        trace.events.truncate(end);
        Ok(trace)
    }

    /// What the next process does that finds what is visible after `trace`: as a thread for whose fences
    /// nothing of the one before waits. At the end somebody was told something.
    pub fn session_after<S: Subject>(
        &mut self,
        on: Bed<'_, S>,
        trace: &Trace,
        thread: u32,
        work: impl FnOnce(&S::Open) -> Result<(), Finding>,
    ) -> Result<Vec<Event>, Finding> {
        let left = visible(trace, trace.events.len());
        let sim = self.after(on.model, on.limit, &left);
        act_as(thread);
        let done = on.subject.open(sim.clone(), 3).and_then(|open| work(&open));
        act_as(0);
        self.count(|| sim.all_calls());
        done?;
        sim.note(Action::Observed);
        Ok(sim.take_trace().events)
    }
}

#[cfg(feature = "schedules")]
mod schedules {
    use super::{Finding, Harness};
    use crate::schedule::{Campaign, Unsound};
    use crate::subjects::{NumberTree, Numbers};

    impl Harness {
        /// Runs what a campaign of schedules runs.
        ///
        /// # Errors
        ///
        /// What it finds.
        pub fn scheduled<T: NumberTree>(
            &mut self,
            mut campaign: Campaign<Numbers<T>>,
            run: impl FnOnce(&mut Campaign<Numbers<T>>) -> Result<(), Box<Unsound>>,
        ) -> Result<(), Finding> {
            campaign.plant(self.mutant);
            if self.calls.is_some() {
                campaign.count_calls();
            }
            let ran = run(&mut campaign).map_err(|unsound| unsound.finding);
            self.count(|| campaign.calls());
            ran
        }
    }
}
