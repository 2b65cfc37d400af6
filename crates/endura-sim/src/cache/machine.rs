//! The caches of a machine: which stores are certainly durable, and what of the others a crash may
//! leave.
//!
//! The cache is fed with the events of a trace, and takes their order for the one in which the
//! machine's threads saw them: a store before a flush in the trace is written back by that flush,
//! whichever thread made it, and a `Release` store comes after everything that the trace has before
//! it in its line. A machine on which two threads did these things the other way round is another
//! trace, which another schedule gives.

use std::collections::BTreeMap;

use crate::aftermath::{Aftermath, Content, IsVolatile, meaning};
use crate::event::{Action, Event};
use crate::model::{Domain, InLine, Model};

use super::line::{Line, Pending};

/// Stores on their way to durability, under a model. Fed with events in order.
#[derive(Debug, Clone)]
pub struct Cache {
    model: Model,
    /// What is durable, but for the open lines of an earlier crash.
    durable: Aftermath,
    /// ADR, and checkpoints: lines that hold stores which are not certainly durable.
    lines: BTreeMap<u64, Line>,
    /// eADR: the store buffers. Who stored what, oldest first over all threads.
    buffered: Vec<Pending>,
}

impl Cache {
    /// Nothing on its way.
    pub fn new(model: Model, durable: Aftermath) -> Self {
        Self { model, durable, lines: BTreeMap::new(), buffered: Vec::new() }
    }

    /// Takes one event in.
    pub fn apply(&mut self, event: &Event) {
        let Event { by, site, .. } = *event;
        match event.action {
            Action::Store { at, value, release } => {
                self.store(Pending { at, value, by, release, site });
            }
            Action::Exchange { at, value } => {
                // An exchange that waits for flushes does so before its own store is to be seen.
                if self.model.domain == Domain::Adr && self.model.exchange_fences {
                    self.fence(by);
                }
                self.store(Pending { at, value, by, release: true, site });
                if self.model.domain == Domain::Eadr && self.model.exchange_fences {
                    self.fence(by);
                }
            }
            Action::See { at } => self.drain_up_to(at),
            Action::Flush { line } => match self.model.domain {
                Domain::Adr => {
                    if let Some(line) = self.lines.get_mut(&line) {
                        line.flush(by);
                    }
                }
                Domain::Marked { block } => self.mark(line * 64 / block * block, block, by),
                Domain::Eadr | Domain::PageCache => {}
            },
            Action::Fence => self.fence(by),
            // The medium's promise: its new length is durable when `grow` returns.
            Action::Grow { len } => self.durable.image.set_len(len),
            Action::Cut { len } => self.cut(len),
            Action::Fresh { at, bytes, poison } => self.overwrite(at, bytes, poison),
            _ => {}
        }
    }

    /// Whether something is lost by the event that a crash before it could leave: the moments at
    /// which it is worth crashing. What a crash leaves earlier, it can leave just before the next one
    /// of these as well.
    pub fn settles(&self, event: &Event) -> bool {
        let by = event.by;
        match (self.model.domain, event.action) {
            // A checkpoint is made where no operation is in flight: none of these lies there.
            (Domain::Marked { .. }, _) => false,
            (_, Action::Grow { .. } | Action::Cut { .. }) => true,
            (_, Action::Fresh { at, bytes, .. }) => self.is_open(at, bytes),
            (Domain::PageCache, Action::Store { .. } | Action::Exchange { .. }) => true,
            (Domain::Adr, Action::Fence) => self.has_flushed(by),
            (Domain::Adr, Action::Exchange { .. }) => {
                self.model.exchange_fences && self.has_flushed(by)
            }
            (Domain::Eadr, Action::Fence) => self.has_buffered(by),
            // Its own store is not buffered either: a crash before it loses it.
            (Domain::Eadr, Action::Exchange { .. }) => self.model.exchange_fences,
            (Domain::Eadr, Action::See { at }) => self.buffered.iter().any(|p| p.at == at),
            _ => false,
        }
    }

    fn has_flushed(&self, by: u32) -> bool {
        self.lines.values().any(|line| line.covered(by) > 0)
    }

    fn has_buffered(&self, by: u32) -> bool {
        self.buffered.iter().any(|p| p.by == by)
    }

    /// Whether a word of the range has a store that is not certainly durable.
    fn is_open(&self, at: u64, bytes: u64) -> bool {
        let inside = |p: &Pending| (at..at + bytes).contains(&p.at);
        let mut lines = self.lines.range(at / 64..(at + bytes).div_ceil(64));
        lines.any(|(_, line)| line.pending.iter().any(inside)) || self.buffered.iter().any(inside)
    }

    /// The stores that are not certainly durable: by line, and oldest first within it.
    pub fn pending(&self) -> impl Iterator<Item = &Pending> {
        self.lines.values().flat_map(|line| &line.pending).chain(&self.buffered)
    }

    /// Whether a flush of this line by the thread would cover a store that none of its flushes covers.
    pub fn is_worth_flushing(&self, line: u64, by: u32) -> bool {
        self.lines.get(&line).is_some_and(|line| line.covered(by) < line.pending.len())
    }

    /// Whether a fence of the thread would make anything durable.
    pub fn is_worth_fencing(&self, by: u32) -> bool {
        self.has_flushed(by) || self.has_buffered(by)
    }

    /// The words of a line, as somebody reads them who crashes nothing.
    pub fn visible(&self, line: u64) -> [u64; 8] {
        let durable = self.durable.open.get(&line).and_then(|contents| contents.last());
        let mut words = durable.map_or_else(|| self.durable.image.line(line), |last| last.words);
        let of_line = self.lines.get(&line).into_iter().flat_map(|line| &line.pending);
        for pending in of_line.chain(self.buffered.iter().filter(|p| p.at / 64 == line)) {
            words[(pending.at / 8 % 8) as usize] = pending.value;
        }
        words
    }

    /// What a crash at this moment may leave. Under eADR the open stores of several lines hang
    /// together; each combination is an aftermath of its own.
    ///
    /// With `folds`, of contents that differ only in words which mean nothing after a crash, the
    /// oldest and the newest stand for all.
    pub fn aftermaths(&mut self, folds: Option<IsVolatile<'_>>) -> Vec<Aftermath> {
        match self.model.domain {
            Domain::PageCache => vec![self.durable.clone()],
            Domain::Eadr => self.suffixes_lost(),
            Domain::Adr | Domain::Marked { .. } => {
                let mut aftermath = self.durable.clone();
                for (&number, line) in &mut self.lines {
                    let certain = [Content { reached: 0, words: self.durable.image.line(number) }];
                    let older = self.durable.open.get(&number).map_or(&certain[..], |open| open);
                    let contents = line.contents(self.model.in_line, older);
                    aftermath.is_partial |= contents.is_partial;
                    match folds {
                        Some(is_volatile) => {
                            aftermath.put(number, fold(number, &contents.all, is_volatile));
                        }
                        None => aftermath.put(number, contents.all),
                    }
                }
                vec![aftermath]
            }
        }
    }

    fn store(&mut self, pending: Pending) {
        match self.model.domain {
            Domain::PageCache => self.durable.write(pending.at, pending.value),
            Domain::Eadr => self.buffered.push(pending),
            Domain::Adr | Domain::Marked { .. } => {
                self.lines.entry(pending.at / 64).or_default().store(pending);
            }
        }
    }

    /// Checkpoints: the next one copies this block, whoever stored what is in it.
    fn mark(&mut self, first: u64, block: u64, by: u32) {
        let durable = &mut self.durable;
        for (_, line) in self.lines.range_mut(first / 64..(first + block) / 64) {
            line.flush(by);
            line.settle(by).iter().for_each(|p| durable.write(p.at, p.value));
        }
        self.lines.retain(|_, line| !line.pending.is_empty());
    }

    fn fence(&mut self, by: u32) {
        if self.model.domain == Domain::Eadr {
            return self.drain(self.buffered.len(), by);
        }
        let durable = &mut self.durable;
        self.lines.retain(|_, line| {
            line.settle(by).iter().for_each(|p| durable.write(p.at, p.value));
            !line.pending.is_empty()
        });
    }

    /// eADR: another thread saw the last store to `at`, so that store has left its buffer, and with
    /// it all earlier ones of its thread.
    fn drain_up_to(&mut self, at: u64) {
        if let Some(last) = self.buffered.iter().rposition(|p| p.at == at) {
            self.drain(last + 1, self.buffered[last].by);
        }
    }

    /// eADR: the stores of one thread among the first `count` reach the caches.
    fn drain(&mut self, count: usize, by: u32) {
        let rest = self.buffered.split_off(count);
        for pending in std::mem::take(&mut self.buffered) {
            if pending.by == by {
                self.durable.write(pending.at, pending.value);
            } else {
                self.buffered.push(pending);
            }
        }
        self.buffered.extend(rest);
    }

    /// eADR: of each thread's buffered stores the last few may be lost.
    fn suffixes_lost(&self) -> Vec<Aftermath> {
        let mut threads: Vec<u32> = self.buffered.iter().map(|p| p.by).collect();
        threads.sort_unstable();
        threads.dedup();
        let mut kept: Vec<Vec<(u32, usize)>> = vec![Vec::new()];
        for by in threads {
            let count = self.buffered.iter().filter(|p| p.by == by).count();
            let longer = |few: Vec<(u32, usize)>| {
                (0..=count).map(move |n| few.iter().copied().chain([(by, n)]).collect())
            };
            kept = kept.into_iter().flat_map(longer).collect();
        }
        let mut all: Vec<Aftermath> =
            kept.into_iter().map(|kept| self.with_buffers(kept)).collect();
        if self.model.in_line == InLine::ReleaseOnly {
            (0..self.buffered.len()).for_each(|i| all.extend(self.overtaking(i)));
        }
        all
    }

    /// eADR without an order between stores: number `i`, if it is relaxed, has left the buffer before all
    /// earlier ones, or before the last one of them.
    fn overtaking(&self, i: usize) -> Vec<Aftermath> {
        let early = self.buffered[i];
        let is_own = |p: &&Pending| p.by == early.by;
        let before: Vec<&Pending> = self.buffered[..i].iter().filter(is_own).collect();
        // Stores to one word stay in their order.
        let least = before.iter().rposition(|p| p.at == early.at).map_or(0, |last| last + 1);
        if early.release || least >= before.len() {
            return Vec::new();
        }
        let with = |count: usize| {
            let mut aftermath = self.with_buffers(vec![(early.by, count)]);
            aftermath.write(early.at, early.value);
            aftermath
        };
        [least, before.len() - 1].map(with).into_iter().collect()
    }

    fn with_buffers(&self, mut kept: Vec<(u32, usize)>) -> Aftermath {
        let mut aftermath = self.durable.clone();
        aftermath.drained.clone_from(&kept);
        for pending in &self.buffered {
            if let Some(left) = kept.iter_mut().find(|k| k.0 == pending.by && k.1 > 0) {
                left.1 -= 1;
                aftermath.write(pending.at, pending.value);
            }
        }
        aftermath
    }

    /// Nothing of what was behind byte `len`, a multiple of 64, is left.
    fn cut(&mut self, len: u64) {
        self.durable.image.cut(len);
        self.durable.open.retain(|&line, _| line < len / 64);
        self.lines.retain(|&line, _| line < len / 64);
        self.buffered.retain(|p| p.at < len);
    }

    /// A chunk that was handed out holds nothing that anyone may rely on.
    fn overwrite(&mut self, at: u64, bytes: u64, poison: u64) {
        for word in (at..at + bytes).step_by(8) {
            self.durable.write(word, poison);
        }
        let inside = |p: &Pending| (at..at + bytes).contains(&p.at);
        let lines = at / 64..(at + bytes).div_ceil(64);
        for (_, line) in self.lines.range_mut(lines) {
            line.forget(inside);
        }
        self.lines.retain(|_, line| !line.pending.is_empty());
        self.buffered.retain(|p| !inside(p));
    }
}

/// Of contents of a line that differ only in words which mean nothing after a crash, the oldest and
/// the newest.
fn fold(line: u64, contents: &[Content], is_volatile: IsVolatile<'_>) -> Vec<Content> {
    let meanings: Vec<[u64; 8]> =
        contents.iter().map(|content| meaning(line, content, is_volatile)).collect();
    let is_end = |i: &usize| {
        !meanings[..*i].contains(&meanings[*i]) || !meanings[*i + 1..].contains(&meanings[*i])
    };
    (0..contents.len()).filter(is_end).map(|i| contents[i]).collect()
}
