//! Is a recorded history of one key linearizable?
//!
//! Keys are independent registers, and linearizability is local: a history of a map is
//! linearizable if that of each key is. The checker follows the events of one key in the order of
//! time and keeps every state in which the key can be: its value, and which of the operations in
//! flight have taken effect already (Wing and Gong's search, pruned at each return as in Lowe's
//! just-in-time linearization). Its cost grows with the threads, not with the length.

use std::collections::HashSet;
use std::sync::atomic::{Ordering, fence};
use std::time::Instant;

/// What one operation did to one key, as its caller saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Did {
    /// Read the key (`get`, `contains_key` and scans as far as they know the value).
    Saw(Option<u64>),
    /// Learnt only whether the key is there.
    SawPresence(bool),
    /// `insert(value)` gave the old value.
    Inserted { value: u64, old: Option<u64> },
    /// `insert_new(value)`, and whether it inserted.
    InsertedNew { value: u64, inserted: bool },
    /// `update(value)` gave the old value, or did nothing.
    Updated { value: u64, old: Option<u64> },
    /// `remove` gave the old value.
    Removed { old: Option<u64> },
    /// `compare_exchange(expected, new)`, and what it answered.
    Exchanged { expected: Option<u64>, new: Option<u64>, answer: Result<(), Option<u64>> },
    /// `fetch_update` found `old` and left `new`.
    Replaced { old: Option<u64>, new: Option<u64> },
}

impl Did {
    /// The value after the operation if it is possible on a key that holds `now`.
    fn apply(self, now: Option<u64>) -> Option<Option<u64>> {
        match self {
            Self::Saw(seen) => (seen == now).then_some(now),
            Self::SawPresence(present) => (present == now.is_some()).then_some(now),
            Self::Inserted { value, old } => (old == now).then_some(Some(value)),
            Self::InsertedNew { value, inserted: true } => now.is_none().then_some(Some(value)),
            Self::InsertedNew { inserted: false, .. } => now.is_some().then_some(now),
            Self::Updated { value, old: Some(old) } => (now == Some(old)).then_some(Some(value)),
            Self::Updated { old: None, .. } => now.is_none().then_some(now),
            Self::Removed { old } => (old == now).then_some(None),
            Self::Exchanged { expected, new, answer: Ok(()) } => (expected == now).then_some(new),
            Self::Exchanged { expected, answer: Err(found), .. } => {
                (found == now && expected != now).then_some(now)
            }
            Self::Replaced { old, new } => (old == now).then_some(new),
        }
    }
}

/// One operation of one thread on one key. A thread has one operation in flight at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) thread: u8,
    /// Nanoseconds from a common start to just before the call.
    pub(crate) called: u64,
    /// And to just after its return.
    pub(crate) returned: u64,
    pub(crate) did: Did,
}

/// A clock that orders the operations of all threads.
#[derive(Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// The time now. The fences keep the operation's own loads and stores on their side of it:
    /// without them a store could still wait in the store buffer after the return was noted.
    pub(crate) fn now(self) -> u64 {
        fence(Ordering::SeqCst);
        let now = self.0.elapsed().as_nanos() as u64;
        fence(Ordering::SeqCst);
        now
    }
}

/// Checks the history of one key that held `before` at its start; gives the values that it can
/// hold at the end, or the events up to the first return that cannot be explained.
pub(crate) fn check(
    before: Option<u64>,
    history: &[Event],
) -> Result<HashSet<Option<u64>>, String> {
    let mut states = HashSet::from([State { value: before, done: 0 }]);
    let mut in_flight: [Option<Did>; 64] = [None; 64];
    for (_, returns, i) in in_order_of_time(history) {
        let event = &history[i];
        let thread = usize::from(event.thread);
        if !returns {
            in_flight[thread] = Some(event.did);
            continue;
        }
        states = explain_return(&states, &in_flight, thread);
        in_flight[thread] = None;
        if states.is_empty() {
            return Err(story(before, history, i));
        }
    }
    Ok(states.into_iter().map(|state| state.value).collect())
}

/// Calls before returns where the times are equal: the operations may then have overlapped.
fn in_order_of_time(history: &[Event]) -> Vec<(u64, bool, usize)> {
    let ends = |(i, event): (usize, &Event)| {
        assert!(event.called <= event.returned && event.thread < 64);
        [(event.called, false, i), (event.returned, true, i)]
    };
    let mut order: Vec<_> = history.iter().enumerate().flat_map(ends).collect();
    order.sort_unstable();
    order
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    value: Option<u64>,
    /// Threads whose operation in flight has taken effect.
    done: u64,
}

/// Every state in which `thread`'s operation has taken effect, and no longer counts as in flight.
fn explain_return(
    states: &HashSet<State>,
    in_flight: &[Option<Did>; 64],
    thread: usize,
) -> HashSet<State> {
    let mut open: Vec<State> = states.iter().copied().collect();
    let mut met: HashSet<State> = states.clone();
    let mut explained = HashSet::new();
    while let Some(state) = open.pop() {
        if state.done >> thread & 1 == 1 {
            explained.insert(State { done: state.done & !(1 << thread), ..state });
            continue;
        }
        for (other, did) in in_flight.iter().enumerate() {
            let Some(did) = did.filter(|_| state.done >> other & 1 == 0) else { continue };
            let Some(value) = did.apply(state.value) else { continue };
            let next = State { value, done: state.done | 1 << other };
            if met.insert(next) {
                open.push(next);
            }
        }
    }
    explained
}

fn story(before: Option<u64>, history: &[Event], culprit: usize) -> String {
    let end = history[culprit].returned;
    let mut lines: Vec<&Event> = history.iter().filter(|event| event.called <= end).collect();
    lines.sort_unstable_by_key(|event| event.called);
    let shown = lines.len().saturating_sub(30);
    let tell =
        |e: &&Event| format!("  [{:>12} {:>12}] T{} {:?}", e.called, e.returned, e.thread, e.did);
    let told: Vec<String> = lines[shown..].iter().map(tell).collect();
    format!(
        "no order of the operations explains what T{} saw at {end}; the key held {before:?} at \
         first, then (last {} of {} operations):\n{}",
        history[culprit].thread,
        told.len(),
        lines.len(),
        told.join("\n")
    )
}

mod tests {
    use super::*;

    fn at(thread: u8, called: u64, returned: u64, did: Did) -> Event {
        Event { thread, called, returned, did }
    }

    fn insert(value: u64, old: Option<u64>) -> Did {
        Did::Inserted { value, old }
    }

    #[test]
    fn good_histories_are_accepted_with_every_value_they_can_end_in() {
        let one_after_the_other = [
            at(0, 0, 1, insert(1, None)),
            at(1, 2, 3, Did::Saw(Some(1))),
            at(0, 4, 5, Did::Updated { value: 2, old: Some(1) }),
            at(1, 6, 7, Did::Exchanged { expected: Some(2), new: None, answer: Ok(()) }),
            at(1, 8, 9, Did::InsertedNew { value: 5, inserted: true }),
            at(0, 8, 9, Did::Removed { old: Some(5) }),
        ];
        assert_eq!(check(None, &one_after_the_other), Ok(HashSet::from([None])));

        // Two blind writers at once: either may be the last, as nobody looked.
        let blind =
            |value, thread| at(thread, 0, 9, Did::Replaced { old: Some(7), new: Some(value) });
        assert!(check(Some(7), &[blind(1, 0), blind(2, 1)]).is_err());
        let overwritten = [at(0, 0, 9, insert(1, Some(7))), at(1, 0, 9, insert(2, Some(1)))];
        assert_eq!(check(Some(7), &overwritten), Ok(HashSet::from([Some(2)])));
        let either = [at(0, 0, 9, Did::Removed { old: None }), at(1, 0, 9, insert(2, None))];
        assert_eq!(check(None, &either), Ok(HashSet::from([Some(2)])));
    }

    #[test]
    fn a_reader_may_see_an_operation_that_is_still_in_flight() {
        let history = [
            at(0, 0, 100, insert(1, None)),
            at(1, 10, 20, Did::Saw(Some(1))),
            at(2, 30, 40, Did::SawPresence(true)),
        ];
        assert!(check(None, &history).is_ok());
        let then_gone = [history[0], history[1], at(2, 30, 40, Did::Saw(None))];
        assert!(check(None, &then_gone).is_err(), "a value once seen must not vanish");
    }

    #[test]
    fn bad_histories_are_rejected() {
        let lost_update = [
            at(0, 0, 10, Did::Exchanged { expected: Some(1), new: Some(2), answer: Ok(()) }),
            at(1, 0, 10, Did::Exchanged { expected: Some(1), new: Some(3), answer: Ok(()) }),
        ];
        assert!(check(Some(1), &lost_update).is_err());
        let stale_read = [at(0, 0, 1, insert(2, Some(1))), at(1, 2, 3, Did::Saw(Some(1)))];
        assert!(check(Some(1), &stale_read).is_err());
        let double_insert = [
            at(0, 0, 10, Did::InsertedNew { value: 1, inserted: true }),
            at(1, 0, 10, Did::InsertedNew { value: 2, inserted: true }),
        ];
        assert!(check(None, &double_insert).is_err());
        let removed_twice = [
            at(0, 0, 10, Did::Removed { old: Some(1) }),
            at(1, 5, 15, Did::Removed { old: Some(1) }),
        ];
        assert!(check(Some(1), &removed_twice).is_err());
        let refused_for_no_reason =
            [at(0, 0, 1, Did::Exchanged { expected: Some(1), new: None, answer: Err(Some(1)) })];
        assert!(check(Some(1), &refused_for_no_reason).is_err());
        let seen_too_early = [at(0, 0, 1, Did::Saw(Some(1))), at(1, 2, 3, insert(1, None))];
        assert!(check(None, &seen_too_early).is_err());
    }

    #[test]
    fn a_long_history_with_one_wrong_read_is_rejected_quickly() {
        let mut history: Vec<Event> = (0..100_000)
            .map(|i| at((i % 8) as u8, 10 * i, 10 * i + 75, Did::Saw(Some(1))))
            .collect();
        assert!(check(Some(1), &history).is_ok());
        history[90_000].did = Did::Saw(Some(2));
        let story = check(Some(1), &history).unwrap_err();
        assert!(story.contains("T0 Saw(Some(2))"), "{story}");
    }
}
