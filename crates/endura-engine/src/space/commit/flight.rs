//! A flight with its marks: steps B3 to B5 and B11.

use std::time::{Duration, Instant};

use crate::media::Media;
use crate::runtime::thread;
use crate::space::batch::marks::STRIPES;
use crate::space::session::POISONED;
use crate::space::space::Space;
use crate::sync::{Backoff, Ordering, fence};
use crate::{Error, Result};

/// How long a commit lets reads of one moment keep it out: a closure may wait for the thread that commits.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a commit lets looks between commits keep it out. Longer than nearly all commits that are under way.
const GAP: Duration = Duration::from_millis(5);

/// Up to so many stripes are sorted one by one.
const FEW: usize = 32;

/// The stripes in ascending order, each once.
fn ascending(mut stripes: Vec<u16>) -> Vec<u16> {
    if stripes.len() <= FEW {
        stripes.sort_unstable();
        stripes.dedup();
        return stripes;
    }
    let mut bits = [0_u64; STRIPES.div_ceil(64)];
    stripes.iter().for_each(|&stripe| bits[usize::from(stripe / 64)] |= 1 << (stripe % 64));
    stripes.clear();
    for (word, mut left) in (0..).zip(bits) {
        while left != 0 {
            stripes.push(64 * word + left.trailing_zeros() as u16);
            left &= left - 1;
        }
    }
    stripes
}

/// A flight of the calling thread. When this is dropped, the marks are taken off, and the flight is free, unless an error
/// has left the outcome of its commit to the next open.
pub(super) struct Flight<'s, M: Media> {
    space: &'s Space<M>,
    pub(super) number: usize,
    /// The stripes, in ascending order, and how many of them are marked.
    stripes: Vec<u16>,
    marked: usize,
    /// Whether the BATCH word is set, or may be.
    pub(super) is_decided: bool,
}

impl<M: Media> Drop for Flight<'_, M> {
    fn drop(&mut self) {
        if self.is_decided {
            // No operation may see half of the changes: the pool is refused until an open has completed them.
            self.space.poison();
            return;
        }
        let batches = self.space.batches();
        self.stripes[..self.marked].iter().for_each(|&stripe| batches.marks.take_off(stripe));
        batches.flights.end(self.number);
    }
}

impl<M: Media> Space<M> {
    /// An error of a wait that no longer ends: an error has stopped the commit that it is for.
    pub(crate) fn unless_poisoned(&self) -> Result<()> {
        if self.epochs.gate() & POISONED != 0 { Err(self.doubt()) } else { Ok(()) }
    }

    /// Before B1: waits for reads of one moment that have run too often, and for looks between commits that overlap, but not for
    /// long.
    pub(super) fn wait_for_views(&self) -> Result<()> {
        // In a child of a fork they do not end.
        if self.is_elsewhere() {
            return Err(Error::Forked);
        }
        let (begun, mut backoff) = (Instant::now(), Backoff::default());
        // Relaxed: a commit that misses it makes the closure run once more.
        while self.batches().held.load(Ordering::Relaxed) > 0 && begun.elapsed() < PATIENCE {
            self.unless_poisoned()?;
            backoff.wait();
        }
        // The commit that such a look waits for may itself wait for this thread's closure.
        if !self.is_inside() {
            let (begun, mut backoff) = (Instant::now(), Backoff::default());
            // Relaxed: a commit that misses it makes the look wait longer.
            while self.batches().looks.load(Ordering::Relaxed) > 0 && begun.elapsed() < GAP {
                backoff.wait();
            }
        }
        Ok(())
    }

    /// B3: takes a flight for the intent at `at`, of which these are the stripes. Waits until one is free.
    pub(super) fn begin_flight(&self, at: u64, stripes: Vec<u16>) -> Result<Flight<'_, M>> {
        let stripes = ascending(stripes);
        let mut backoff = Backoff::default();
        loop {
            if let Some(number) = self.batches().flights.take(at, thread::current()) {
                return Ok(Flight { space: self, number, stripes, marked: 0, is_decided: false });
            }
            // Each commit ends, so one of the flights becomes free.
            self.unless_poisoned()?;
            backoff.wait();
        }
    }
}

impl<M: Media> Flight<'_, M> {
    /// B4: marks the stripes in ascending order. A flight that waits for a mark has marked lower stripes only, so the flight
    /// with the highest mark waits for none.
    pub(super) fn mark(&mut self) -> Result<()> {
        let marks = &self.space.batches().marks;
        let mut backoff = Backoff::default();
        while let Some(&stripe) = self.stripes.get(self.marked) {
            if marks.set(stripe, self.number) {
                self.marked += 1;
                backoff = Backoff::default();
                continue;
            }
            self.space.unless_poisoned()?;
            backoff.wait();
        }
        Ok(())
    }

    /// B5: waits until every claim on the stripes that may not have seen the marks has changed. Each ends with its operation,
    /// or before a closure.
    pub(super) fn wait_for_claims(&self) -> Result<()> {
        // Pairs with the fence of `claim`: a writer that does not see the marks has a claim that is seen here.
        fence(Ordering::SeqCst);
        let own = self.space.epochs.slot(thread::current());
        for slot in self.space.epochs.slots().filter(|slot| !std::ptr::eq(*slot, own)) {
            let Some(claim) = slot.claimed() else { continue };
            if self.stripes.binary_search(&claim.stripe()).is_err() {
                continue;
            }
            let mut backoff = Backoff::default();
            while slot.claimed() == Some(claim) {
                self.space.unless_poisoned()?;
                backoff.wait();
            }
        }
        Ok(())
    }

    /// B8: readers see the changes from here on.
    pub(super) fn commit(&self) {
        self.space.batches().flights.commit(self.number);
    }
}
