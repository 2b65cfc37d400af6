//! How much to look at, and how much was.

use std::collections::BTreeMap;

/// How much is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Recoveries after one crash: beyond that the choice of contents is no longer exhaustive, but
    /// all old, all new, each line alone old or new, and random.
    pub exhaustive: usize,
    /// Random choices where it is not exhaustive.
    pub samples: usize,
    /// Crashes in a row: 1 = none during recovery.
    pub depth: u32,
    /// Every how many recoveries the structure is put to use; 0 = never.
    pub continue_one_in: u64,
    /// Every how many recoveries their own crashes are explored, where `depth` allows; 0 = never.
    pub deepen_one_in: u64,
    /// Most crash points of one recovery.
    pub deep_points: usize,
    /// After so many operations of a continuation nothing more of it is crashed.
    pub deep_ops: usize,
    /// Whether of contents of a line that differ only in words which mean nothing after a crash
    /// ([`Subject::is_volatile`](crate::subject::Subject::is_volatile)) the oldest and the newest stand
    /// for all.
    pub folds_volatile: bool,
    /// Whether, besides, such words are the oldest in all lines or the newest in all lines, and never
    /// old in some and new in others: each line doubles the work otherwise.
    pub ties_volatile: bool,
}

impl Effort {
    /// Everything, for short runs on tiny structures.
    pub const EXHAUSTIVE: Self = Self {
        exhaustive: 10_000,
        samples: 64,
        depth: 2,
        continue_one_in: 1,
        deepen_one_in: 1,
        deep_points: usize::MAX,
        deep_ops: usize::MAX,
        folds_volatile: true,
        ties_volatile: false,
    };
}

/// What an exploration came across.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Runs that were crashed.
    pub traces: u64,
    /// Moments at which they were.
    pub points: u64,
    /// Moments left out because another one left the same.
    pub same_points: u64,
    /// Moments of which every possible content was gone through.
    pub exhaustive_points: u64,
    /// Recoveries, each from another image.
    pub images: u64,
    /// Equal if the recoveries from first crashes read the same images.
    pub fingerprint: u64,
    /// Recoveries that read the same words as an earlier one.
    pub same_images: u64,
    /// Of the images, those left by a crash during recovery or the work after it.
    pub deep_images: u64,
    /// Of the images, those left by a crash inside an operation that had begun to change the shape of
    /// the structure ([`Subject::is_structural`](crate::subject::Subject::is_structural)).
    pub structural_images: u64,
    /// How many images were left by a crash after this step of an operation and before the next.
    pub inside: BTreeMap<&'static str, u64>,
    /// At how many moments a crash cut through this step: it was taken, and nothing had been made
    /// durable since. Moments that left the same as another one count here.
    pub crossed: BTreeMap<&'static str, u64>,
    /// How often each numbered step of the protocol was taken by the runs that were crashed.
    pub steps: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Takes another tally in.
    pub fn add(&mut self, other: &Self) {
        self.traces += other.traces;
        self.points += other.points;
        self.same_points += other.same_points;
        self.exhaustive_points += other.exhaustive_points;
        self.images += other.images;
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
        self.same_images += other.same_images;
        self.deep_images += other.deep_images;
        self.structural_images += other.structural_images;
        other.crossed.iter().for_each(|(step, n)| *self.crossed.entry(step).or_default() += n);
        other.inside.iter().for_each(|(step, n)| *self.inside.entry(step).or_default() += n);
        other.steps.iter().for_each(|(step, n)| *self.steps.entry(step).or_default() += n);
    }
}
