//! Every operation of a map as a value, so that a failing run can be cut down and printed.

use std::ops::Bound;

use proptest::prelude::*;

use super::map::Bounds;

pub(crate) use endura_variants::random::mix as scatter;

/// Which keys a run uses. Operations carry small numbers and the space turns them into keys:
/// shrinking a number then stays in the space.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keys {
    /// 0, 1, 2, ... below the number given.
    Dense(u16),
    /// The ends of the key space, both sides of its middle, and powers of two.
    Edges,
    /// Spread over all 64 bits.
    Spread(u16),
}

/// The keys at which arithmetic on keys goes wrong first.
pub(crate) const EDGES: [u64; 12] = [
    0,
    1,
    2,
    (1 << 63) - 2,
    (1 << 63) - 1,
    1 << 63,
    (1 << 63) + 1,
    1 << 32,
    1 << 62,
    u64::MAX - 2,
    u64::MAX - 1,
    u64::MAX,
];

impl Keys {
    pub(crate) fn key(self, pick: u16) -> u64 {
        match self {
            Self::Dense(n) => u64::from(pick % n),
            Self::Edges => EDGES[usize::from(pick) % EDGES.len()],
            Self::Spread(n) => scatter(u64::from(pick % n)),
        }
    }

    pub(crate) fn any() -> impl Strategy<Value = Self> {
        prop_oneof![
            4 => (1..400u16).prop_map(Self::Dense),
            1 => Just(Self::Edges),
            3 => (1..2000u16).prop_map(Self::Spread),
        ]
    }
}

/// A value: the ones that published versions of the tree could not hold come often.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    Zero,
    Max,
    Same,
    LikeTheKey,
    Number(u16),
}

impl Value {
    pub(crate) fn of(self, key: u64) -> u64 {
        match self {
            Self::Zero => 0,
            Self::Max => u64::MAX,
            Self::Same => 42,
            Self::LikeTheKey => key,
            Self::Number(n) => scatter(u64::from(n)),
        }
    }

    fn any() -> impl Strategy<Value = Self> {
        prop_oneof![
            1 => Just(Self::Zero),
            1 => Just(Self::Max),
            1 => Just(Self::Same),
            1 => Just(Self::LikeTheKey),
            4 => any::<u16>().prop_map(Self::Number),
        ]
    }
}

/// What a conditional operation expects to find.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Guess {
    Absent,
    /// The value that is there, or absence.
    Right,
    Value(Value),
}

/// One end of a range.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    Included(u16),
    Excluded(u16),
    Unbounded,
}

impl End {
    fn bound(self, keys: Keys) -> Bound<u64> {
        match self {
            Self::Included(pick) => Bound::Included(keys.key(pick)),
            Self::Excluded(pick) => Bound::Excluded(keys.key(pick)),
            Self::Unbounded => Bound::Unbounded,
        }
    }

    fn any() -> impl Strategy<Value = Self> {
        prop_oneof![
            2 => any::<u16>().prop_map(Self::Included),
            2 => any::<u16>().prop_map(Self::Excluded),
            1 => Just(Self::Unbounded),
        ]
    }
}

pub(crate) fn bounds(keys: Keys, low: End, high: End) -> Bounds {
    (low.bound(keys), high.bound(keys))
}

/// From which end the entries of a range are taken.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Walk {
    Forward,
    Backward,
    /// Bit `i` of the number (and again from bit 0 after 32 entries) is set: entry `i` comes from
    /// the back.
    Both(u32),
}

impl Walk {
    pub(crate) fn is_from_back(self, entry: usize) -> bool {
        match self {
            Self::Forward => false,
            Self::Backward => true,
            Self::Both(bits) => bits >> (entry % 32) & 1 == 1,
        }
    }

    fn any() -> impl Strategy<Value = Self> {
        prop_oneof![
            1 => Just(Self::Forward),
            1 => Just(Self::Backward),
            1 => any::<u32>().prop_map(Self::Both),
        ]
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Insert(u16, Value),
    InsertNew(u16, Value),
    Update(u16, Value),
    Get(u16),
    ContainsKey(u16),
    Remove(u16),
    /// Removes a run of neighbouring picks: what empties nodes and makes them merge.
    RemoveRun(u16, u8),
    /// Inserts a run of neighbouring picks: what splits one node again and again.
    InsertRun(u16, u8),
    CompareExchange(u16, Guess, Option<Value>),
    /// The closure leaves this behind, whatever it found.
    Replace(u16, Option<Value>),
    /// The closure adds one to what it finds, and leaves absence alone.
    Increment(u16),
    Range {
        low: End,
        high: End,
        walk: Walk,
        limit: u16,
    },
    First,
    Last,
    PopFirst,
    PopLast,
    Len,
    IsEmpty,
    Clear,
    RemoveRange(End, End),
    /// Keeps the keys whose scattered value is no multiple of the number.
    Retain(u8),
    GetMany(Vec<u16>),
    Verify,
    /// The pool is closed and opened again.
    Close,
    /// The process is killed between two operations.
    Kill,
}

impl Op {
    /// Any operation; the cheap ones that change the shape of the tree most often.
    pub(crate) fn any() -> impl Strategy<Value = Self> {
        let points = prop_oneof![
            10 => (any::<u16>(), Value::any()).prop_map(|(k, v)| Self::Insert(k, v)),
            6 => (any::<u16>(), Value::any()).prop_map(|(k, v)| Self::InsertNew(k, v)),
            4 => (any::<u16>(), Value::any()).prop_map(|(k, v)| Self::Update(k, v)),
            6 => any::<u16>().prop_map(Self::Get),
            2 => any::<u16>().prop_map(Self::ContainsKey),
            13 => any::<u16>().prop_map(Self::Remove),
            2 => (any::<u16>(), any::<u8>()).prop_map(|(k, n)| Self::RemoveRun(k, n)),
            2 => (any::<u16>(), any::<u8>()).prop_map(|(k, n)| Self::InsertRun(k, n)),
            2 => any::<u16>().prop_map(Self::Increment),
            2 => (any::<u16>(), prop::option::of(Value::any())).prop_map(|(k, v)| Self::Replace(k, v)),
        ];
        let guess = prop_oneof![
            1 => Just(Guess::Absent),
            2 => Just(Guess::Right),
            1 => Value::any().prop_map(Guess::Value),
        ];
        let exchange = (any::<u16>(), guess, prop::option::of(Value::any()))
            .prop_map(|(k, guess, new)| Self::CompareExchange(k, guess, new));
        prop_oneof![60 => points, 4 => exchange, 8 => Self::any_of_many_keys()]
    }

    fn any_of_many_keys() -> impl Strategy<Value = Self> {
        let range = (End::any(), End::any(), Walk::any(), prop_oneof![0..40u16, Just(u16::MAX)])
            .prop_map(|(low, high, walk, limit)| Self::Range { low, high, walk, limit });
        let many = prop::collection::vec(any::<u16>(), 0..40).prop_map(Self::GetMany);
        prop_oneof![
            120 => range,
            30 => many,
            20 => Just(Self::First),
            20 => Just(Self::Last),
            30 => Just(Self::PopFirst),
            30 => Just(Self::PopLast),
            10 => Just(Self::Len),
            10 => Just(Self::IsEmpty),
            10 => (End::any(), End::any()).prop_map(|(low, high)| Self::RemoveRange(low, high)),
            4 => any::<u8>().prop_map(Self::Retain),
            4 => Just(Self::Verify),
            4 => Just(Self::Close),
            4 => Just(Self::Kill),
            1 => Just(Self::Clear),
        ]
    }
}
