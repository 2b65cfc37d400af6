//! The steps of a commit.

use super::specification::{KEYS, Op, THREADS};
use super::state::{At, Flight, Slot, State, Thread};
use super::steps::Stepped;
use super::{Rule, Scenario};

impl Scenario {
    /// A commit, or a transaction, which reads first.
    pub(super) fn commit(&self, mut s: State, me: usize, op: Op) -> Stepped {
        if s.threads[me].at == At::Start {
            s.begin(me, op);
            s.threads[me].at = At::Reads;
        }
        let is_read = |s: &State| s.threads[me].read.len() == 2;
        match (s.threads[me].at, op.reads()) {
            (
                At::Reads | At::ReadsMark | At::ReadsFlight(_) | At::ReadsIntent(_) | At::ReadsTree,
                Some(keys),
            ) if !is_read(&s) => {
                let key = keys[s.threads[me].read.len()];
                if let Some(value) = self.look(&mut s, me, key) {
                    s.threads[me].read.push(value);
                    s.threads[me].at = At::Reads;
                }
                Ok(Some(s))
            }
            (At::Reads, reads) => {
                let own = &mut s.threads[me];
                let read = [0, 1].map(|i| own.read.get(i).copied().unwrap_or(0));
                (own.plan, own.told) = op.outcome(read);
                let is_early = reads.is_some() && !self.has(Rule::ComparesUnderMarks);
                own.at = if is_early { At::ComparesEarly(0) } else { At::Mode };
                Ok(Some(s))
            }
            _ => self.commit_planned(s, me, op),
        }
    }

    fn commit_planned(&self, mut s: State, me: usize, op: Op) -> Stepped {
        let at = match s.threads[me].at {
            At::ComparesEarly(i) => match self.compares(&s, me, op, i) {
                false => {
                    s.threads[me] = Thread { at: At::Reads, ..Thread::new(s.threads[me].ops) };
                    return Ok(Some(s));
                }
                true if i == 0 => At::ComparesEarly(1),
                true => At::Mode,
            },
            At::Mode | At::Barrier | At::Entry(_) => return Ok(self.enter(s, me)),
            At::Takes => {
                s.flights[me] = (Flight::Locked, s.threads[me].plan, self.marked_reads(op));
                At::Marks(0)
            }
            At::Marks(i) if i < KEYS => match self.mark(&mut s, me, i) {
                true => At::Marks(i + 1),
                false => return Ok(None),
            },
            At::Marks(_) => At::Claims(0),
            At::Claims(thread) if thread < THREADS && self.has(Rule::WaitsForClaims) => {
                match self.is_claim_over(&mut s, me, thread) {
                    Some(true) => At::Claims(thread + 1),
                    Some(false) => At::Claims(thread),
                    None => return Ok(None),
                }
            }
            At::Claims(_) => match op {
                Op::Full(_) => At::Unmarks,
                _ if op.reads().is_some()
                    && self.has(Rule::Compares)
                    && self.has(Rule::ComparesUnderMarks) =>
                {
                    At::Compares(0)
                }
                _ => Self::behind_comparison(&s.threads[me]),
            },
            At::Compares(i) => self.compare(&mut s, me, op, i),
            _ => return self.apply(s, me),
        };
        s.threads[me].at = at;
        Ok(Some(s))
    }

    /// B2.
    fn enter(&self, mut s: State, me: usize) -> Option<State> {
        s.threads[me].at = match s.threads[me].at {
            At::Mode => {
                if s.enters {
                    return None;
                }
                s.users += 1;
                let was_on = std::mem::replace(&mut s.is_on, true);
                s.enters = !was_on;
                if was_on { At::Takes } else { At::Barrier }
            }
            At::Barrier => {
                if self.has(Rule::EntryBarrier) {
                    (0..THREADS).for_each(|thread| s.drain(thread));
                }
                At::Entry(0)
            }
            At::Entry(thread) if thread < THREADS && self.has(Rule::EntryWaits) => {
                if thread != me && s.slots[thread] == Slot::Careless {
                    return None;
                }
                At::Entry(thread + 1)
            }
            _ => {
                s.enters = false;
                At::Takes
            }
        };
        Some(s)
    }

    /// B6.
    fn compare(&self, s: &mut State, me: usize, op: Op, i: usize) -> At {
        let is_same = self.compares(s, me, op, i);
        if let Some(keys) = op.reads() {
            s.tree[keys[i]].flush();
        }
        match (is_same, i) {
            (false, _) => {
                s.threads[me].again = true;
                At::Unmarks
            }
            (true, 0) => At::Compares(1),
            (true, _) => Self::behind_comparison(&s.threads[me]),
        }
    }

    fn behind_comparison(own: &Thread) -> At {
        if own.plan.iter().all(Option::is_none) { At::Unmarks } else { At::Intent }
    }

    /// Whether a key of a transaction has the value that was read.
    fn compares(&self, s: &State, me: usize, op: Op, i: usize) -> bool {
        op.reads().is_none_or(|keys| s.tree[keys[i]].get() == s.threads[me].read[i])
    }

    /// The keys that a transaction reads, if they are marked.
    fn marked_reads(&self, op: Op) -> [bool; KEYS] {
        let mut reads = [false; KEYS];
        let keys = op.reads().filter(|_| self.has(Rule::MarksReads));
        keys.into_iter().flatten().for_each(|key| reads[key] = true);
        reads
    }

    fn wants(&self, s: &State, me: usize, stripe: usize) -> bool {
        (0..KEYS).any(|key| self.stripe(key) == stripe && Self::has_key(s, me, key))
    }

    /// Marks the next stripe; `false`: another flight has it.
    fn mark(&self, s: &mut State, me: usize, i: usize) -> bool {
        let is_down = !self.has(Rule::MarksAscend) && me % 2 == 1;
        let stripe = if is_down { KEYS - 1 - i } else { i };
        if self.wants(s, me, stripe) {
            if s.marks[stripe].is_some() {
                return false;
            }
            s.marks[stripe] = Some(me);
        }
        true
    }

    /// Whether a thread has no claim on the stripes that may not have seen the marks; `None`: it still has.
    fn is_claim_over(&self, s: &mut State, me: usize, thread: usize) -> Option<bool> {
        let known = s.threads[me].claim;
        match s.slots[thread] {
            Slot::Claimed { stripe, number } if thread != me && self.wants(s, me, stripe) => {
                match known {
                    None => {
                        s.threads[me].claim = Some(number);
                        Some(false)
                    }
                    Some(known) if known == number => None,
                    Some(_) => {
                        s.threads[me].claim = None;
                        Some(true)
                    }
                }
            }
            _ => {
                s.threads[me].claim = None;
                Some(true)
            }
        }
    }

    /// B1 and B7 to B8.
    fn apply(&self, mut s: State, me: usize) -> Stepped {
        let plan = s.threads[me].plan;
        let (is_word_first, is_commit_late) =
            (self.has(Rule::WordBeforeApplied), self.has(Rule::WordBeforeCommitted));
        let at = match s.threads[me].at {
            At::Intent => {
                s.intent[me].set(Some(plan));
                if self.has(Rule::IntentFirst) { At::IntentFlushed } else { At::Word }
            }
            At::IntentFlushed => {
                s.intent[me].flush();
                match (is_word_first, is_commit_late) {
                    (false, _) => At::Applies(0),
                    (true, false) => At::Commits,
                    (true, true) => At::Word,
                }
            }
            At::Word => {
                s.word[me].set(true);
                At::WordFlushed
            }
            At::WordFlushed => {
                s.word[me].flush();
                match (is_word_first, is_commit_late) {
                    (false, _) => At::Clears,
                    (true, false) => At::Applies(0),
                    (true, true) => At::Commits,
                }
            }
            At::Commits => {
                s.flights[me].0 = Flight::Committed;
                if is_commit_late { At::Applies(0) } else { At::Word }
            }
            _ => return self.finish(s, me),
        };
        s.threads[me].at = at;
        Ok(Some(s))
    }

    /// B9 to B12.
    fn finish(&self, mut s: State, me: usize) -> Stepped {
        let plan = s.threads[me].plan;
        let is_word_first = self.has(Rule::WordBeforeApplied);
        let at = match s.threads[me].at {
            At::Applies(key) if key == KEYS => {
                match (is_word_first, self.has(Rule::ClearedBeforeUnmarked)) {
                    (false, _) => At::Word,
                    (true, true) => At::Clears,
                    (true, false) => At::Unmarks,
                }
            }
            At::Applies(key) => {
                if let Some(value) = plan[key] {
                    s.tree[key].set(value);
                }
                At::Applied(key)
            }
            At::Applied(key) => {
                if self.has(Rule::AppliedDurable) && plan[key].is_some() {
                    s.tree[key].flush();
                }
                At::Applies(key + 1)
            }
            At::Clears => {
                s.word[me].set(false);
                At::Cleared
            }
            At::Cleared => {
                if self.has(Rule::ClearedDurable) {
                    s.word[me].flush();
                }
                At::Unmarks
            }
            At::Unmarks => {
                s.marks.iter_mut().filter(|mark| **mark == Some(me)).for_each(|mark| *mark = None);
                let is_set = s.word[me].get();
                if is_set { At::Clears } else { At::Ends }
            }
            _ => return self.end(s, me),
        };
        s.threads[me].at = at;
        Ok(Some(s))
    }

    fn end(&self, mut s: State, me: usize) -> Stepped {
        s.flights[me] = (Flight::Free, [None; KEYS], [false; KEYS]);
        s.users -= 1;
        if s.threads[me].again {
            s.threads[me] = Thread { at: At::Reads, ..Thread::new(s.threads[me].ops) };
            return Ok(Some(s));
        }
        s.forget_intent(me);
        let told = s.threads[me].told;
        s.end(me, told)?;
        Ok(Some(s))
    }
}
