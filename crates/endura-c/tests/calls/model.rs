//! A random program over the functions of the header, beside a `BTreeMap`.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::ptr;

use endura_c::*;

use crate::support::{NOTHING, Opened, Room, c, expect, shown, slice};

/// A random number generator of 64 bits, seeded by the names of the case.
struct Random(u64);

impl Random {
    fn of(text: &str) -> Self {
        Self(text.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31) + u64::from(byte)))
    }

    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % most
    }
}

/// An encoding of a type, made of a number: numbers sort as their encodings do, where lengths are equal.
fn encoding(kind: &str, number: u64) -> Vec<u8> {
    match kind {
        "u8" => vec![number as u8],
        "u64" | "i64" => (number << 20).to_be_bytes().to_vec(),
        "str" => format!("{number:x}").repeat(1 + number as usize % 3).into_bytes(),
        "[u8]" => vec![number as u8; number as usize % 90],
        "(u32, str)" => {
            let mut bytes = (number as u32 / 4).to_be_bytes().to_vec();
            bytes.extend([b"ab".as_slice(), b"b", b"ba", b""][number as usize % 4]);
            // The end of a part.
            bytes.extend([0, 1]);
            bytes
        }
        "f64" => (number << 45).to_be_bytes().to_vec(),
        _ => unreachable!("{kind}"),
    }
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

struct Program {
    map: MapHandle,
    model: Model,
    random: Random,
    buf: Room,
    other: Room,
}

impl Program {
    fn write(&mut self, key: &[u8], value: &[u8]) {
        let (at, to, model) = (slice(key), slice(value), &mut self.model);
        let old = model.get(key).cloned();
        match self.random.below(7) {
            0 | 1 => {
                expect(c!(endura_put(self.map, at, to)), OK);
                model.insert(key.to_vec(), value.to_vec());
            }
            2 => {
                let wanted = if old.is_some() { PRESENT } else { OK };
                expect(c!(endura_add(self.map, at, to)), wanted);
                model.entry(key.to_vec()).or_insert_with(|| value.to_vec());
            }
            3 => {
                let wanted = if old.is_some() { OK } else { ABSENT };
                expect(c!(endura_replace(self.map, at, to, self.buf.at())), wanted);
                if let Some(old) = old {
                    assert_eq!(*self.buf, old);
                    model.insert(key.to_vec(), value.to_vec());
                }
            }
            4 | 5 => {
                let wanted = if old.is_some() { OK } else { ABSENT };
                expect(c!(endura_remove(self.map, at, self.buf.at())), wanted);
                if let Some(old) = old {
                    assert_eq!(*self.buf, old);
                    model.remove(key);
                }
            }
            _ => self.exchange(key, value, old.as_deref()),
        }
    }

    fn exchange(&mut self, key: &[u8], value: &[u8], old: Option<&[u8]>) {
        let guess = match self.random.below(3) {
            0 => None,
            1 => Some(value.to_vec()),
            _ => old.map(<[u8]>::to_vec),
        };
        let (expected, desired) = (guess.as_deref().map(slice), slice(value));
        let expected = expected.as_ref().map_or(ptr::null(), ptr::from_ref);
        let wanted = match old {
            _ if guess.as_deref() == old => OK,
            None => ABSENT,
            Some(_) => DIFFERENT,
        };
        let exchanged = c!(endura_cas(self.map, slice(key), expected, &desired, self.buf.at()));
        expect(exchanged, wanted);
        match wanted {
            OK => _ = self.model.insert(key.to_vec(), value.to_vec()),
            DIFFERENT => assert_eq!(&*self.buf, old.unwrap()),
            _ => {}
        }
    }

    fn read(&mut self, key: &[u8]) {
        let (known, map) = (self.model.get(key), self.map);
        let wanted = if known.is_some() { OK } else { ABSENT };
        expect(c!(endura_get(map, slice(key), self.buf.at())), wanted);
        expect(c!(endura_has(map, slice(key))), wanted);
        if let Some(known) = known {
            assert_eq!(&*self.buf, known);
        }
    }

    fn walk(&mut self, from: &[u8], to: &[u8]) {
        let (first, last, mut iter) = (slice(from), slice(to), IterHandle::NONE);
        let is_descending = self.random.below(2) == 1;
        let flags = if is_descending { DESCENDING | TO_INCLUDED } else { TO_INCLUDED };
        expect(c!(endura_range(self.map, &first, &last, flags, &mut iter)), OK);
        let bounds = (Bound::Included(from.to_vec()), Bound::Included(to.to_vec()));
        let mut known: Vec<_> = match from <= to {
            true => self.model.range::<Vec<u8>, _>(bounds).collect(),
            false => Vec::new(),
        };
        if is_descending {
            known.reverse();
        }
        for (known_key, known_value) in known.into_iter().take(50) {
            let (mut key, mut value) = (NOTHING, NOTHING);
            expect(c!(endura_next(iter, &mut key, &mut value)), OK);
            assert_eq!((&shown(key), &shown(value)), (known_key, known_value));
        }
        expect(endura_iter_release(iter), OK);
    }

    fn ends(&mut self, is_pop: bool) {
        let is_last = self.random.below(2) == 1;
        let known = match is_last {
            false => self.model.first_key_value(),
            true => self.model.last_key_value(),
        };
        let known = known.map(|(key, value)| (key.clone(), value.clone()));
        let flags = if is_last { DESCENDING } else { 0 };
        let (key, value) = (self.buf.at(), self.other.at());
        let status = match is_pop {
            true => c!(endura_pop(self.map, flags, key, value)),
            false => c!(endura_end(self.map, flags, key, value)),
        };
        expect(status, if known.is_some() { OK } else { ABSENT });
        if let Some((key, value)) = known {
            assert_eq!((&*self.buf, &*self.other), (&*key, &*value));
            if is_pop {
                self.model.remove(&key);
            }
        }
    }

    fn remove_range(&mut self, from: &[u8], to: &[u8]) {
        let (first, last, mut count) = (slice(from), slice(to), 0);
        expect(c!(endura_remove_range(self.map, &first, &last, 0, &mut count)), OK);
        let before = self.model.len();
        self.model.retain(|key, _| **key < *from || **key >= *to);
        assert_eq!(count, (before - self.model.len()) as u64);
    }
}

/// `ENDURA_C_OPERATIONS` for a longer program.
fn operations() -> u64 {
    std::env::var("ENDURA_C_OPERATIONS").map_or(4_000, |text| text.parse().unwrap())
}

fn run(kind: &str, key: &str, value: &str) {
    let opened = Opened::new();
    let map = opened.map("map", key, value, Some(kind));
    let random = Random::of(&format!("{kind}{key}{value}"));
    let model = Model::new();
    let mut program = Program { map, model, random, buf: Room::new(), other: Room::new() };
    for _ in 0..operations() {
        let [first, second, third] = [0; 3].map(|_| program.random.below(400));
        let (from, to) = (encoding(key, first), encoding(key, second));
        match program.random.below(20) {
            0..=10 => program.write(&from, &encoding(value, third)),
            11..=16 => program.read(&from),
            17 => program.walk(&from, &to),
            18 => program.ends(third % 8 == 0),
            _ if third < 8 => program.remove_range(&from, &to),
            _ => {}
        }
    }
    let mut len = 0;
    expect(c!(endura_len(map, &mut len)), OK);
    assert_eq!(len, program.model.len() as u64);
    expect(c!(endura_verify(opened.pool, ptr::null_mut())), OK);
}

const PAIRS: [(&str, &str); 6] = [
    ("u64", "u64"),
    ("i64", "[u8]"),
    ("str", "str"),
    ("str", "u64"),
    ("(u32, str)", "f64"),
    ("u8", "[u8]"),
];

#[test]
fn fast_fair_equals_a_btree_map() {
    PAIRS.iter().for_each(|(key, value)| run("FastFair", key, value));
}

#[test]
fn nbtree_equals_a_btree_map() {
    PAIRS.iter().for_each(|(key, value)| run("NbTree", key, value));
}

#[test]
fn roart_equals_a_btree_map() {
    PAIRS.iter().for_each(|(key, value)| run("Roart", key, value));
}
