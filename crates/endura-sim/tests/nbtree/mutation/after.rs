//! Threads that go on where a process was killed in the middle of something. They use the tree without its
//! leak recovery, so that nothing is made durable but by whoever relies on it; or they collect, and then use
//! what was freed in another partition, so that nothing is made durable but by the walks.

use std::ops::Range;
use std::sync::Arc;

use endura_engine::tree::Change;
use endura_linear::Op;
use endura_sim::aftermath::Aftermath;
use endura_sim::choose::Chooser;
use endura_sim::event::{Action, Event, Trace};
use endura_sim::explore::{Start, visible};
use endura_sim::model::Model;
use endura_sim::mutate::{Bed, Harness};
use endura_sim::schedule::{Place, Scribe, Strategy, Task, Thread, pause, run};
use endura_sim::sim::{Sim, act_as};
use endura_sim::subject::{Finding, Subject, guarded};
use endura_sim::subjects::{LIMIT, MapOp, NumberTree, Numbers};

use super::parts::{puts, removes, subject, wide};

/// A process that was killed, and what the threads of the next one do.
pub(crate) struct AfterKill {
    before: Vec<MapOp>,
    /// What it did last: a `Put`.
    op: (u64, u64),
    /// It ended right after the last store before it came to this step.
    step: &'static str,
    /// Which of its chunks was refused; 0: none.
    refused: u64,
    /// Whether blocks have two lines.
    is_wide: bool,
    threads: Vec<Vec<Task>>,
    /// Where thread 0 stops: so many moves after the call at which the mutant is at fault.
    moves: Range<u64>,
}

/// A key of another partition.
fn far(key: u64) -> u64 {
    1 << 61 | key
}

/// All of them.
pub(crate) fn kills() -> Vec<AfterKill> {
    let alone = |before, op, step, tasks| AfterKill {
        before,
        op,
        step,
        refused: 0,
        is_wide: false,
        threads: vec![tasks],
        moves: 0..1,
    };
    let collect_and_use = || {
        let uses = (1..=12).map(|key| Task::Put(far(key), key));
        [Task::Collect; 3].into_iter().chain(uses).collect()
    };
    // What is written over belongs to no partition: the first use of any makes all heads durable.
    let collect_and_scribble = || [[Task::Collect; 3], [Task::Scribble; 3]].concat();
    let full = || puts([1, 2, 3]);
    let splits = || vec![Task::Put(15, 1), Task::Put(16, 1)];
    vec![
        // A reader is told what is not durable. (In the second line: the walk makes the first one durable.)
        AfterKill {
            is_wide: true,
            ..alone(puts(1..=4), (40, 7), "alter.durable", vec![Task::Get(40)])
        },
        // The head of the chain leads past a block, which is in use if the power fails.
        alone(full(), (40, 4), "settle.S7", collect_and_scribble()),
        // So does the block before.
        alone(puts(1..=7), (80, 8), "settle.S7", collect_and_use()),
        // A chunk was taken out of the reserve.
        AfterKill {
            refused: 1,
            ..alone([full(), removes([2, 3])].concat(), (40, 4), "change.S0", collect_and_use())
        },
        // The block behind the head is replaced, so that two signposts follow each other.
        alone(full(), (40, 4), "settle.S7", splits()),
        // The same by another thread than the one that walked along the chain.
        AfterKill {
            threads: vec![vec![Task::Put(17, 1)], splits()],
            moves: 0..4,
            ..alone(full(), (40, 4), "settle.S7", Vec::new())
        },
    ]
}

impl AfterKill {
    pub(crate) fn run(&self, harness: &mut Harness) -> Result<(), Finding> {
        self.moves.clone().try_for_each(|moves| match self.is_wide {
            true => self.run_once(wide(), moves, harness),
            false => self.run_once(subject(), moves, harness),
        })
    }

    fn run_once<T: NumberTree>(
        &self,
        subject: Numbers<T>,
        moves: u64,
        harness: &mut Harness,
    ) -> Result<(), Finding> {
        let subject = Arc::new(subject);
        let (model, effort) = (Model::WEAKEST_ADR, Harness::KILLS);
        let on = Bed { subject: &*subject, model, limit: LIMIT, effort };
        let start = harness.explored(on, |of| of.start(&self.before).map_err(|e| e.finding))?;
        let mut trace = self.killed(&*subject, &start, harness)?;
        let left = visible(&trace, trace.events.len());
        let sim = Sim::after(model, LIMIT, &left, Chooser::first()).with_pause(pause());
        let sim = harness.planted(sim);
        let open = Arc::new(guarded(|| subject.open(sim.clone(), 3))?);
        let scribe = Scribe::new(&sim, start.model.clone());
        // It has not returned, and never will.
        scribe.call(self.op.0, Op::Set(Some(self.op.1)));
        let thread = |tasks: &Vec<Task>| -> Thread {
            let (subject, open) = (Arc::clone(&subject), Arc::clone(&open));
            let (tasks, scribe) = (tasks.clone(), scribe.clone());
            Box::new(move || {
                tasks.iter().try_for_each(|t| t.perform(&subject.keys, &open, &scribe))
            })
        };
        let strategy = Strategy::Relay(vec![(0, Place { step: Place::FAULT, nth: 1, moves })]);
        run(self.threads.iter().map(thread).collect(), strategy, 1)?;
        let (went_on, history) = (sim.take_trace(), scribe.finish());
        harness.count(|| sim.all_calls());
        history.check(&guarded(|| subject.observe(&open))?)?;
        let killed = trace.events.len();
        trace.events.extend(went_on.events);
        harness.crashed(on, &trace, killed, |at| history.after_crash(at.saturating_sub(killed)))
    }

    /// The process up to its end.
    fn killed<T: NumberTree>(
        &self,
        subject: &Numbers<T>,
        start: &Start<Numbers<T>>,
        harness: &Harness,
    ) -> Result<Trace, Finding> {
        let durable = Aftermath::certain(start.image.clone());
        let sim = harness.after(Model::WEAKEST_ADR, LIMIT, &durable);
        // No fence of the next process waits for its flushes.
        let was = act_as(7);
        let put = |_: Option<u64>| Change::Put(self.op.1);
        let done = guarded(|| {
            let open = subject.open(sim.clone(), 2)?;
            sim.refuse(self.refused);
            open.tree.modify(self.op.0, put).map_err(|error| format!("{error:?}"))
        });
        act_as(was);
        done?;
        let mut trace = sim.take_trace();
        let comes = |event: &Event| event.action == Action::Step(self.step);
        let step = trace.events.iter().position(comes).ok_or("it does not come to the step")?;
        let last = trace.events[..step].iter().rposition(Event::changes_words);
        trace.events.truncate(last.map_or(0, |last| last + 1));
        Ok(trace)
    }
}
