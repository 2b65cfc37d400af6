//! Maps of the types that are most often asked for, each with its keys and values by number.

use std::fmt::Debug;

use endura::{Key, Kind, Map, MapOptions, Newtype, Pool, Postcard, Value};
use serde::{Deserialize, Serialize};

/// A map and what is put into it.
pub(crate) trait Case: 'static {
    type K: Key + ?Sized;
    type V: Value + ?Sized;
    const NAME: &'static str;
    const KIND: Option<Kind> = None;

    /// One of some thousand keys.
    fn key(n: u64) -> <Self::K as Value>::Owned;
    /// A value that tells which it is.
    fn value(n: u64) -> <Self::V as Value>::Owned;
    /// Which it is.
    fn number(value: &<Self::V as Value>::Owned) -> u64;

    fn open(pool: &Pool) -> Map<Self::K, Self::V> {
        Self::try_open(pool).unwrap()
    }

    fn try_open(pool: &Pool) -> endura::Result<Map<Self::K, Self::V>> {
        let options = Self::KIND.map_or(MapOptions::new(), |kind| MapOptions::new().kind(kind));
        pool.map_with(Self::NAME, options)
    }
}

/// Whatever a test does with each of them.
pub(crate) trait Visitor {
    fn visit<C: Case>(&mut self)
    where
        <C::K as Value>::Owned: Ord + Clone + Debug,
        <C::V as Value>::Owned: PartialEq + Clone + Debug;
}

pub(crate) fn all(visitor: &mut impl Visitor) {
    visitor.visit::<Numbers>();
    visitor.visit::<NumbersOfNbTree>();
    visitor.visit::<NumbersOfRoart>();
    visitor.visit::<Texts>();
    visitor.visit::<TextsOfFastFair>();
    visitor.visit::<TextsOfNbTree>();
    visitor.visit::<Blobs>();
    visitor.visit::<Records>();
    visitor.visit::<Pairs>();
    visitor.visit::<Ids>();
}

/// Keys that lie apart, and some that do not.
pub(crate) fn scatter(n: u64) -> u64 {
    let n = (n ^ n >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    if n.is_multiple_of(4) { n >> 52 } else { n ^ n >> 29 }
}

macro_rules! numbers {
    ($($case:ident, $name:literal, $kind:expr;)*) => { $(
        pub(crate) struct $case;

        impl Case for $case {
            type K = u64;
            type V = i64;
            const NAME: &'static str = $name;
            const KIND: Option<Kind> = $kind;

            fn key(n: u64) -> u64 {
                scatter(n)
            }

            fn value(n: u64) -> i64 {
                -(n as i64)
            }

            fn number(value: &i64) -> u64 {
                value.unsigned_abs()
            }
        }
    )* };
}

numbers! {
    Numbers, "numbers", None;
    NumbersOfNbTree, "numbers of NbTree", Some(Kind::NbTree);
    NumbersOfRoart, "numbers of Roart", Some(Kind::Roart);
}

macro_rules! texts {
    ($($case:ident, $name:literal, $kind:expr;)*) => { $(
        pub(crate) struct $case;

        impl Case for $case {
            type K = str;
            type V = str;
            const NAME: &'static str = $name;
            const KIND: Option<Kind> = $kind;

            fn key(n: u64) -> String {
                match n % 5 {
                    0 => String::new(),
                    1 => format!("user:{n}"),
                    _ => format!("user:{}\0{n}", "x".repeat(n as usize % 40)),
                }
            }

            fn value(n: u64) -> String {
                format!("{n} {}", "ä".repeat(n as usize % 100))
            }

            fn number(value: &String) -> u64 {
                value.split(' ').next().unwrap().parse().unwrap()
            }
        }
    )* };
}

texts! {
    Texts, "texts", None;
    TextsOfFastFair, "texts of FastFair", Some(Kind::FastFair);
    TextsOfNbTree, "texts of NbTree", Some(Kind::NbTree);
}

pub(crate) struct Blobs;

impl Case for Blobs {
    type K = u64;
    type V = [u8];
    const NAME: &'static str = "blobs";

    fn key(n: u64) -> u64 {
        scatter(n)
    }

    fn value(n: u64) -> Vec<u8> {
        n.to_le_bytes().repeat(1 + n as usize % 600)
    }

    fn number(value: &Vec<u8>) -> u64 {
        u64::from_le_bytes(value[..8].try_into().unwrap())
    }
}

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
pub(crate) struct Record {
    number: u64,
    name: String,
    tags: Vec<u8>,
}

pub(crate) struct Records;

impl Case for Records {
    type K = u64;
    type V = Postcard<Record>;
    const NAME: &'static str = "records";

    fn key(n: u64) -> u64 {
        scatter(n)
    }

    fn value(n: u64) -> Record {
        Record { number: n, name: format!("record {n}"), tags: vec![7; n as usize % 9] }
    }

    fn number(value: &Record) -> u64 {
        value.number
    }
}

pub(crate) struct Pairs;

impl Case for Pairs {
    type K = (String, u32);
    type V = u64;
    const NAME: &'static str = "pairs";

    fn key(n: u64) -> (String, u32) {
        ("a\0b".repeat(n as usize % 3), scatter(n) as u32)
    }

    fn value(n: u64) -> u64 {
        n
    }

    fn number(value: &u64) -> u64 {
        *value
    }
}

/// A type of a program's own, which is stored as another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id(u32);

impl Newtype for Id {
    type Stored = u32;
    const NAME: Option<&'static str> = Some("Id");

    fn to_stored(self) -> u32 {
        self.0
    }

    fn from_stored(stored: u32) -> Self {
        Self(stored)
    }
}

pub(crate) struct Ids;

impl Case for Ids {
    type K = Id;
    type V = (u32, bool);
    const NAME: &'static str = "ids";

    fn key(n: u64) -> Id {
        Id(scatter(n) as u32)
    }

    fn value(n: u64) -> (u32, bool) {
        (n as u32, n.is_multiple_of(2))
    }

    fn number(value: &(u32, bool)) -> u64 {
        value.0.into()
    }
}
