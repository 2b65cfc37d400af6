//! Trees of byte strings, whose keys are the digits of numbers.

use std::sync::Arc;

use endura_engine::Result;
use endura_engine::space::{LeakWalk, Space};
use endura_engine::tree::key_word::KeyWord;
use endura_engine::tree::roart::Techniques;
use endura_engine::tree::{ByteIndex, Len, fast_fair_bytes, nbtree, roart};

use super::numbers::{NumberTree, node_bytes};
use super::records::Spelling;
use super::spelled::Spelled;
use crate::sim::Sim;

/// Digits of a key of a tree of byte strings.
const DIGITS: u32 = 6;

/// A key has the digits of its number in base four, from 0 to 3, so that keys agree in their first bytes as often as not, and
/// many end in zeros. (Larger numbers are spelled as they are, behind all others.)
fn digits_of(number: u64) -> Vec<u8> {
    if number >> (2 * DIGITS) != 0 {
        return [&[0xFF][..], &number.to_be_bytes()].concat();
    }
    (0..DIGITS).rev().map(|digit| (number >> (2 * digit) & 3) as u8).collect()
}

/// The number of which these are the digits.
fn of_digits(key: &[u8]) -> u64 {
    match key {
        [0xFF, rest @ ..] => rest.try_into().map_or(u64::MAX, u64::from_be_bytes),
        digits => digits.iter().fold(0, |number, &digit| number << 2 | u64::from(digit)),
    }
}

impl<const I: usize, const L: usize, K: KeyWord> Spelling for fast_fair_bytes::Tree<Sim, I, L, K> {
    const STRUCTURAL: &'static [&'static str] =
        &["split.", "replace.", "settle.", "merge.", "post.", "root."];

    const STEPS: &'static [&'static str] = &[
        "fast_delete.commit",
        "fast_delete.shift",
        "fast_insert.commit",
        "fast_insert.empty",
        "fast_insert.shift",
        "merge.M1",
        "merge.M2",
        "post.P1",
        "post.P2",
        "post.prefix",
        "replace.R1",
        "replace.R2",
        "replace.R2.durable",
        "root.grow",
        "root.shrink",
        "settle.R3",
        "settle.R4",
        "settle.root",
        "split.S3.sib",
        "split.S3.high",
        "split.S3.tag",
        "split.S3.durable",
    ];

    const CHUNKS: &'static [u64] = &[node_bytes(L)];

    const NOTES_AHEAD: bool = true;

    fn spell(number: u64) -> Vec<u8> {
        digits_of(number)
    }

    fn number(key: &[u8]) -> u64 {
        of_digits(key)
    }

    fn open(space: &Arc<Space<Sim>>) -> Result<Self> {
        Self::open(space, "t")
    }

    fn walks(&self) -> Vec<Box<dyn LeakWalk<Sim>>> {
        self.marking()
    }

    fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<u64> {
        Ok(self.check(visit)?.entries)
    }

    fn is_volatile(at: u64, line: &[u64; 8]) -> bool {
        line[4] >> 32 == 0xFA57_FA1B && [0, 5, 6].contains(&(at / 8 % 8))
    }

    fn count(&self) -> Result<()> {
        if self.map().claim_count() { self.count_all() } else { Ok(()) }
    }

    fn counted(&self) -> Result<Len> {
        self.len()
    }
}

impl<const W: usize, const F: usize, K: KeyWord> Spelling for nbtree::ByteTree<Sim, W, F, K> {
    const STRUCTURAL: &'static [&'static str] = <nbtree::Tree<Sim, W, F> as NumberTree>::STRUCTURAL;

    const STEPS: &'static [&'static str] = <nbtree::Tree<Sim, W, F> as NumberTree>::STEPS;

    const CHUNKS: &'static [u64] = <nbtree::Tree<Sim, W, F> as NumberTree>::CHUNKS;

    const NOTES_AHEAD: bool = true;

    const LEAVES_NOTHING: bool = <nbtree::Tree<Sim, W, F> as NumberTree>::LEAVES_NOTHING;

    fn spell(number: u64) -> Vec<u8> {
        digits_of(number)
    }

    fn number(key: &[u8]) -> u64 {
        of_digits(key)
    }

    fn open(space: &Arc<Space<Sim>>) -> Result<Self> {
        Self::open_strings(space, "t")
    }

    fn walks(&self) -> Vec<Box<dyn LeakWalk<Sim>>> {
        self.marking_strings()
    }

    fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<u64> {
        Ok(self.check(visit)?.entries)
    }

    fn is_volatile(_: u64, _: &[u64; 8]) -> bool {
        false
    }

    fn count(&self) -> Result<()> {
        self.rebuild(1)
    }

    fn counted(&self) -> Result<Len> {
        self.len()
    }
}

impl<T: Techniques> Spelling for roart::Tree<Sim, T> {
    const STRUCTURAL: &'static [&'static str] = <Spelled<T> as NumberTree>::STRUCTURAL;

    const STEPS: &'static [&'static str] = <Spelled<T> as NumberTree>::STEPS;

    const CHUNKS: &'static [u64] = <Spelled<T> as NumberTree>::CHUNKS;

    const NOTES_AHEAD: bool = true;

    fn spell(number: u64) -> Vec<u8> {
        digits_of(number)
    }

    fn number(key: &[u8]) -> u64 {
        of_digits(key)
    }

    fn open(space: &Arc<Space<Sim>>) -> Result<Self> {
        Self::open(space, "t")
    }

    fn walks(&self) -> Vec<Box<dyn LeakWalk<Sim>>> {
        vec![self.marking()]
    }

    fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<u64> {
        Ok(self.check(visit)?.entries)
    }

    fn is_volatile(at: u64, line: &[u64; 8]) -> bool {
        <Spelled<T> as NumberTree>::is_volatile(at, line)
    }

    fn count(&self) -> Result<()> {
        self.count_all()
    }

    fn counted(&self) -> Result<Len> {
        self.len()
    }
}
