//! The steps of writers and readers of one key.

use super::specification::Op;
use super::state::{At, Flight, Slot, State};
use super::{Rule, Scenario};

/// What a step of a thread made; `None`: it waits.
pub(super) type Stepped = Result<Option<State>, String>;

impl Scenario {
    pub(super) fn act(&self, state: &State, me: usize) -> Result<Vec<State>, String> {
        let ops = state.threads[me].ops;
        let Some(&op) = self.programs[me].get(ops) else { return Ok(Vec::new()) };
        let next = state.clone();
        let stepped = match op {
            Op::Put(key, value) => self.write(next, me, key, value),
            Op::Get(key) => self.get(next, me, key),
            _ => self.commit(next, me, op),
        };
        Ok(stepped?.into_iter().collect())
    }

    /// The mode ends.
    pub(super) fn leave(&self, state: &State) -> Option<State> {
        let is_idle = state.users == 0 || !self.has(Rule::ModeStays);
        (self.leaves && state.is_on && is_idle).then(|| State { is_on: false, ..state.clone() })
    }

    /// Whether a flight has a key: changes it, or reads it.
    pub(super) fn has_key(state: &State, flight: usize, key: usize) -> bool {
        let (is, plan, reads) = &state.flights[flight];
        *is != Flight::Free && (plan[key].is_some() || reads[key])
    }

    fn write(&self, mut s: State, me: usize, key: usize, value: u8) -> Stepped {
        let stripe = self.stripe(key);
        let at = match s.threads[me].at {
            At::Start | At::Pinned => {
                if s.threads[me].at == At::Start {
                    s.begin(me, Op::Put(key, value));
                }
                s.buffers[me].push(Slot::Careless);
                At::Gate
            }
            At::Gate if s.is_on && self.has(Rule::Claims) => At::Claimed,
            At::Gate => At::Stores,
            At::Claimed => {
                s.claims[me] += 1;
                let claim = Slot::Claimed { stripe, number: s.claims[me] };
                s.buffers[me].push(claim);
                if self.has(Rule::ClaimFence) {
                    s.drain(me);
                }
                At::Mark
            }
            At::Mark => s.marks[stripe].map_or(At::Stores, At::Looks),
            At::Looks(flight) if !Self::has_key(&s, flight, key) => At::Stores,
            At::Looks(flight) => {
                if self.has(Rule::ClaimEndsAtWait) {
                    s.drain(me);
                    s.slots[me] = Slot::Outside;
                }
                At::Waits(flight)
            }
            At::Waits(flight) => {
                let is_under_way = s.marks[stripe] == Some(flight);
                if is_under_way && s.flights[flight].0 != Flight::Free {
                    return Ok(None);
                }
                if self.has(Rule::ClaimEndsAtWait) { At::Pinned } else { At::Stores }
            }
            At::Stores => {
                s.drain(me);
                s.tree[key].set(value);
                At::Stored
            }
            _ => {
                s.tree[key].flush();
                s.slots[me] = Slot::Outside;
                s.end(me, 0)?;
                return Ok(Some(s));
            }
        };
        s.threads[me].at = at;
        Ok(Some(s))
    }

    /// A step of a look at a key; the value, once it is known.
    pub(super) fn look(&self, s: &mut State, me: usize, key: usize) -> Option<u8> {
        let at = match s.threads[me].at {
            At::Reads if s.is_on && self.has(Rule::ReadersLook) => At::ReadsMark,
            At::Reads => At::ReadsTree,
            At::ReadsMark => s.marks[self.stripe(key)].map_or(At::ReadsTree, At::ReadsFlight),
            At::ReadsFlight(flight) => {
                let (is, plan, _) = s.flights[flight];
                let is_committed = is == Flight::Committed
                    || is == Flight::Locked && !self.has(Rule::OnlyCommitted);
                match plan[key].filter(|_| is_committed) {
                    Some(value) if self.has(Rule::OneLoad) => return Some(value),
                    Some(_) => At::ReadsIntent(flight),
                    None => At::ReadsTree,
                }
            }
            At::ReadsIntent(flight) => return Some(s.flights[flight].1[key].unwrap_or(0)),
            _ => {
                // A reader helps to make durable what it returns.
                s.tree[key].flush();
                return Some(s.tree[key].get());
            }
        };
        s.threads[me].at = at;
        None
    }

    fn get(&self, mut s: State, me: usize, key: usize) -> Stepped {
        if s.threads[me].at == At::Start {
            s.begin(me, Op::Get(key));
            s.threads[me].at = At::Reads;
        }
        if let Some(value) = self.look(&mut s, me, key) {
            s.end(me, value)?;
        }
        Ok(Some(s))
    }
}
