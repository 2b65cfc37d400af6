//! The search for an order of calls.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

/// What is asked of an object, and what happens to it then.
pub trait Asked: Copy + Debug {
    /// What is told.
    type Answer: Copy + Eq + Debug;
    /// What the object is.
    type State: Clone + Ord + Hash + Debug;

    /// Whether it changes nothing.
    fn is_read(self) -> bool;

    /// The state after the operation on an object in the state `now`, and what it tells then.
    fn apply(self, now: &Self::State) -> (Self::State, Self::Answer);
}

/// One call of one thread on one object. A thread has one call in flight at a time, but for those
/// that never return.
#[derive(Debug)]
pub struct CallOf<O: Asked> {
    /// Whose, below [`THREADS`].
    pub thread: u32,
    /// A moment before which it had not begun.
    pub called: u64,
    /// A moment after which it had returned; [`NEVER`] if it did not.
    pub returned: u64,
    /// What was asked.
    pub op: O,
    /// What was told.
    pub answer: Option<O::Answer>,
}

impl<O: Asked> Clone for CallOf<O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O: Asked> Copy for CallOf<O> {}

/// When a call returns that does not.
pub const NEVER: u64 = u64::MAX;

/// Threads that a history may have.
pub const THREADS: usize = 64;

#[derive(Clone, PartialEq, Eq, Hash)]
struct State<S> {
    value: S,
    /// Threads whose call in flight has taken effect.
    done: u64,
}

type InFlight<O> = [Option<(O, Option<<O as Asked>::Answer>)>; THREADS];

/// Checks the calls of one object whose state was `before` at first; gives the states that it may be in
/// at the end, calls that never returned counting or not.
///
/// # Errors
///
/// The story up to the first return that no order explains.
pub fn check<O: Asked>(
    before: O::State,
    calls: &[CallOf<O>],
) -> Result<BTreeSet<O::State>, String> {
    let mut states = HashSet::from([State { value: before.clone(), done: 0 }]);
    let mut in_flight: InFlight<O> = [None; THREADS];
    for (_, returns, i) in in_order_of_time(calls) {
        let call = &calls[i];
        let thread = call.thread as usize;
        if !returns {
            in_flight[thread] = Some((call.op, call.answer));
            continue;
        }
        states = explain_return(states, &in_flight, thread);
        in_flight[thread] = None;
        if states.is_empty() {
            return Err(story(&before, calls, i));
        }
    }
    Ok(reachable(states, &in_flight, None).into_iter().map(|state| state.value).collect())
}

/// The states that the object may be in after a crash at `moment`, before which (and not at which)
/// things happened.
///
/// # Errors
///
/// As for [`check`].
pub fn after_crash<O: Asked>(
    before: O::State,
    calls: &[CallOf<O>],
    moment: u64,
) -> Result<BTreeSet<O::State>, String> {
    let cut = |call: &CallOf<O>| match call.returned < moment {
        true => *call,
        false => CallOf { returned: NEVER, answer: None, ..*call },
    };
    let calls: Vec<CallOf<O>> = calls.iter().filter(|call| call.called < moment).map(cut).collect();
    check(before, &calls)
}

/// Calls before returns where the times are equal: the calls may then have overlapped.
fn in_order_of_time<O: Asked>(calls: &[CallOf<O>]) -> Vec<(u64, bool, usize)> {
    let mut order = Vec::with_capacity(2 * calls.len());
    for (i, call) in calls.iter().enumerate() {
        debug_assert!(call.called <= call.returned && (call.thread as usize) < THREADS);
        order.push((call.called, false, i));
        if call.returned != NEVER {
            order.push((call.returned, true, i));
        }
    }
    order.sort_unstable();
    order
}

/// All states that calls in flight can lead to; those in which the call of thread `last` has taken
/// effect are not followed further.
fn reachable<O: Asked>(
    states: HashSet<State<O::State>>,
    in_flight: &InFlight<O>,
    last: Option<usize>,
) -> HashSet<State<O::State>> {
    let has = |state: &State<O::State>, thread: usize| state.done >> thread & 1 == 1;
    let mut open: Vec<_> = states.iter().cloned().collect();
    let mut met = states;
    while let Some(state) = open.pop() {
        if last.is_some_and(|last| has(&state, last)) {
            continue;
        }
        for (thread, call) in in_flight.iter().enumerate() {
            let Some((op, answer)) = call.filter(|_| !has(&state, thread)) else { continue };
            let (value, told) = op.apply(&state.value);
            // `None`: nobody was told.
            if answer.is_some_and(|answer| answer != told) {
                continue;
            }
            let next = State { value, done: state.done | 1 << thread };
            if met.insert(next.clone()) {
                open.push(next);
            }
            if op.is_read() {
                // It loses nothing by coming now, and nobody else by its coming.
                break;
            }
        }
    }
    met
}

/// Every state in which `thread`'s call has taken effect, and no longer counts as in flight.
fn explain_return<O: Asked>(
    states: HashSet<State<O::State>>,
    in_flight: &InFlight<O>,
    thread: usize,
) -> HashSet<State<O::State>> {
    let explained = reachable(states, in_flight, Some(thread)).into_iter();
    explained
        .filter(|state| state.done >> thread & 1 == 1)
        .map(|state| State { done: state.done & !(1 << thread), ..state })
        .collect()
}

fn story<O: Asked>(before: &O::State, calls: &[CallOf<O>], culprit: usize) -> String {
    let end = calls[culprit].returned;
    let mut told: Vec<&CallOf<O>> = calls.iter().filter(|call| call.called <= end).collect();
    told.sort_unstable_by_key(|call| call.called);
    let (all, first) = (told.len(), told.len().saturating_sub(30));
    let line = |call: &&CallOf<O>| {
        let CallOf { thread, called, returned, op, answer } = call;
        format!("  [{called:>12} {returned:>12}] T{thread} {op:?} -> {answer:?}")
    };
    let lines: Vec<String> = told[first..].iter().map(line).collect();
    format!(
        "no order of the calls explains what T{} was told at {end}; it was {before:?} at \
         first, then (last {} of {all}):\n{}",
        calls[culprit].thread,
        lines.len(),
        lines.join("\n")
    )
}
