//! What a [`Sim`](super::Sim) remembers.

use std::collections::BTreeMap;

use super::actor::actor;
use super::open::OpenLines;
use super::views::Views;
use crate::aftermath::Aftermath;
use crate::choose::Chooser;
use crate::event::{Action, Event};
use crate::image::Image;
use crate::model::Domain;
use crate::mutant::Calls;
use crate::mutant::{Call, Mutant, Use};
use crate::site::Site;
use endura_engine::media::{Mark, Ordering};

pub(super) struct State {
    pub(super) visible: Image,
    /// Where in it the last word was found.
    pub(super) recent: usize,
    pub(super) start: Image,
    /// Whether contents that are possible at the start are missing.
    pub(super) is_partial: bool,
    pub(super) open: OpenLines,
    pub(super) chooser: Chooser,
    pub(super) events: Vec<Event>,
    /// Who wrote each word last (eADR with several threads only).
    pub(super) writers: BTreeMap<u64, u32>,
    /// The one thread that ever stored; `None` if nobody did, or several.
    pub(super) sole_writer: Option<u32>,
    /// The word that was loaded last, and how often in a row.
    pub(super) spinning: (u64, u32),
    /// Since something was last noted.
    pub(super) accesses: u32,
    pub(super) mutant: Option<Mutant>,
    /// What each thread knows of, where stores are not seen in one order.
    pub(super) views: Option<Views>,
    /// What each thread last knew of each word, for a mutant that makes loads stale.
    pub(super) known: BTreeMap<(u32, u64), u64>,
    pub(super) calls: Option<Calls>,
    /// Chunks until one is refused.
    pub(super) grants: u64,
    /// Whether all chunks are refused from there on.
    pub(super) stays_full: bool,
    pub(super) poison: Option<u64>,
    /// Pins that may write and have not ended.
    pub(super) inside: u32,
}

impl State {
    pub(super) fn log(&mut self, site: Site, action: Action) {
        self.events.push(Event { by: actor(), site, action });
    }

    /// Whether the call is to be left out, and notes it where calls are counted.
    #[inline(always)]
    pub(super) fn leaves_out(&mut self, site: Site, what: Use) -> bool {
        if self.mutant.is_none() && self.calls.is_none() {
            return false;
        }
        let call = Call { site, what };
        if let Some(calls) = &mut self.calls {
            *calls.made.entry(call).or_default() += 1;
        }
        self.mutant == Some(Mutant::Drop(call))
    }

    pub(super) fn narrowed(&self) -> Aftermath {
        let mut start = Aftermath::certain(self.start.clone());
        start.is_partial = self.is_partial;
        self.open.iter().for_each(|(line, open)| start.put(line, open.contents.clone()));
        start
    }

    #[inline(always)]
    pub(super) fn get(&mut self, at: u64) -> u64 {
        match self.open.get_mut(at / 64) {
            Some(open) => open.read(at, &mut self.chooser),
            None => self.visible.word_near(at, &mut self.recent),
        }
    }

    pub(super) fn set(&mut self, at: u64, value: u64) {
        match self.open.get_mut(at / 64) {
            Some(open) => open.written[(at / 8 % 8) as usize] = Some(value),
            None => self.visible.set(at, value),
        }
        self.spinning = (0, 0);
    }

    /// Ends with byte `len`, a multiple of 64.
    pub(super) fn cut(&mut self, len: u64) {
        self.visible.cut(len);
        self.recent = 0;
        for open in self.open.from(len / 64) {
            // What it was at the start stays open.
            open.written = [Some(0); 8];
        }
    }

    /// Under eADR: that a thread saw another's store says that it has left the store buffer.
    #[inline(always)]
    pub(super) fn see(&mut self, at: u64, site: Site) {
        if self.writers.is_empty() || self.sole_writer == Some(actor()) {
            return;
        }
        if self.writers.get(&at).is_some_and(|&writer| writer != actor()) {
            self.log(site, Action::See { at });
            self.writers.remove(&at);
        }
    }

    /// Under eADR: who stored a word last.
    pub(super) fn wrote(&mut self, at: u64) {
        let is_first = self.writers.is_empty();
        self.sole_writer = self.sole_writer.or(is_first.then(actor)).filter(|&by| by == actor());
        self.writers.insert(at, actor());
    }

    /// For a mutant: what the load at this place gives, if the thread knew the word already.
    #[inline(always)]
    pub(super) fn stale(&mut self, at: u64, site: Site) -> Option<u64> {
        let Some(Mutant::Stale(call)) = self.mutant else { return None };
        let known = self.known.get(&(actor(), at)).copied();
        known.filter(|_| call == Call { site, what: Use::Load })
    }

    /// For a mutant: the thread knows the word now.
    #[inline(always)]
    pub(super) fn learn(&mut self, at: u64, value: u64) {
        if matches!(self.mutant, Some(Mutant::Stale(_))) {
            self.known.insert((actor(), at), value);
        }
    }

    /// The store that a load gives, if that is not the last one.
    #[inline(always)]
    pub(super) fn view(&mut self, at: u64, order: Ordering, site: Site) -> Option<u64> {
        let is_free = || site.file().contains("/tree/");
        let views = self.views.as_mut()?;
        views.load(actor(), at, order != Ordering::Relaxed, is_free())
    }

    /// A word is about to be stored to.
    pub(super) fn is_stored(&mut self, at: u64, value: u64, release: bool, misleads: bool) {
        if self.views.is_some() {
            let before = self.get(at);
            let views = self.views.as_mut();
            views.into_iter().for_each(|views| {
                views.store(actor(), (at, before, value), release, misleads);
            });
        }
    }

    /// An exchange has met the last store to a word.
    pub(super) fn is_met(&mut self, at: u64) {
        if let Some(views) = &mut self.views {
            views.load(actor(), at, true, false);
        }
    }

    /// The thread's stores so far are seen before those from now on.
    pub(super) fn is_fenced(&mut self) {
        self.views.iter_mut().for_each(|views| views.fence(actor()));
    }

    /// What the program says about itself.
    pub(super) fn hear(&mut self, mark: Mark, site: Site, domain: Domain) {
        match mark {
            Mark::Step(step) => self.log(site, Action::Step(step)),
            Mark::Published(what) => {
                self.views.iter_mut().for_each(|views| views.publish(actor(), what));
            }
            Mark::Observed(what) => {
                self.views.iter_mut().for_each(|views| views.observe(actor(), what));
            }
            Mark::LoadsFenced => {
                self.views.iter_mut().for_each(|views| views.fence_loads(actor()));
            }
            Mark::Entered => self.inside += 1,
            Mark::Left => {
                self.inside -= 1;
                // Elsewhere a crash here leaves nothing that others do not.
                if self.inside == 0 && matches!(domain, Domain::Marked { .. }) {
                    self.log(site, Action::Quiet);
                }
            }
            Mark::Fresh { at, bytes } => {
                // It was handed over by a lock in memory.
                self.views.iter_mut().for_each(|views| views.know_all(actor()));
                if let Some(poison) = self.poison {
                    (at..at + bytes).step_by(8).for_each(|word| self.set(word, poison));
                    self.log(site, Action::Fresh { at, bytes, poison });
                }
            }
            _ => {}
        }
    }
}
