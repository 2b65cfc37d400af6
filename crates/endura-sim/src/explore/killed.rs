//! The process ends, and after that the power fails.
//!
//! What a process had stored when it was killed is visible to the next one, and not all of it is
//! durable. Whoever goes on from there may read, build and acknowledge; none of that must depend on a
//! store that the power failure takes back.

use crate::choose::{Chooser, Random};
use crate::event::{Action, Trace};
use crate::failure::Failure;
use crate::sim::{Sim, act_as};
use crate::subject::{Finding, Subject, guarded};

use super::explorer::{Depth, Explorer, Found, Start, hash};
use super::next::{Next, visible};

/// What may be there, from which event on.
type Expected<M> = Vec<(usize, Vec<M>)>;

/// A process that was killed, or is about to be.
struct Process<M> {
    /// From the start of the first process on.
    trace: Trace,
    expect: Expected<M>,
    /// Its first event.
    from: usize,
}

impl<M: Clone> Process<M> {
    fn expect_at(&self, events: usize) -> Vec<M> {
        let at = self.expect.iter().rfind(|(since, _)| *since <= events);
        at.map_or(Vec::new(), |(_, expect)| expect.clone())
    }

    /// The moments right after a store.
    fn after_stores(&self) -> Vec<usize> {
        let stores = |&i: &usize| self.trace.events[i].changes_words();
        (self.from..self.trace.events.len()).filter(stores).map(|i| i + 1).collect()
    }

    /// Where its operation number `op` begins.
    fn begin_of(&self, op: usize) -> Option<usize> {
        let begins = |&i: &usize| self.trace.events[i].action == Action::Begin(op);
        (self.from..self.trace.events.len()).find(begins)
    }
}

impl<S: Subject> Explorer<'_, S> {
    /// Kills the process after each store of `op`. The next one does what `next` says, and is killed
    /// after each of its stores as well, as long as there is a further `next`; else the power fails
    /// anywhere in what it does.
    ///
    /// Where the caches are durable, or what ends is the process alone, this is nothing new.
    pub fn kill(
        &mut self,
        start: &Start<S>,
        op: &S::Op,
        next: &[Next<S::Op>],
    ) -> Result<(), Failure<S::Op>> {
        let ops = [op.clone()];
        let result =
            self.first(start, &ops, 0).and_then(|process| self.kill_everywhere(&process, next, 3));
        result.map_err(|(finding, crashes)| {
            let finding = format!("{finding}; after a kill went on {next:?}");
            self.failed(start, &ops, 0, (finding, crashes))
        })
    }

    /// Kills the process after each store of `ops`, from operation number `from` on. The next one reads
    /// everything and does what the subject's continuation says; the power fails anywhere in that.
    pub fn explore_kills(
        &mut self,
        start: &Start<S>,
        ops: &[S::Op],
        from: usize,
    ) -> Result<(), Failure<S::Op>> {
        let killed = self.first(start, ops, from).and_then(|process| {
            let moments = process.after_stores();
            moments.into_iter().try_for_each(|moment| self.kill_once(&process, moment))
        });
        killed.map_err(|found| self.failed(start, ops, from, found))
    }

    fn kill_once(&mut self, process: &Process<S::Model>, moment: usize) -> Result<(), Found> {
        let (subject, seed) = (self.subject, self.seed);
        let ops = |found: &[S::Model]| match found {
            [found] => subject.continuation(found, &mut Random::new(seed ^ hash(found))),
            _ => Vec::new(),
        };
        let went_on =
            self.go_on(process, moment, 3, true, ops).map_err(|finding| (finding, Vec::new()))?;
        let end = went_on.begin_of(self.effort.deep_ops).unwrap_or(usize::MAX);
        let points = self.points(&went_on.trace, moment..end, |events| went_on.expect_at(events));
        let points = self.few(points, visible(&process.trace, moment).hash());
        self.crash_points(&went_on.trace, points, Depth { session: 4, crashes: self.effort.depth })
    }

    /// The process that is killed first.
    fn first(
        &mut self,
        start: &Start<S>,
        ops: &[S::Op],
        from: usize,
    ) -> Result<Process<S::Model>, Found> {
        let run = self.run_and_count(start, ops)?;
        let (from, events) = (run.begin_of(from).unwrap_or(0), run.trace.events.len());
        let expect = (from..=events).map(|i| (i, run.expect_at(i))).collect();
        Ok(Process { trace: run.trace, expect, from })
    }

    fn failed(
        &self,
        start: &Start<S>,
        ops: &[S::Op],
        from: usize,
        (finding, mut crashes): Found,
    ) -> Failure<S::Op> {
        crashes.reverse();
        let (before, origin) = (start.before.clone(), self.origin(from));
        Failure { finding, before, ops: ops.to_vec(), crashes, origin }
    }

    fn kill_everywhere(
        &mut self,
        process: &Process<S::Model>,
        next: &[Next<S::Op>],
        session: u64,
    ) -> Result<(), Found> {
        let Some((now, later)) = next.split_first() else { return Ok(()) };
        for moment in process.after_stores() {
            let told = |finding| {
                let at = process.trace.events[moment - 1].site;
                (format!("killed after event {moment} at {at}: {finding}"), Vec::new())
            };
            let went_on = self
                .go_on(process, moment, session, now.looks, |_| now.ops.clone())
                .map_err(told)?;
            let points =
                self.points(&went_on.trace, moment..usize::MAX, |events| went_on.expect_at(events));
            let depth = Depth { session: session + 1, crashes: 1 };
            self.crash_points(&went_on.trace, points, depth)?;
            self.kill_everywhere(&went_on, later, session + 1)?;
        }
        Ok(())
    }

    /// The next process, on what is visible after so many events.
    fn go_on(
        &mut self,
        process: &Process<S::Model>,
        moment: usize,
        session: u64,
        looks: bool,
        ops: impl FnOnce(&[S::Model]) -> Vec<S::Op>,
    ) -> Result<Process<S::Model>, Finding> {
        let aftermath = visible(&process.trace, moment);
        let sim = Sim::after(self.model, self.limit, &aftermath, Chooser::first());
        self.prepare(&sim);
        // Its fences do not wait for the flushes of the one before.
        act_as(session as u32);
        let expect = self.work(&sim, process.expect_at(moment), session, looks, ops);
        act_as(0);
        self.note_calls(&sim);
        let mut events = process.trace.events[..moment].to_vec();
        events.extend(sim.take_trace().events);
        let expect = expect?.into_iter().map(|(since, states)| (moment + since, states)).collect();
        let trace = Trace { start: process.trace.start.clone(), events };
        Ok(Process { trace, expect, from: moment })
    }

    /// What may be there, from which event of the process on, if it finds one of `states`.
    fn work(
        &self,
        sim: &Sim,
        mut states: Vec<S::Model>,
        session: u64,
        looks: bool,
        ops: impl FnOnce(&[S::Model]) -> Vec<S::Op>,
    ) -> Result<Expected<S::Model>, Finding> {
        let mut expect = vec![(0, states.clone())];
        let open = guarded(|| self.subject.open(sim.clone(), session))?;
        if looks {
            states = self.look(sim, &open, &states)?;
            expect.push((sim.moment(), states.clone()));
            self.verify(&open, &states)?;
        }
        let ops = ops(&states);
        for (i, op) in ops.iter().enumerate() {
            let begin = sim.moment();
            sim.note(Action::Begin(i));
            let answer = guarded(|| self.subject.apply(&open, op))?;
            sim.note(Action::Acknowledge(i));
            let mut after: Vec<S::Model> = Vec::new();
            for state in &states {
                let mut state = state.clone();
                if self.subject.specify(&mut state, op) == answer {
                    after.push(state);
                }
            }
            if after.is_empty() {
                return Err(format!("{op:?} returned {answer:?} with one of {states:?}"));
            }
            expect.push((begin, states.iter().chain(&after).cloned().collect()));
            expect.push((sim.moment(), after.clone()));
            states = after;
        }
        states = self.look(sim, &open, &states)?;
        expect.push((sim.moment(), states.clone()));
        self.verify(&open, &states)?;
        Ok(expect)
    }

    /// Reads everything, after which there is no doubt any more.
    fn look(
        &self,
        sim: &Sim,
        open: &S::Open,
        expected: &[S::Model],
    ) -> Result<Vec<S::Model>, Finding> {
        let found = guarded(|| self.subject.observe(open))?;
        if !expected.contains(&found) {
            return Err(self.subject.difference(&found, expected));
        }
        sim.note(Action::Observed);
        Ok(vec![found])
    }

    /// Checks it. What was read before is told by then: a verification may flush, and finish a leak recovery.
    fn verify(&self, open: &S::Open, states: &[S::Model]) -> Result<(), Finding> {
        states.iter().try_for_each(|found| {
            guarded(|| self.subject.verify(open, found)).map_err(|e| format!("verify: {e}"))
        })
    }
}
