//! The vector instructions that searches and sorts use.
//!
//! A program may run on another processor than it was built for, so the choice is made once at run time. Every path
//! computes the same results from the same words in memory. So threads may use different paths, and the path may change
//! between two operations.

use std::fmt;
use std::sync::atomic::AtomicU8;

use crate::sync::Ordering;

/// A set of vector instructions that searches and sorts can use, or none.
///
/// A process chooses once, and takes the best set that the processor has. Tests and measurements can
/// [force](Self::force) another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Vectors {
    /// No vectors: word by word. Available only where no other set is.
    Words = 1,
    /// 16 bytes at once: every AArch64 processor.
    Neon = 2,
    /// 16 bytes at once: every x86-64 processor.
    Sse2 = 3,
    /// 32 bytes at once in sorts; searches use SSE2.
    Avx2 = 4,
    /// 64 bytes at once: AVX-512BW, with `popcnt`.
    Avx512 = 5,
}

/// The choice, as a number of [`Vectors`]; 0 = not made yet.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

impl Vectors {
    /// All sets, the narrowest first.
    const ALL: [Self; 5] = [Self::Words, Self::Neon, Self::Sse2, Self::Avx2, Self::Avx512];

    /// The sets that this processor can use, the best last.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|vectors| vectors.is_available())
    }

    /// The set that searches and sorts use at present.
    #[inline]
    pub fn chosen() -> Self {
        // Relaxed: a thread that does not see the choice makes it again.
        match CHOSEN.load(Ordering::Relaxed) {
            1 => Self::Words,
            2 => Self::Neon,
            3 => Self::Sse2,
            4 => Self::Avx2,
            5 => Self::Avx512,
            _ => choose(),
        }
    }

    /// Whether [`chosen`](Self::chosen) is AVX-512: one load and one branch.
    #[inline(always)]
    pub(crate) fn is_widest() -> bool {
        const WIDEST: u8 = Vectors::Avx512 as u8;
        match CHOSEN.load(Ordering::Relaxed) {
            WIDEST => true,
            0 => choose() == Self::Avx512,
            _ => false,
        }
    }

    /// Makes this process use this set from now on, in all pools. Returns `false`, and changes nothing, if the
    /// processor does not have it.
    pub fn force(self) -> bool {
        let is_available = self.is_available();
        if is_available {
            CHOSEN.store(self as u8, Ordering::Relaxed);
        }
        is_available
    }

    /// The name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Neon => "neon",
            Self::Sse2 => "sse2",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The set with this [name](Self::name).
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|vectors| vectors.name() == name)
    }

    fn is_available(self) -> bool {
        match self {
            Self::Words => !HAS_SSE2 && !HAS_NEON,
            Self::Neon => HAS_NEON,
            Self::Sse2 => HAS_SSE2,
            Self::Avx2 | Self::Avx512 => has(self),
        }
    }
}

impl fmt::Display for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether SSE2 can be used. Loom and Miri support neither the instructions nor loads of more than a word.
const HAS_SSE2: bool = cfg!(all(target_arch = "x86_64", not(miri), not(all(test, loom))));
const HAS_NEON: bool = cfg!(all(target_arch = "aarch64", not(miri), not(all(test, loom))));

#[cfg(all(target_arch = "x86_64", not(miri), not(all(test, loom))))]
fn has(vectors: Vectors) -> bool {
    match vectors {
        Vectors::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
        _ => {
            std::arch::is_x86_feature_detected!("avx512bw")
                && std::arch::is_x86_feature_detected!("popcnt")
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri), not(all(test, loom)))))]
fn has(_: Vectors) -> bool {
    false
}

/// Chooses the best set.
#[cold]
fn choose() -> Vectors {
    let best = Vectors::available().last().unwrap_or(Vectors::Words);
    // The exchange keeps a set that was forced meanwhile. Relaxed: no other memory depends on the choice.
    let _ = CHOSEN.compare_exchange(0, best as u8, Ordering::Relaxed, Ordering::Relaxed);
    best
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_can_be_forced_and_nothing_else() {
        let before = Vectors::chosen();
        assert!(Vectors::available().any(|vectors| vectors == before));
        for vectors in Vectors::ALL {
            assert_eq!(Vectors::named(vectors.name()), Some(vectors));
            let can = Vectors::available().any(|other| other == vectors);
            assert_eq!(vectors.force(), can, "{vectors}");
            // Other tests may force another set at this moment, but only an available one.
            assert!(Vectors::available().any(|other| other == Vectors::chosen()));
        }
        assert!(before.force());
    }
}
