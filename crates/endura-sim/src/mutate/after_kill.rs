//! Threads that go on where a process was killed in the middle of something. They use the tree without its
//! leak recovery, so that nothing is made durable but by whoever relies on it; or they collect, and then use
//! what was freed, so that nothing is made durable but by the walks.

use std::ops::Range;
use std::sync::Arc;

use endura_engine::tree::Change;
use endura_linear::Op;

use super::{Bed, Harness};
use crate::aftermath::Aftermath;
use crate::choose::Chooser;
use crate::event::{Action, Event, Trace};
use crate::explore::{Start, visible};
use crate::model::Model;
use crate::schedule::{Place, Scribe, Strategy, Task, Thread, pause, run};
use crate::sim::{Sim, act_as};
use crate::subject::{Finding, Subject, guarded};
use crate::subjects::{MapOp, NumberTree, Numbers};

/// The session after that of the process.
const SESSION: u64 = 3;

/// A process that was killed, and what the threads of the next one do.
#[derive(Debug, Clone)]
pub struct AfterKill {
    /// What is durable of operations before.
    pub before: Vec<MapOp>,
    /// What it did last: a put or a remove.
    pub op: MapOp,
    /// It ended right after the last store before it came to this step.
    pub step: &'static str,
    /// The how maniest time that it came there, from 1.
    pub nth: usize,
    /// Which of its chunks was refused; 0: none.
    pub refused: u64,
    /// The threads.
    pub threads: Vec<Vec<Task>>,
    /// Where thread 0 stops: so many moves after the call at which the mutant is at fault.
    pub moves: Range<u64>,
}

impl Harness {
    /// Runs the threads of the process after one that was killed, and crashes what they do.
    ///
    /// # Errors
    ///
    /// What it finds.
    pub fn after_kill<T: NumberTree>(
        &mut self,
        subject: Numbers<T>,
        limit: u64,
        kill: &AfterKill,
    ) -> Result<(), Finding> {
        let subject = Arc::new(subject);
        kill.moves.clone().try_for_each(|moves| self.after_kill_once(&subject, limit, kill, moves))
    }

    fn after_kill_once<T: NumberTree>(
        &mut self,
        subject: &Arc<Numbers<T>>,
        limit: u64,
        kill: &AfterKill,
        moves: u64,
    ) -> Result<(), Finding> {
        let (model, effort) = (Model::WEAKEST_ADR, Self::KILLS);
        let on = Bed { subject: &**subject, model, limit, effort };
        let start = self.explored(on, |of| of.start(&kill.before).map_err(|e| e.finding))?;
        let mut trace = self.process(on, &start, kill)?;
        let left = visible(&trace, trace.events.len());
        let sim = Sim::after(model, limit, &left, Chooser::first()).with_pause(pause());
        let sim = self.planted(sim);
        let open = Arc::new(guarded(|| subject.open(sim.clone(), SESSION))?);
        let scribe = Scribe::new(&sim, start.model.clone());
        // It has not returned, and never will.
        let (key, change) = change_of(kill.op)?;
        scribe.call(key, Op::Set(if let Change::Put(value) = change { Some(value) } else { None }));
        let thread = |tasks: &Vec<Task>| -> Thread {
            let (subject, open) = (Arc::clone(subject), Arc::clone(&open));
            let (tasks, scribe) = (tasks.clone(), scribe.clone());
            Box::new(move || {
                tasks.iter().try_for_each(|t| t.perform(&subject.keys, &open, &scribe))
            })
        };
        let strategy = Strategy::Relay(vec![(0, Place { step: Place::FAULT, nth: 1, moves })]);
        run(kill.threads.iter().map(thread).collect(), strategy, 1)?;
        let (went_on, history) = (sim.take_trace(), scribe.finish());
        self.count(|| sim.all_calls());
        history.check(&guarded(|| subject.observe(&open))?)?;
        let killed = trace.events.len();
        trace.events.extend(went_on.events);
        let expect = |at: usize| history.after_crash(at.saturating_sub(killed));
        self.explored(on, |explorer| {
            let crashed = explorer.crash_session(SESSION, &trace, killed, expect);
            crashed.map_err(|(finding, _)| finding)
        })
    }

    /// The process up to its end.
    fn process<T: NumberTree>(
        &self,
        on: Bed<'_, Numbers<T>>,
        start: &Start<Numbers<T>>,
        kill: &AfterKill,
    ) -> Result<Trace, Finding> {
        let durable = Aftermath::certain(start.image.clone());
        let sim = self.after(on.model, on.limit, &durable);
        let (key, change) = change_of(kill.op)?;
        // No fence of the next process waits for its flushes.
        let was = act_as(7);
        let done = guarded(|| {
            let open = on.subject.open(sim.clone(), 2)?;
            sim.refuse(kill.refused);
            open.tree.modify(key, |_| change).map_err(|error| format!("{error:?}"))
        });
        act_as(was);
        done?;
        let mut trace = sim.take_trace();
        let comes = |event: &Event| event.action == Action::Step(kill.step);
        let step = (0..trace.events.len()).filter(|&i| comes(&trace.events[i])).nth(kill.nth - 1);
        let step = step.ok_or_else(|| format!("{:?} does not come to {}", kill.op, kill.step))?;
        let last = trace.events[..step].iter().rposition(Event::changes_words);
        trace.events.truncate(last.map_or(0, |last| last + 1));
        Ok(trace)
    }
}

fn change_of(op: MapOp) -> Result<(u64, Change), Finding> {
    match op {
        MapOp::Put(key, value) => Ok((key, Change::Put(value))),
        MapOp::Remove(key) => Ok((key, Change::Remove)),
        op => Err(format!("{op:?} says no key")),
    }
}
