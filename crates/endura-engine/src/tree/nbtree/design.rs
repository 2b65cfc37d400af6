//! Variants of the tree without some of its techniques, to measure what each technique contributes.
//!
//! The paper measures its tree with leaves of one layer, and with locks for writers and for readers (figures 6 and 8).
//! Such trees are not for users; the benchmark crate has them as further designs.

use std::marker::PhantomData;

use crate::tree::key_word::{KeyWord, Seven};
use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::keys::numbers::NumberKeys;
use crate::tree::nbtree::keys::strings::ByteKeys;

/// The keys of a tree, and the techniques of the paper that it uses. [`TwoLayers`] uses all of them.
pub trait Design: Send + Sync + 'static {
    /// What the keys are.
    #[expect(private_bounds, reason = "this module has all sorts of keys")]
    type Keys: KeyForm;

    /// Whether a search uses the fingerprints in DRAM to select slots. Otherwise it reads every claimed slot in the
    /// pool, or every slot if the claims are no longer known.
    const HAS_TAGS: bool = true;

    /// A guard that an operation holds while it is in a leaf.
    type Held;

    /// Called before a lookup searches the leaf with this number.
    fn before_read(leaf: u32) -> Self::Held;

    /// Called before a writer searches the leaf with this number, and again if the writer has to search for its leaf
    /// again.
    fn before_write(leaf: u32) -> Self::Held;
}

/// The complete tree, corrected: fingerprints are in DRAM, entries in the pool, and no operation waits for another.
#[derive(Debug, Clone, Copy)]
pub struct TwoLayers;

impl Design for TwoLayers {
    type Keys = NumberKeys;
    type Held = ();

    #[inline(always)]
    fn before_read(_: u32) {}

    #[inline(always)]
    fn before_write(_: u32) {}
}

/// The complete tree, as [`TwoLayers`], for keys and values of any length. `K` says how many bytes of a key a slot has.
#[derive(Debug, Clone, Copy)]
pub struct Strings<K = Seven>(PhantomData<K>);

impl<K: KeyWord> Design for Strings<K> {
    type Keys = ByteKeys<K>;
    type Held = ();

    #[inline(always)]
    fn before_read(_: u32) {}

    #[inline(always)]
    fn before_write(_: u32) {}
}
