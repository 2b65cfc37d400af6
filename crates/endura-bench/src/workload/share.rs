//! One thread's work: its requests, done and judged.

use hdrhistogram::Histogram;

use super::choice::Choice;
use super::definition::{Action, BATCH, Workload};
use super::population::{ABSENT, Population};
use super::request::{Request, Requests, moves};
use crate::figures::{Pacing, timed};
use crate::keys::{key, value};
use crate::store::Client;
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
    pub(crate) client: &'a mut S,
    pub(crate) population: &'a Population,
    /// The stripe that is this thread's own.
    pub(crate) thread: usize,
    moves: bool,
    latest: bool,
    removes: bool,
}

impl<'a, S: Client> Share<'a, S> {
    pub(crate) fn new(
        client: &'a mut S,
        population: &'a Population,
        thread: usize,
        workload: &Workload,
    ) -> Self {
        Self {
            client,
            population,
            thread,
            moves: moves(workload),
            latest: matches!(workload.choice, Choice::Latest(_)),
            removes: workload.has(Action::Remove),
        }
    }

    /// Does all requests; gives how many were answered wrongly.
    pub(crate) fn work(
        &mut self,
        Requests { requests, actions }: &Requests,
        pace: Pacing,
        latencies: &mut Histogram<u64>,
    ) -> Result<u64> {
        let is_plain = |request: &Request| {
            matches!(request.action, Action::Read | Action::Miss | Action::Update)
        };
        if !self.moves && !self.removes && requests.iter().all(is_plain) {
            return self.keep_places(requests, pace, latencies);
        }
        if requests.iter().all(|request| request.action == Action::Insert) {
            return self.enter_new(requests.len(), pace, latencies);
        }
        let mut next = 0;
        timed(*actions, pace, latencies, |_| {
            let request = requests[next];
            next += 1;
            if request.action == Action::ReadMany {
                let batch = &requests[next - 1..(next - 1 + BATCH).min(requests.len())];
                next += batch.len() - 1;
                return self.read_many(batch);
            }
            self.perform(request, (next as u64) << MARK)
        })
    }

    /// Reads and updates keys that keep their places, with as little around it as can be: what stands
    /// between two operations keeps their cache misses apart, and would be counted against the store
    /// that is faster.
    fn keep_places(
        &mut self,
        requests: &[Request],
        pace: Pacing,
        latencies: &mut Histogram<u64>,
    ) -> Result<u64> {
        let (client, population) = (&mut *self.client, self.population);
        timed(requests.len(), pace, latencies, |i| {
            let request = requests[i];
            if request.action == Action::Miss {
                return Ok(client.get(key(request.place.into()))?.is_none());
            }
            let number = population.number(request.stripe.into(), request.place.into());
            if request.action == Action::Update {
                return client.update(key(number), value(number) ^ (i as u64 + 1) << MARK);
            }
            let found = client.get(key(number))?;
            Ok(found.is_some_and(|found| (found ^ value(number)) << (64 - MARK) == 0))
        })
    }

    /// Enters so many keys at the end of the own stripe; in as few words as [`keep_places`](Self::keep_places).
    fn enter_new(
        &mut self,
        count: usize,
        pace: Pacing,
        latencies: &mut Histogram<u64>,
    ) -> Result<u64> {
        let (client, population, thread) = (&mut *self.client, self.population, self.thread);
        let end = population.window(thread).end;
        check_number(population.number(thread, end + count as u64))?;
        timed(count, pace, latencies, |i| {
            let position = end + i as u64;
            let number = population.number(thread, position);
            client.insert(key(number), value(number) ^ (i as u64 + 1) << MARK)?;
            population.inserted(thread, position);
            Ok(true)
        })
    }

    /// Does one request; says whether the answer was right.
    #[inline]
    fn perform(&mut self, request: Request, salt: u64) -> Result<bool> {
        match request.action {
            Action::Insert => self.insert(salt),
            Action::Remove => self.remove(),
            Action::Miss => Ok(self.client.get(key(request.place.into()))?.is_none()),
            Action::ReadMany => self.read_many(&[request]),
            Action::Read => self.read(request),
            Action::Update => self.update(request, salt),
            // With other threads' inserts in between, the latest key may be another one: still a key.
            Action::Modify => Ok(self.read(request)? && self.update(request, salt)?),
            Action::Scan => self.scan(request),
        }
    }

    /// The stripe and the position of a request's key.
    #[inline]
    fn locate(&self, request: Request) -> (usize, u64) {
        // An upsert of a key that another thread is removing would bring it back.
        let writes = matches!(request.action, Action::Update | Action::Modify);
        let stripe = if writes && self.removes { self.thread } else { request.stripe.into() };
        if !self.moves {
            return (stripe, request.place.into());
        }
        let window = self.population.window(stripe);
        let distance = u64::from(request.place) % (window.end - window.start).max(1);
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
    fn read(&mut self, request: Request) -> Result<bool> {
        let at = self.locate(request);
        let number = self.number(at);
        Ok(match self.client.get(key(number))? {
            Some(found) => (found ^ value(number)) << (64 - MARK) == 0,
            None => self.may_be_absent(at),
        })
    }

    #[inline]
    fn update(&mut self, request: Request, salt: u64) -> Result<bool> {
        let at = self.locate(request);
        let number = self.number(at);
        Ok(self.client.update(key(number), value(number) ^ salt)? || self.may_be_absent(at))
    }

    #[inline]
    fn scan(&mut self, request: Request) -> Result<bool> {
        let at = self.locate(request);
        let (seen, sum) = self.client.scan(key(self.number(at)), request.length.into())?;
        std::hint::black_box(sum);
        // Only a scan from one of the last keys may be short, but it begins with a key that is there.
        Ok(seen > 0 || self.may_be_absent(at))
    }

    /// Looks up the keys of `requests`, at most [`BATCH`].
    #[inline]
    fn read_many(&mut self, requests: &[Request]) -> Result<bool> {
        let mut keys = [0; BATCH];
        for (key_of, &request) in keys.iter_mut().zip(requests) {
            *key_of = key(self.number(self.locate(request)));
        }
        let found = self.client.get_many(&keys[..requests.len()])?;
        Ok(found == requests.len() || self.removes)
    }

    #[inline]
    fn insert(&mut self, salt: u64) -> Result<bool> {
        let position = self.population.window(self.thread).end;
        let number = self.number((self.thread, position));
        check_number(number)?;
        self.client.insert(key(number), value(number) ^ salt)?;
        self.population.inserted(self.thread, position);
        Ok(true)
    }

    #[inline]
    fn remove(&mut self) -> Result<bool> {
        let window = self.population.window(self.thread);
        let number = self.number((self.thread, window.start));
        if window.is_empty() {
            return Ok(!self.client.remove(key(number))?);
        }
        self.population.removing(self.thread, window.start);
        self.client.remove(key(number))
    }
}
