//! The leak recovery of one session, in small steps. Background threads take the steps, and so do operations that run
//! out of space.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::media::{LINE, Mark, Media, Ordering};
use crate::runtime::epoch::{Mode, RetireTag};
use crate::runtime::thread;
use crate::space::alloc::events::{Event, LeakRecoveryState};
use crate::space::alloc::marks::Marks;
use crate::space::directory::registry::directory_spans;
use crate::space::drop_map::DropStep;
use crate::space::layout::{PAGE, UNIT};
use crate::space::leak_recovery::walk::{LeakStep, LeakWalk};
use crate::space::patience::Patience;
use crate::space::session::NO_READERS;
use crate::space::space::Space;
use crate::sync::{self, AtomicBool, Mutex};
use crate::{Error, Result};

/// Bytes of spans that are swept in one pin, and how many spans.
const BYTES_AT_ONCE: u64 = 2 * PAGE;
const SPANS_AT_ONCE: usize = 64;
const PAUSE: Duration = Duration::from_micros(250);
/// A caller gives up for the moment after this many times the work that a leak recovery takes without writers.
const MOST_ROUNDS: u64 = 8;
/// Steps that even a small pool needs: the ends of phases.
const FEW_STEPS: u64 = 1_000;
/// The longest rest after a step. The step itself may have waited for a verification, and a close waits for the
/// background threads.
const LONGEST_REST: Duration = Duration::from_millis(10);

/// The leak recovery of a session. Any number of threads may work on it together.
pub struct LeakRecoverer<M: Media> {
    space: Arc<Space<M>>,
    work: Mutex<Work<M>>,
    /// How many walks there were at the start.
    walks: u64,
    bite: usize,
    is_urgent: AtomicBool,
}

struct Work<M: Media> {
    phase: Phase,
    /// Walks that no thread is working on.
    walks: Vec<Box<dyn LeakWalk<M>>>,
    under_way: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// C1.
    Mark,
    /// C3: maps that were dropped have to be freed first.
    Drops,
    /// C3: every pin that existed when the tag was read has to end.
    Grace(RetireTag),
    /// C4: the index of the next span.
    Sweep(usize),
    Ended,
}

impl<M: Media> LeakRecoverer<M> {
    /// Chunks to mark in one pin: a tenth of a millisecond if they are not in the processor's cache.
    pub const BITE: usize = 512;

    /// The leak recovery that the session of `space` needs. `walks` must cover all maps that existed when the pool was
    /// opened; about `bite` chunks are marked in one pin. From now on, operations that run out of space complete the
    /// leak recovery first.
    ///
    /// The pool does not keep the recoverer alive. A session has one recoverer: a second one does nothing.
    pub fn new(space: &Arc<Space<M>>, walks: Vec<Box<dyn LeakWalk<M>>>, bite: usize) -> Arc<Self> {
        let is_first = space.allocator.marks().is_some_and(Marks::claim);
        let phase = if is_first { Phase::Mark } else { Phase::Ended };
        let recoverer = Arc::new(Self {
            space: Arc::clone(space),
            walks: walks.len() as u64,
            work: Mutex::new(Work { phase, walks, under_way: 0 }),
            bite: bite.max(1),
            is_urgent: AtomicBool::new(false),
        });
        if is_first {
            let weak: Weak<Self> = Arc::downgrade(&recoverer);
            let finish = move |patience| {
                weak.upgrade().map_or(Ok(false), |recoverer| recoverer.finish_within(patience))
            };
            let _ = space.finish_leak_recovery.set(Box::new(finish));
            let weak: Weak<Self> = Arc::downgrade(&recoverer);
            let walk = move |shut_by| {
                weak.upgrade().map_or(Ok(false), |recoverer| recoverer.finish_walks(shut_by))
            };
            let _ = space.finish_walks.set(Box::new(walk));
            // This fails only if the word lies outside of the pool, which was checked before.
            let _ = space.allocator.pages().hold_back(&space.media);
        }
        recoverer
    }

    /// Takes one step.
    ///
    /// # Errors
    ///
    /// The errors of [`Space::pin`] and [`Space::pin_mut`]. Damage in the pool is not reported as an error, but ends
    /// the leak recovery ([`LeakRecoveryState::Failed`]).
    pub fn step(&self) -> Result<LeakStep> {
        self.step_within(NO_READERS)
    }

    /// Takes one step, as [`step`](Self::step) does. The bits of `shut_by` in the gate keep a walk out.
    fn step_within(&self, shut_by: u64) -> Result<LeakStep> {
        let Some(marks) = self.space.allocator.marks() else { return Ok(LeakStep::Ended) };
        let mut work = self.work.lock();
        let phase = work.phase;
        let walk = if phase == Phase::Mark { work.walks.pop() } else { None };
        work.under_way += usize::from(walk.is_some());
        if walk.is_some() {
            // The state is entered under the lock. So if another thread fails, it ends this phase later, and reports
            // its state after this one.
            self.enter(marks, LeakRecoveryState::Marking);
        }
        drop(work);
        let outcome = match (phase, walk) {
            (Phase::Mark, Some(walk)) => self.mark(marks, walk, shut_by),
            (Phase::Mark, None) => self.end_marking(marks, shut_by),
            (Phase::Drops, _) => self.wait_for_drops(),
            (Phase::Grace(tag), _) => self.wait_for_pins(marks, tag),
            (Phase::Sweep(_), _) => self.sweep(marks),
            (Phase::Ended, _) => Ok(LeakStep::Ended),
        };
        match outcome {
            Err(error @ Error::Corrupt { .. }) if !self.space.is_poisoned() => {
                self.space.note_damage(&error);
                self.work.lock().phase = Phase::Ended;
                self.enter(marks, LeakRecoveryState::Failed);
                Ok(LeakStep::Ended)
            }
            outcome => outcome,
        }
    }

    /// Enters a state of the leak recovery. Reports the beginning and the end of the leak recovery as events.
    fn enter(&self, marks: &Marks, state: LeakRecoveryState) {
        if !marks.enter(state) {
            return;
        }
        match state {
            LeakRecoveryState::Marking => self.space.tell(|| Event::LeakRecoveryBegan),
            LeakRecoveryState::Complete | LeakRecoveryState::Failed => self.space.tell(|| {
                let freed_bytes = self.space.leak_recovery().bytes_freed;
                Event::LeakRecoveryEnded { state, freed_bytes }
            }),
            _ => {}
        }
    }

    /// C1: one step of a walk.
    fn mark(
        &self,
        marks: &Marks,
        mut walk: Box<dyn LeakWalk<M>>,
        shut_by: u64,
    ) -> Result<LeakStep> {
        let (media, pages) = (&self.space.media, self.space.allocator.pages());
        let ended = self.space.enter(Mode::Reader, shut_by).and_then(|guard| {
            media.mark(Mark::Step("leak_recovery.mark"));
            let mut visit = |at, bytes| marks.reach(pages, at, bytes);
            let ended = walk.step(&guard, &mut visit, self.bite);
            // Before anything is freed. The walk may have missed a chunk because of a word that a killed process had
            // stored; a crash must not lose that word and make the chunk reachable again. Pairs with the flushes of the
            // walk.
            media.fence();
            ended
        });
        let mut work = self.work.lock();
        work.under_way -= 1;
        if !matches!(ended, Ok(true)) {
            work.walks.push(walk);
        }
        ended.map(|_| LeakStep::Worked)
    }

    fn end_marking(&self, marks: &Marks, shut_by: u64) -> Result<LeakStep> {
        self.keep_directory(marks, shut_by)?;
        let mut work = self.work.lock();
        let is_marked = work.walks.is_empty() && work.under_way == 0;
        if is_marked && work.phase == Phase::Mark {
            work.phase = Phase::Drops;
            marks.end_walks();
            self.enter(marks, LeakRecoveryState::Waiting);
        }
        Ok(if is_marked { LeakStep::Worked } else { LeakStep::Idle })
    }

    /// Marks the further spans of the directory. No span is ever removed from the directory.
    fn keep_directory(&self, marks: &Marks, shut_by: u64) -> Result<()> {
        let _guard = self.space.enter(Mode::Reader, shut_by)?;
        let spans = directory_spans(&self.space.media)?;
        spans.iter().for_each(|(at, ())| marks.keep_directory(at));
        Ok(())
    }

    /// The first half of C3: a step of freeing the dropped maps, until all are freed. A thread frees them inside a pin,
    /// and the second half waits for the end of that pin.
    fn wait_for_drops(&self) -> Result<LeakStep> {
        let now = self.space.epochs.advance();
        let step = {
            let guard = self.space.pin_mut()?;
            self.space.step_of_drops(&guard, now, None)?
        };
        let mut work = self.work.lock();
        if step == DropStep::Ended && work.phase == Phase::Drops {
            work.phase = Phase::Grace(self.space.epochs.tag());
        }
        Ok(if step == DropStep::Waiting { LeakStep::Idle } else { LeakStep::Worked })
    }

    /// The second half of C3: once the tag has expired, every pin has ended that existed when it was read.
    fn wait_for_pins(&self, marks: &Marks, tag: RetireTag) -> Result<LeakStep> {
        if !tag.has_expired(self.space.epochs.advance()) {
            return Ok(LeakStep::Idle);
        }
        let mut work = self.work.lock();
        if work.phase == Phase::Grace(tag) {
            work.phase = Phase::Sweep(0);
            self.enter(marks, LeakRecoveryState::Sweeping);
        }
        Ok(LeakStep::Worked)
    }

    /// C4: sweeps some spans. One thread at a time does this, because it takes little time compared with C1.
    fn sweep(&self, marks: &Marks) -> Result<LeakStep> {
        // The pin begins before the lock is taken, because the pin may have to wait for the end of a verification.
        let _guard = self.space.pin_mut()?;
        let mut work = self.work.lock();
        let Phase::Sweep(from) = work.phase else { return Ok(LeakStep::Worked) };
        let (mut index, mut bytes, limit) = (from, 0, marks.spans().len());
        loop {
            let freed = self.space.allocator.sweep(&self.space.media, marks, index)?;
            let swept = marks.spans().get(index).map_or(0, |span| span.units * UNIT);
            marks.note_swept(swept, freed);
            (index, bytes) = (index + 1, bytes + swept);
            if index >= limit || bytes >= BYTES_AT_ONCE || index >= from + SPANS_AT_ONCE {
                break;
            }
        }
        work.phase = Phase::Sweep(index);
        if index >= limit {
            self.space.allocator.end_sweep(&self.space.media)?;
            work.phase = Phase::Ended;
            self.enter(marks, LeakRecoveryState::Complete);
        }
        Ok(LeakStep::Worked)
    }

    /// Takes steps until the end, and returns whether all is done. It stops earlier if other threads have kept it
    /// waiting for about a second, or if it has done several times the work that a pool of this size needs, because
    /// other threads may insert keys ahead of a walk as fast as it proceeds. Returns `false` at once inside an
    /// operation, whose end it would have to wait for. O(chunks).
    ///
    /// # Errors
    ///
    /// The errors of [`step`](Self::step).
    pub fn finish(&self) -> Result<bool> {
        self.finish_within(Patience::Long)
    }

    fn finish_within(&self, patience: Patience) -> Result<bool> {
        if self.space.epochs.slot(thread::current()).is_pinned() {
            return Ok(false);
        }
        self.is_urgent.store(true, Ordering::Relaxed);
        let (mut idle, mut left) = (0, self.steps_at_most());
        while idle < patience.looks() && left > 0 {
            match self.step()? {
                LeakStep::Worked => (idle, left) = (0, left - 1),
                LeakStep::Ended => return Ok(self.space.leak_recovery().is_done()),
                LeakStep::Idle => {
                    idle += 1;
                    // As in `Space::relieve`.
                    if idle > 2 {
                        sync::rest((idle > patience.yields()).then_some(PAUSE));
                    }
                }
            }
        }
        Ok(false)
    }

    /// Completes C1, even in a closed pool, unless `shut_by` keeps it out. Returns whether the walks have met
    /// everything and found it sound. It stops earlier as [`finish`](Self::finish) does, but waits for no operation,
    /// because walks only read.
    fn finish_walks(&self, shut_by: u64) -> Result<bool> {
        let Some(marks) = self.space.allocator.marks() else { return Ok(true) };
        let (mut idle, mut left) = (0, self.steps_at_most());
        while idle < Patience::Long.looks() && left > 0 {
            let is_over = self.work.lock().phase != Phase::Mark;
            if is_over {
                break;
            }
            match self.step_within(shut_by)? {
                LeakStep::Idle => {
                    idle += 1;
                    sync::rest(Some(PAUSE));
                }
                LeakStep::Worked | LeakStep::Ended => (idle, left) = (0, left - 1),
            }
        }
        Ok(marks.has_met_all())
    }

    /// Reports that the leak recovery has failed, unless the error is one that every operation returns.
    fn note_end(&self, error: &Error) {
        let is_told = matches!(error, Error::Closed { .. } | Error::Forked | Error::Poisoned);
        if let (false, Some(marks)) = (is_told, self.space.allocator.marks()) {
            self.enter(marks, LeakRecoveryState::Failed);
        }
    }

    /// More steps than a leak recovery takes without writers: each step of a walk but the last meets new chunks. (A
    /// pool with many small maps has more walks than spans.)
    fn steps_at_most(&self) -> u64 {
        let (bytes, _) = self.space.allocator.usage();
        let steps = (bytes / LINE).div_ceil(self.bite as u64) + bytes / UNIT;
        MOST_ROUNDS * (steps + self.walks + FEW_STEPS)
    }

    /// The work of a background thread. It continues until the end, or until the pool is closed. After each step it
    /// rests as long as the step took, unless an operation needs the space. If an error ends it earlier, every
    /// operation returns that error, as after a close, or the state is [`LeakRecoveryState::Failed`].
    pub fn run(&self) {
        loop {
            let begun = Instant::now();
            match self.step() {
                Ok(LeakStep::Ended) => return,
                Err(error) => return self.note_end(&error),
                Ok(LeakStep::Idle) => sync::rest(Some(PAUSE)),
                // Relaxed: a hint.
                Ok(LeakStep::Worked) if self.is_urgent.load(Ordering::Relaxed) => {}
                Ok(LeakStep::Worked) => sync::rest(Some(begun.elapsed().min(LONGEST_REST))),
            }
        }
    }
}
