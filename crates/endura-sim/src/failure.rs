//! What went wrong, and how one comes there.

use std::fmt;

use crate::aftermath::Aftermath;
use crate::cache::{Cache, IsVolatile, Pending};
use crate::event::{Action, Trace};
use crate::model::{Domain, Model};
use crate::mutant::Mutant;
use crate::run::Point;
use crate::site::Site;
use crate::subject::Finding;
use crate::tally::Effort;

/// What became of a store that was not certainly durable when the machine came down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was there afterwards.
    Reached,
    /// It was not.
    Lost,
    /// Nobody looked.
    Open,
}

/// One crash on the way to a failure.
#[derive(Debug, Clone)]
pub struct Crash {
    /// The event that did not happen any more.
    pub index: usize,
    /// What came last.
    pub last: Option<Action>,
    /// Its call; `None` at the end of the run.
    pub site: Option<Site>,
    /// The last numbered step before.
    pub step: &'static str,
    /// The stores that were not certainly durable, line by line and oldest first within a line. Those
    /// to words that mean nothing after a crash are left out.
    pub stores: Vec<(Pending, Fate)>,
}

/// How a failure is found again.
#[derive(Debug, Clone, Copy)]
pub struct Origin {
    /// The persistency model.
    pub model: Model,
    /// Most bytes of a medium.
    pub limit: u64,
    /// How much was looked at.
    pub effort: Effort,
    /// The explorer's seed.
    pub seed: u64,
    /// The fault that was planted.
    pub mutant: Option<Mutant>,
    /// The operation from whose begin on the run was crashed.
    pub from: usize,
}

/// A failure: what was found, and how one comes there.
#[derive(Debug, Clone)]
pub struct Failure<Op> {
    /// What was found.
    pub finding: Finding,
    /// The operations that made the start; all of them durable.
    pub before: Vec<Op>,
    /// The operations of the run that was crashed.
    pub ops: Vec<Op>,
    /// The crashes, first to last: where the machine came down, and what was left.
    pub crashes: Vec<Crash>,
    /// How it is found again.
    pub origin: Box<Origin>,
}

impl<Op: fmt::Debug> fmt::Display for Failure<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.finding)?;
        writeln!(f, "  made by  {:?}", self.before)?;
        writeln!(f, "  then     {:?}", self.ops)?;
        self.crashes.iter().try_for_each(|crash| write!(f, "  crash    {crash}"))?;
        let Origin { model, limit, effort, seed, mutant, from } = &*self.origin;
        if let Some(mutant) = mutant {
            writeln!(f, "  planted  {mutant}")?;
        }
        writeln!(
            f,
            "  again    let mut explorer = Explorer::new(&subject, Model::{model}, {limit}, effort, {seed});"
        )?;
        writeln!(
            f,
            "           explorer.explore(&explorer.start(&made_by)?, &then, {from}), with {effort:?}"
        )
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.last, self.site) {
            (Some(Action::Acknowledge(op)), _) => write!(f, "when operation {op} had returned")?,
            (Some(Action::Quiet), _) => write!(f, "when nobody was writing")?,
            (Some(Action::Observed), _) => write!(f, "when everything had been read")?,
            (_, Some(site)) => write!(f, "before event {} at {site}", self.index)?,
            (_, None) => write!(f, "after event {}, the last", self.index)?,
        }
        match self.step {
            "" => writeln!(f)?,
            step => writeln!(f, ", after step `{step}`")?,
        }
        let mut line = None;
        for (Pending { at, value, by, site, .. }, fate) in &self.stores {
            if line != Some(at / 64) {
                writeln!(f, "             line {:#x}", at / 64 * 64)?;
                line = Some(at / 64);
            }
            let fate = match fate {
                Fate::Reached => "reached",
                Fate::Lost => "lost",
                Fate::Open => "either",
            };
            writeln!(f, "               {fate:7} {at:#x} = {value:#x}, thread {by}, {site}")?;
        }
        Ok(())
    }
}

impl Crash {
    /// The crash of `trace` at `point`, after which `left` was there, as far as anyone has looked.
    pub(crate) fn new<M>(
        model: Model,
        trace: &Trace,
        point: &Point<M>,
        left: &Aftermath,
        is_volatile: IsVolatile<'_>,
    ) -> Self {
        let mut cache = Cache::new(model, trace.start.clone());
        trace.events[..point.index].iter().for_each(|event| cache.apply(event));
        let mut stores = match model.domain {
            Domain::Eadr => drained(&cache, &point.aftermath),
            Domain::Adr | Domain::PageCache | Domain::Marked { .. } => {
                reached(&cache, &point.aftermath, left)
            }
        };
        stores.retain(|(store, _)| !is_volatile(store.at, &cache.visible(store.at / 64)));
        let last = trace.events[..point.index].last().map(|event| event.action);
        Self { index: point.index, last, site: point.site, step: point.step, stores }
    }
}

/// eADR: the first few of each thread.
fn drained(cache: &Cache, aftermath: &Aftermath) -> Vec<(Pending, Fate)> {
    let mut left = aftermath.drained.clone();
    let fate = |pending: &Pending| {
        let of_thread = left.iter_mut().find(|of| of.0 == pending.by && of.1 > 0);
        let reached = of_thread.map(|of| of.1 -= 1).is_some();
        (*pending, if reached { Fate::Reached } else { Fate::Lost })
    };
    cache.pending().map(fate).collect()
}

/// ADR: as the contents say that `left` has. Lines that have one possible content only are left out.
fn reached(cache: &Cache, aftermath: &Aftermath, left: &Aftermath) -> Vec<(Pending, Fate)> {
    let (mut stores, mut line, mut number) = (Vec::new(), u64::MAX, 0);
    for pending in cache.pending() {
        number = if pending.at / 64 == line { number + 1 } else { 0 };
        line = pending.at / 64;
        let Some(possible) = aftermath.open.get(&line) else { continue };
        let is_left = |words: &[u64; 8]| match left.open.get(&line) {
            Some(several) => several.iter().any(|content| content.words == *words),
            None => left.image.line(line) == *words,
        };
        let mut contents = possible.iter().filter(|content| is_left(&content.words)).peekable();
        let first = contents.peek().is_some_and(|content| content.has(number));
        let fate = match (contents.all(|content| content.has(number) == first), first) {
            (false, _) => Fate::Open,
            (true, true) => Fate::Reached,
            (true, false) => Fate::Lost,
        };
        stores.push((*pending, fate));
    }
    stores
}
