//! [`Sim`]: a medium that remembers what was done to it, and can be what a crash left.

use std::cell::RefMut;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use endura_engine::media::{Mark, Media, Ordering};
use endura_engine::{Error, Result, SpaceLimit};

use crate::aftermath::Aftermath;
use crate::choose::Chooser;
use crate::event::{Action, Trace};
use crate::image::Image;
use crate::model::{Domain, Model};
use crate::mutant::{Call, Calls, Mutant, Use};
use crate::owned::Owned;
use crate::site::Site;

use super::actor::actor;
use super::open::OpenLines;
use super::state::State;
use super::views::{Stale, Views};

/// What a simulated operation unwinds with when it waits for something that nobody will do.
pub struct Blocked;

/// What one unwinds with when it goes on for ever: it waits in turns for several words, or repeats an
/// exchange that cannot succeed.
pub struct Endless;

/// What a thread is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// Read a word.
    Load,
    /// Write a word, if an exchange succeeds.
    Store,
    /// Start or await a write-back: a moment at which others see what a crash takes back.
    Persist,
    /// Nothing: it has come to a numbered step.
    Step(&'static str),
    /// Nothing: it has just been through the call at which a mutant is at fault.
    Fault,
}

/// What a thread does before each of its moves, when threads take turns.
pub type Pause = Arc<dyn Fn(Move) + Send + Sync>;

struct Inner {
    model: Model,
    limit: u64,
    pause: Option<Pause>,
    /// Bytes of the medium: asked for so often that it stands outside.
    len: AtomicU64,
    state: Owned<State>,
}

/// A medium in memory that records every store, flush and fence with its place in the program, and
/// that may begin as what a crash left: words of open lines are chosen when they are first read.
///
/// Clones are the same medium. It is used by the thread that made it, and panics on others: threads
/// of the simulated program take turns on one of the operating system's.
#[derive(Clone)]
pub struct Sim(Arc<Inner>);

/// What chunks read as when they are handed out, if nothing else is asked for: nothing that a
/// structure would take for its own.
pub const POISON: u64 = 0xDEAD_BEEF_FEED_FACE;

/// So many loads of one word in a row, with nothing in between, mean that nobody will change it. (A
/// partition of a pool reads the header of a page twice for each of its chunks.)
const FOREVER: u32 = 600;

/// More accesses than an operation on a small medium makes, or an open, or reading everything. One that
/// may write, and is remembered then, counts for fifty.
pub const ENDLESS: u32 = 50_000_000;

impl Sim {
    /// Zeros, to grow up to `limit` bytes.
    pub fn new(model: Model, limit: u64) -> Self {
        Self::after(model, limit, &Aftermath::certain(Image::zeros(0)), Chooser::first())
    }

    /// What a crash left.
    pub fn after(model: Model, limit: u64, aftermath: &Aftermath, chooser: Chooser) -> Self {
        let state = State {
            visible: aftermath.image.clone(),
            recent: 0,
            start: aftermath.image.clone(),
            is_partial: aftermath.is_partial,
            open: OpenLines::of(&aftermath.open),
            chooser,
            events: Vec::new(),
            writers: BTreeMap::new(),
            sole_writer: None,
            spinning: (0, 0),
            accesses: 0,
            mutant: None,
            views: None,
            known: BTreeMap::new(),
            calls: None,
            grants: u64::MAX,
            stays_full: false,
            poison: Some(POISON),
            inside: 0,
        };
        let len = AtomicU64::new(aftermath.image.len());
        Self(Arc::new(Inner { model, limit, pause: None, len, state: Owned::new(state) }))
    }

    /// Calls `pause` before each move. To be called before the medium is shared.
    #[must_use]
    pub fn with_pause(self, pause: Pause) -> Self {
        let inner = Arc::try_unwrap(self.0).unwrap_or_else(|_| panic!("the medium is shared"));
        Self(Arc::new(Inner { pause: Some(pause), ..inner }))
    }

    /// Carries a fault into the program that uses the medium.
    pub fn plant(&self, mutant: Option<Mutant>) {
        self.state().mutant = mutant;
    }

    /// Lets threads see each other's stores from now on as late as the orders of their stores and loads
    /// allow; `stale` says when. (Of `endura`'s trees only: what lies below is handed over by locks
    /// in memory, of which a medium knows nothing.)
    pub fn weaken_visibility(&self, stale: Stale, seed: u64) {
        self.state().views = Some(Views::new(stale, seed));
    }

    /// From now on all stores are seen at once.
    pub fn end_weak_visibility(&self) {
        self.state().views = None;
    }

    /// What chunks read as when they are handed out; `None`: what was in them before.
    pub fn set_poison(&self, poison: Option<u64>) {
        self.state().poison = poison;
    }

    /// Refuses the `n`-th chunk from now on, counted from 1, once; 0 refuses none.
    pub fn refuse(&self, n: u64) {
        let mut state = self.state();
        (state.grants, state.stays_full) = (n.wrapping_sub(1), false);
    }

    /// Refuses the `n`-th chunk from now on, counted from 1, and all after it.
    pub fn refuse_from(&self, n: u64) {
        let mut state = self.state();
        (state.grants, state.stays_full) = (n.wrapping_sub(1), true);
    }

    /// Begins to count which calls are made.
    pub fn count_calls(&self) {
        self.state().calls = Some(Calls::default());
    }

    /// The calls made since [`count_calls`](Self::count_calls), with how often each was.
    pub fn calls(&self) -> BTreeMap<Call, u64> {
        self.all_calls().made
    }

    /// The same, with what kinds of stores they were.
    pub fn all_calls(&self) -> Calls {
        self.state().calls.clone().unwrap_or_default()
    }

    /// The model.
    pub fn model(&self) -> Model {
        self.0.model
    }

    /// Notes something that is no access.
    #[track_caller]
    pub fn note(&self, action: Action) {
        let mut state = self.state();
        state.accesses = 0;
        if let (Action::Begin(_), Some(views)) = (action, &mut state.views) {
            views.know_all(actor());
        }
        state.log(Site::here(), action);
    }

    /// How many events there were so far.
    pub fn moment(&self) -> usize {
        self.state().events.len()
    }

    /// All that happened so far.
    pub fn trace(&self) -> Trace {
        let state = self.state();
        Trace { start: state.narrowed(), events: state.events.clone() }
    }

    /// All that happened so far; from here on nothing of it is remembered.
    pub fn take_trace(&self) -> Trace {
        let mut state = self.state();
        Trace { start: state.narrowed(), events: std::mem::take(&mut state.events) }
    }

    /// What there was at the start, as far as anyone has looked.
    pub fn origin(&self) -> Aftermath {
        self.state().narrowed()
    }

    /// From now on open lines are chosen by `chooser`; gives back the one before, with what it chose.
    pub fn choose_by(&self, chooser: Chooser) -> Chooser {
        std::mem::replace(&mut self.state().chooser, chooser)
    }

    /// Whether words are chosen by a script, of which nothing is left.
    pub(crate) fn is_at_end_of_script(&self) -> bool {
        match &self.state().chooser {
            Chooser::Script { script, made } => made.len() >= script.len(),
            _ => false,
        }
    }

    /// Everything that is visible; open lines with the oldest of their possible contents.
    pub fn image(&self) -> Image {
        let state = self.state();
        let mut image = state.visible.clone();
        for (line, open) in state.open.iter() {
            for i in 0..8 {
                image.set(line * 64 + 8 * i as u64, open.value(&open.contents[0], i));
            }
        }
        image
    }

    /// Equal for runs that read the same contents: what this medium was, as far as that was decided.
    pub fn decided(&self) -> u64 {
        let state = self.state();
        state.open.iter().fold(state.start.hash(), |hash, (line, open)| {
            hash ^ state.start.line_hash(line) ^ Image::hash_of_line(line, &open.contents[0].words)
        })
    }

    #[inline(always)]
    fn state(&self) -> RefMut<'_, State> {
        self.0.state.borrow()
    }

    /// Lets others come right after the call at which the mutant is at fault.
    fn faulted(&self, is_it: bool) {
        if is_it {
            self.pause(Move::Fault);
        }
    }

    #[inline(always)]
    fn pause(&self, next: Move) {
        if let Some(pause) = &self.0.pause {
            pause(next);
        }
    }

    /// Counts an access; ends an operation that makes too many. (Where threads take turns, whoever
    /// gives the turns sees to it.)
    #[inline(always)]
    fn count(&self, state: &mut State, accesses: u32) {
        state.accesses += accesses;
        if state.accesses > ENDLESS && self.0.pause.is_none() && !std::thread::panicking() {
            std::panic::resume_unwind(Box::new(Endless));
        }
    }
}

// SAFETY: every access is one of the thread that owns the state, to words that are looked up by their
// offset; those beyond the length read as zero, also after a cut.
unsafe impl Media for Sim {
    fn is_modelled(&self) -> bool {
        true
    }

    fn len(&self) -> u64 {
        // Pairs with `grow`.
        self.0.len.load(Ordering::Acquire)
    }

    fn grow(&self, len: u64) -> Result<()> {
        let mut state = self.state();
        let have = state.visible.len();
        if len > self.0.limit {
            let (need, free) = (len - have, self.0.limit - have);
            return Err(Error::Full { need, free, limit: SpaceLimit::MaxSize, pool: None });
        }
        if len > have {
            state.visible.set_len(len);
            // Who sees the length finds the words.
            self.0.len.store(len, Ordering::Release);
            state.log(Site::here(), Action::Grow { len });
        }
        Ok(())
    }

    /// A crash before it leaves the medium as long as it was. After it none does: what a longer one may be left with is
    /// what it had before.
    fn cut(&self, len: u64) -> Result<()> {
        let len = len.next_multiple_of(64);
        let mut state = self.state();
        if len < state.visible.len() {
            self.0.len.store(len, Ordering::Release);
            state.cut(len);
            state.log(Site::here(), Action::Cut { len });
        }
        Ok(())
    }

    #[track_caller]
    unsafe fn load(&self, at: u64, order: Ordering) -> u64 {
        self.pause(Move::Load);
        let (site, mut state) = (Site::here(), self.state());
        self.count(&mut state, 1);
        if state.spinning.0 == at {
            state.spinning.1 += 1;
            if state.spinning.1 > FOREVER && self.0.pause.is_none() && !std::thread::panicking() {
                drop(state);
                std::panic::resume_unwind(Box::new(Blocked));
            }
        } else {
            state.spinning = (at, 0);
        }
        if self.0.model.domain == Domain::Eadr {
            state.see(at, site);
        }
        let old = state.stale(at, site).or_else(|| state.view(at, order, site));
        let value = old.unwrap_or_else(|| state.get(at));
        state.learn(at, value);
        if state.calls.is_some() {
            state.leaves_out(site, Use::Load);
        }
        value
    }

    #[track_caller]
    unsafe fn store(&self, at: u64, value: u64, order: Ordering) {
        self.pause(Move::Store);
        let (site, mut state) = (Site::here(), self.state());
        self.count(&mut state, 50);
        if state.leaves_out(site, Use::Store) {
            drop(state);
            return self.faulted(true);
        }
        let weakened = state.mutant == Some(Mutant::Weaken(Call { site, what: Use::Store }));
        let release = order != Ordering::Relaxed && !weakened;
        if let (true, Some(calls)) = (release, &mut state.calls) {
            calls.releases.insert(Call { site, what: Use::Store });
        }
        state.is_stored(at, value, release, weakened);
        state.set(at, value);
        state.learn(at, value);
        if self.0.model.domain == Domain::Eadr {
            state.wrote(at);
        }
        state.log(site, Action::Store { at, value, release });
        drop(state);
        self.faulted(weakened);
    }

    #[track_caller]
    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        self.pause(Move::Store);
        let (site, mut state) = (Site::here(), self.state());
        self.count(&mut state, 50);
        if self.0.model.domain == Domain::Eadr {
            state.see(at, site);
        }
        let found = state.get(at);
        state.learn(at, if found == old { new } else { found });
        state.is_met(at);
        if found != old {
            return Err(found);
        }
        let left_out = state.leaves_out(site, Use::Exchange);
        if !left_out {
            state.is_stored(at, new, true, false);
            state.set(at, new);
            state.log(site, Action::Exchange { at, value: new });
        }
        drop(state);
        self.faulted(left_out);
        Ok(found)
    }

    #[track_caller]
    unsafe fn compare_exchange_pair(
        &self,
        at: u64,
        old: [u64; 2],
        new: [u64; 2],
    ) -> Result<(), [u64; 2]> {
        self.pause(Move::Store);
        let (site, mut state) = (Site::here(), self.state());
        self.count(&mut state, 50);
        let words = [at, at + 8];
        if self.0.model.domain == Domain::Eadr {
            words.into_iter().for_each(|at| state.see(at, site));
        }
        let found = words.map(|at| state.get(at));
        for i in 0..2 {
            state.learn(words[i], if found == old { new[i] } else { found[i] });
            state.is_met(words[i]);
        }
        if found != old {
            return Err(found);
        }
        let left_out = state.leaves_out(site, Use::Exchange);
        if !left_out {
            // Seen at once, durable one by one: what did not change is no store.
            for i in (0..2).filter(|&i| new[i] != old[i]) {
                let (at, value) = (words[i], new[i]);
                state.is_stored(at, value, true, false);
                state.set(at, value);
                state.log(site, Action::Exchange { at, value });
            }
        }
        drop(state);
        self.faulted(left_out);
        Ok(())
    }

    #[track_caller]
    unsafe fn flush(&self, at: u64, len: u64) {
        self.pause(Move::Persist);
        let (site, mut state) = (Site::here(), self.state());
        let left_out = state.leaves_out(site, Use::Flush);
        if !left_out {
            for line in at / 64..(at + len).div_ceil(64) {
                state.log(site, Action::Flush { line });
            }
        }
        drop(state);
        self.faulted(left_out);
    }

    #[track_caller]
    fn fence(&self) {
        self.pause(Move::Persist);
        let (site, mut state) = (Site::here(), self.state());
        // eADR has no use for the fences between flushes: only `drain` empties the store buffer.
        let left_out = state.leaves_out(site, Use::Fence);
        if !left_out && self.0.model.domain == Domain::Adr {
            state.is_fenced();
            state.log(site, Action::Fence);
        }
        drop(state);
        self.faulted(left_out);
    }

    #[track_caller]
    fn drain(&self) {
        self.pause(Move::Persist);
        let (site, mut state) = (Site::here(), self.state());
        let left_out = state.leaves_out(site, Use::Drain);
        if !left_out {
            // On the page cache, with checkpoints or without, it is no instruction.
            if matches!(self.0.model.domain, Domain::Adr | Domain::Eadr) {
                state.is_fenced();
            }
            state.log(site, Action::Fence);
        }
        drop(state);
        self.faulted(left_out);
    }

    fn needs_flush(&self) -> bool {
        self.0.model.domain == Domain::Adr
    }

    fn hears_flushes(&self) -> bool {
        matches!(self.0.model.domain, Domain::Adr | Domain::Marked { .. })
    }

    fn grant(&self) -> bool {
        let mut state = self.state();
        let granted = state.grants != 0;
        if granted || !state.stays_full {
            state.grants = state.grants.wrapping_sub(1);
        }
        granted
    }

    #[track_caller]
    fn mark(&self, mark: Mark) {
        if let Mark::Step(step) = mark {
            self.pause(Move::Step(step));
        }
        self.state().hear(mark, Site::here(), self.0.model.domain);
    }
}
