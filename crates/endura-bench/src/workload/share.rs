//! One thread's work: its steps, done and judged.

use hdrhistogram::Histogram;

use super::choice::Choice;
use super::definition::{Action, BATCH, Workload};
use super::population::{ABSENT, Population};
use super::step::{Step, Steps, moves};
use crate::figures::{Pace, timed};
use crate::keys::{key, value};
use crate::store::Session;
use crate::{Error, Result};

/// Values carry a mark in their highest byte, so that a replacement changes something.
const MARK: u32 = 56;

/// Whether a key of this number may be entered.
#[inline]
fn check_number(number: u64) -> Result<()> {
    if number < ABSENT { Ok(()) } else { Err(Error::Config("more keys than can be numbered")) }
}

/// What one thread does to a store.
pub(crate) struct Share<'a, S> {
    pub(crate) session: &'a mut S,
    pub(crate) population: &'a Population,
    /// The stripe that is this thread's own.
    pub(crate) thread: usize,
    moves: bool,
    latest: bool,
    removes: bool,
}

impl<'a, S: Session> Share<'a, S> {
    pub(crate) fn new(
        session: &'a mut S,
        population: &'a Population,
        thread: usize,
        workload: &Workload,
    ) -> Self {
        Self {
            session,
            population,
            thread,
            moves: moves(workload),
            latest: matches!(workload.choice, Choice::Latest(_)),
            removes: workload.has(Action::Remove),
        }
    }

    /// Does all steps; gives how many were answered wrongly.
    pub(crate) fn work(
        &mut self,
        Steps { steps, actions }: &Steps,
        pace: Pace,
        latencies: &mut Histogram<u64>,
    ) -> Result<u64> {
        let is_plain =
            |step: &Step| matches!(step.action, Action::Read | Action::Miss | Action::Update);
        if !self.moves && !self.removes && steps.iter().all(is_plain) {
            return self.keep_places(steps, pace, latencies);
        }
        if steps.iter().all(|step| step.action == Action::Insert) {
            return self.enter_new(steps.len(), pace, latencies);
        }
        let mut next = 0;
        timed(*actions, pace, latencies, |_| {
            let step = steps[next];
            next += 1;
            if step.action == Action::ReadMany {
                let batch = &steps[next - 1..(next - 1 + BATCH).min(steps.len())];
                next += batch.len() - 1;
                return self.read_many(batch);
            }
            self.perform(step, (next as u64) << MARK)
        })
    }

    /// Reads and updates keys that keep their places, with as little around it as can be: what stands
    /// between two operations keeps their cache misses apart, and would be counted against the store
    /// that is faster.
    fn keep_places(
        &mut self,
        steps: &[Step],
        pace: Pace,
        latencies: &mut Histogram<u64>,
    ) -> Result<u64> {
        let (session, population) = (&mut *self.session, self.population);
        timed(steps.len(), pace, latencies, |i| {
            let step = steps[i];
            if step.action == Action::Miss {
                return Ok(session.get(key(step.place.into()))?.is_none());
            }
            let number = population.number(step.stripe.into(), step.place.into());
            if step.action == Action::Update {
                return session.update(key(number), value(number) ^ (i as u64 + 1) << MARK);
            }
            let found = session.get(key(number))?;
            Ok(found.is_some_and(|found| (found ^ value(number)) << (64 - MARK) == 0))
        })
    }

    /// Enters so many keys at the end of the own stripe; in as few words as [`keep_places`](Self::keep_places).
    fn enter_new(
        &mut self,
        count: usize,
        pace: Pace,
        latencies: &mut Histogram<u64>,
    ) -> Result<u64> {
        let (session, population, thread) = (&mut *self.session, self.population, self.thread);
        let end = population.window(thread).end;
        check_number(population.number(thread, end + count as u64))?;
        timed(count, pace, latencies, |i| {
            let position = end + i as u64;
            let number = population.number(thread, position);
            session.insert(key(number), value(number) ^ (i as u64 + 1) << MARK)?;
            population.inserted(thread, position);
            Ok(true)
        })
    }

    /// Does one step; says whether the answer was right.
    #[inline]
    fn perform(&mut self, step: Step, salt: u64) -> Result<bool> {
        match step.action {
            Action::Insert => self.insert(salt),
            Action::Remove => self.remove(),
            Action::Miss => Ok(self.session.get(key(step.place.into()))?.is_none()),
            Action::ReadMany => self.read_many(&[step]),
            Action::Read => self.read(step),
            Action::Update => self.update(step, salt),
            // With other threads' inserts in between, the latest key may be another one: still a key.
            Action::Modify => Ok(self.read(step)? && self.update(step, salt)?),
            Action::Scan => self.scan(step),
        }
    }

    /// The stripe and the position of a step's key.
    #[inline]
    fn locate(&self, step: Step) -> (usize, u64) {
        // An upsert of a key that another thread is removing would bring it back.
        let writes = matches!(step.action, Action::Update | Action::Modify);
        let stripe = if writes && self.removes { self.thread } else { step.stripe.into() };
        if !self.moves {
            return (stripe, step.place.into());
        }
        let window = self.population.window(stripe);
        let distance = u64::from(step.place) % (window.end - window.start).max(1);
        let latest = window.end.saturating_sub(1 + distance);
        (stripe, if self.latest { latest } else { window.start + distance })
    }

    #[inline]
    fn number(&self, (stripe, position): (usize, u64)) -> u64 {
        self.population.number(stripe, position)
    }

    /// Whether a key may be absent: it is being removed, or nothing is left.
    #[cold]
    fn may_be_absent(&self, (stripe, position): (usize, u64)) -> bool {
        self.removes && (!self.population.not_removed(stripe, position) || self.is_empty(stripe))
    }

    fn is_empty(&self, stripe: usize) -> bool {
        self.population.window(stripe).is_empty()
    }

    #[inline]
    fn read(&mut self, step: Step) -> Result<bool> {
        let at = self.locate(step);
        let number = self.number(at);
        Ok(match self.session.get(key(number))? {
            Some(found) => (found ^ value(number)) << (64 - MARK) == 0,
            None => self.may_be_absent(at),
        })
    }

    #[inline]
    fn update(&mut self, step: Step, salt: u64) -> Result<bool> {
        let at = self.locate(step);
        let number = self.number(at);
        Ok(self.session.update(key(number), value(number) ^ salt)? || self.may_be_absent(at))
    }

    #[inline]
    fn scan(&mut self, step: Step) -> Result<bool> {
        let at = self.locate(step);
        let (seen, sum) = self.session.scan(key(self.number(at)), step.length.into())?;
        std::hint::black_box(sum);
        // Only a scan from one of the last keys may be short, but it begins with a key that is there.
        Ok(seen > 0 || self.may_be_absent(at))
    }

    /// Looks up the keys of `steps`, at most [`BATCH`].
    #[inline]
    fn read_many(&mut self, steps: &[Step]) -> Result<bool> {
        let mut keys = [0; BATCH];
        for (key_of, &step) in keys.iter_mut().zip(steps) {
            *key_of = key(self.number(self.locate(step)));
        }
        let found = self.session.get_many(&keys[..steps.len()])?;
        Ok(found == steps.len() || self.removes)
    }

    #[inline]
    fn insert(&mut self, salt: u64) -> Result<bool> {
        let position = self.population.window(self.thread).end;
        let number = self.number((self.thread, position));
        check_number(number)?;
        self.session.insert(key(number), value(number) ^ salt)?;
        self.population.inserted(self.thread, position);
        Ok(true)
    }

    #[inline]
    fn remove(&mut self) -> Result<bool> {
        let window = self.population.window(self.thread);
        let number = self.number((self.thread, window.start));
        if window.is_empty() {
            return Ok(!self.session.remove(key(number))?);
        }
        self.population.removing(self.thread, window.start);
        self.session.remove(key(number))
    }
}
