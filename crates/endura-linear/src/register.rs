//! One register.

use crate::history::{Asked, CallOf};

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

/// One call of one thread on one register.
pub type Call = CallOf<Op>;

impl Asked for Op {
    type Answer = Answer;
    type State = Option<u64>;

    fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::Contains)
    }

    fn apply(self, &now: &Option<u64>) -> (Option<u64>, Answer) {
        match self {
            Self::Read => (now, Answer::Value(now)),
            Self::Contains => (now, Answer::Truth(now.is_some())),
            Self::Set(value) => (value, Answer::Value(now)),
            Self::SetNew(value) => (now.or(Some(value)), Answer::Truth(now.is_none())),
            Self::Replace(value) => (now.map(|_| value), Answer::Value(now)),
            Self::Exchange { expected, new } if expected == now => (new, Answer::Exchanged(Ok(()))),
            Self::Exchange { .. } => (now, Answer::Exchanged(Err(now))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::history::{NEVER, after_crash, check};

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
