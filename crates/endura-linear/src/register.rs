//! One register, and what can have happened to it.

use std::collections::{BTreeSet, HashSet};

/// What is asked of one register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Its value.
    Read,
    /// Whether it has one.
    Contains,
    /// To have a value, or none, from now on.
    Set(Option<u64>),
    /// To have this value if it has none.
    SetNew(u64),
    /// To have this value if it has one.
    Replace(u64),
    /// To have `new` if it is as expected.
    Exchange {
        /// What it should be.
        expected: Option<u64>,
        /// What it becomes.
        new: Option<u64>,
    },
}

/// What a call returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The value before (of a read: the value).
    Value(Option<u64>),
    /// Whether the register has a value (`Contains`), or was given one (`SetNew`).
    Truth(bool),
    /// Whether it was exchanged, or what stood there instead.
    Exchanged(Result<(), Option<u64>>),
}

impl Op {
    fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::Contains)
    }

    /// The value after the operation on a register that holds `now`, if `answer` is what it then
    /// returns (`None`: nobody was told).
    fn apply(self, now: Option<u64>, answer: Option<Answer>) -> Option<Option<u64>> {
        let (after, told) = match self {
            Self::Read => (now, Answer::Value(now)),
            Self::Contains => (now, Answer::Truth(now.is_some())),
            Self::Set(value) => (value, Answer::Value(now)),
            Self::SetNew(value) => (now.or(Some(value)), Answer::Truth(now.is_none())),
            Self::Replace(value) => (now.map(|_| value), Answer::Value(now)),
            Self::Exchange { expected, new } if expected == now => (new, Answer::Exchanged(Ok(()))),
            Self::Exchange { .. } => (now, Answer::Exchanged(Err(now))),
        };
        answer.is_none_or(|answer| answer == told).then_some(after)
    }
}

/// One call of one thread on one register. A thread has one call in flight at a time, but for those
/// that never return.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Whose, below [`THREADS`].
    pub thread: u32,
    /// A moment before which it had not begun.
    pub called: u64,
    /// A moment after which it had returned; [`NEVER`] if it did not.
    pub returned: u64,
    /// What was asked.
    pub op: Op,
    /// What was told.
    pub answer: Option<Answer>,
}

/// When a call returns that does not.
pub const NEVER: u64 = u64::MAX;

/// Threads that a history may have.
pub const THREADS: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    value: Option<u64>,
    /// Threads whose call in flight has taken effect.
    done: u64,
}

type InFlight = [Option<(Op, Option<Answer>)>; THREADS];

/// Checks the calls of one register that held `before` at first; gives the values that it may hold
/// at the end, calls that never returned counting or not.
///
/// # Errors
///
/// The story up to the first return that no order explains.
pub fn check(before: Option<u64>, calls: &[Call]) -> Result<BTreeSet<Option<u64>>, String> {
    let mut states = HashSet::from([State { value: before, done: 0 }]);
    let mut in_flight: InFlight = [None; THREADS];
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
            return Err(story(before, calls, i));
        }
    }
    Ok(reachable(states, &in_flight, None).into_iter().map(|state| state.value).collect())
}

/// The values that the register may hold after a crash at `moment`, before which (and not at which)
/// things happened.
///
/// # Errors
///
/// As for [`check`].
pub fn after_crash(
    before: Option<u64>,
    calls: &[Call],
    moment: u64,
) -> Result<BTreeSet<Option<u64>>, String> {
    let cut = |call: &Call| match call.returned < moment {
        true => *call,
        false => Call { returned: NEVER, answer: None, ..*call },
    };
    let calls: Vec<Call> = calls.iter().filter(|call| call.called < moment).map(cut).collect();
    check(before, &calls)
}

/// Calls before returns where the times are equal: the calls may then have overlapped.
fn in_order_of_time(calls: &[Call]) -> Vec<(u64, bool, usize)> {
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
fn reachable(states: HashSet<State>, in_flight: &InFlight, last: Option<usize>) -> HashSet<State> {
    let has = |state: &State, thread: usize| state.done >> thread & 1 == 1;
    let mut open: Vec<State> = states.iter().copied().collect();
    let mut met = states;
    while let Some(state) = open.pop() {
        if last.is_some_and(|last| has(&state, last)) {
            continue;
        }
        for (thread, call) in in_flight.iter().enumerate() {
            let Some((op, answer)) = call.filter(|_| !has(&state, thread)) else { continue };
            let Some(value) = op.apply(state.value, answer) else { continue };
            let next = State { value, done: state.done | 1 << thread };
            if met.insert(next) {
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
fn explain_return(states: HashSet<State>, in_flight: &InFlight, thread: usize) -> HashSet<State> {
    let explained = reachable(states, in_flight, Some(thread)).into_iter();
    explained
        .filter(|state| state.done >> thread & 1 == 1)
        .map(|state| State { done: state.done & !(1 << thread), ..state })
        .collect()
}

fn story(before: Option<u64>, calls: &[Call], culprit: usize) -> String {
    let end = calls[culprit].returned;
    let mut told: Vec<&Call> = calls.iter().filter(|call| call.called <= end).collect();
    told.sort_unstable_by_key(|call| call.called);
    let (all, first) = (told.len(), told.len().saturating_sub(30));
    let line = |call: &&Call| {
        let Call { thread, called, returned, op, answer } = call;
        format!("  [{called:>12} {returned:>12}] T{thread} {op:?} -> {answer:?}")
    };
    let lines: Vec<String> = told[first..].iter().map(line).collect();
    format!(
        "no order of the calls explains what T{} was told at {end}; the key held {before:?} at \
         first, then (last {} of {all}):\n{}",
        calls[culprit].thread,
        lines.len(),
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    type Did = (Op, Answer);

    fn at(thread: u32, called: u64, returned: u64, (op, answer): Did) -> Call {
        Call { thread, called, returned, op, answer: Some(answer) }
    }

    fn insert(value: u64, old: Option<u64>) -> Did {
        (Op::Set(Some(value)), Answer::Value(old))
    }

    fn insert_new(value: u64, inserted: bool) -> Did {
        (Op::SetNew(value), Answer::Truth(inserted))
    }

    fn removed(old: Option<u64>) -> Did {
        (Op::Set(None), Answer::Value(old))
    }

    fn saw(value: Option<u64>) -> Did {
        (Op::Read, Answer::Value(value))
    }

    fn exchanged(expected: Option<u64>, new: Option<u64>, answer: Result<(), Option<u64>>) -> Did {
        (Op::Exchange { expected, new }, Answer::Exchanged(answer))
    }

    #[test]
    fn good_histories_are_accepted_with_every_value_they_can_end_in() {
        let one_after_the_other = [
            at(0, 0, 1, insert(1, None)),
            at(1, 2, 3, saw(Some(1))),
            at(0, 4, 5, (Op::Replace(2), Answer::Value(Some(1)))),
            at(1, 6, 7, exchanged(Some(2), None, Ok(()))),
            at(1, 8, 9, insert_new(5, true)),
            at(0, 8, 9, removed(Some(5))),
        ];
        assert_eq!(check(None, &one_after_the_other), Ok(BTreeSet::from([None])));

        // Two blind writers at once: either may be the last, as nobody looked.
        let blind = |value, thread| at(thread, 0, 9, insert(value, Some(7)));
        assert!(check(Some(7), &[blind(1, 0), blind(2, 1)]).is_err());
        let overwritten = [at(0, 0, 9, insert(1, Some(7))), at(1, 0, 9, insert(2, Some(1)))];
        assert_eq!(check(Some(7), &overwritten), Ok(BTreeSet::from([Some(2)])));
        let either = [at(0, 0, 9, removed(None)), at(1, 0, 9, insert(2, None))];
        assert_eq!(check(None, &either), Ok(BTreeSet::from([Some(2)])));
    }

    #[test]
    fn a_reader_may_see_an_operation_that_is_still_in_flight() {
        let history = [
            at(0, 0, 100, insert(1, None)),
            at(1, 10, 20, saw(Some(1))),
            at(2, 30, 40, (Op::Contains, Answer::Truth(true))),
        ];
        assert!(check(None, &history).is_ok());
        let then_gone = [history[0], history[1], at(2, 30, 40, saw(None))];
        assert!(check(None, &then_gone).is_err(), "a value once seen must not vanish");
    }

    #[test]
    fn bad_histories_are_rejected() {
        let lost_update = [
            at(0, 0, 10, exchanged(Some(1), Some(2), Ok(()))),
            at(1, 0, 10, exchanged(Some(1), Some(3), Ok(()))),
        ];
        assert!(check(Some(1), &lost_update).is_err());
        let stale_read = [at(0, 0, 1, insert(2, Some(1))), at(1, 2, 3, saw(Some(1)))];
        assert!(check(Some(1), &stale_read).is_err());
        let double_insert = [at(0, 0, 10, insert_new(1, true)), at(1, 0, 10, insert_new(2, true))];
        assert!(check(None, &double_insert).is_err());
        let removed_twice = [at(0, 0, 10, removed(Some(1))), at(1, 5, 15, removed(Some(1)))];
        assert!(check(Some(1), &removed_twice).is_err());
        let refused_for_no_reason = [at(0, 0, 1, exchanged(Some(1), None, Err(Some(1))))];
        assert!(check(Some(1), &refused_for_no_reason).is_err());
        let seen_too_early = [at(0, 0, 1, saw(Some(1))), at(1, 2, 3, insert(1, None))];
        assert!(check(None, &seen_too_early).is_err());
    }

    #[test]
    fn a_long_history_with_one_wrong_read_is_rejected_quickly() {
        let mut history: Vec<Call> =
            (0..100_000).map(|i| at((i % 8) as u32, 10 * i, 10 * i + 75, saw(Some(1)))).collect();
        assert!(check(Some(1), &history).is_ok());
        history[90_000].answer = Some(Answer::Value(Some(2)));
        let story = check(Some(1), &history).unwrap_err();
        assert!(story.contains("T0 Read -> Some(Value(Some(2)))"), "{story}");
    }

    fn pending(thread: u32, called: u64, op: Op) -> Call {
        Call { thread, called, returned: NEVER, op, answer: None }
    }

    #[test]
    fn a_crash_keeps_what_was_told_and_any_of_what_was_not() {
        let calls = [at(0, 0, 10, insert(1, None)), at(1, 5, 20, removed(Some(1)))];
        let after = |moment| after_crash(None, &calls, moment).unwrap();
        assert_eq!(after(0), BTreeSet::from([None]), "nothing had begun");
        assert_eq!(after(4), BTreeSet::from([None, Some(1)]));
        assert_eq!(after(10), BTreeSet::from([None, Some(1)]), "returned at the very moment");
        assert_eq!(after(11), BTreeSet::from([None, Some(1)]), "the remove may have come");
        assert_eq!(after(21), BTreeSet::from([None]));
        // Both unanswered, in either order.
        let open = [pending(0, 0, Op::Set(Some(1))), pending(1, 0, Op::Replace(2))];
        let either = BTreeSet::from([None, Some(1), Some(2)]);
        assert_eq!(after_crash(None, &open, 5), Ok(either));
    }

    #[test]
    fn a_crash_does_not_take_back_what_a_reader_was_told() {
        let write = at(0, 0, 100, insert(1, None));
        let read = at(1, 10, 20, saw(Some(1)));
        let after = |moment| after_crash(None, &[write, read], moment).unwrap();
        assert_eq!(after(15), BTreeSet::from([None, Some(1)]));
        assert_eq!(after(21), BTreeSet::from([Some(1)]));
    }
}
