//! What a writer does at each step, so that the entries that are there tell how far it was.
//!
//! Step `p` (1, 2, 3, ...) of a writer inserts the entry of `p`, and then removes the oldest entries until [`removed`]`(p)`
//! of them are gone. So what is there is always an unbroken row of steps; its last is where the writer was. The number of entries rises and falls,
//! so that nodes are split, merged and freed. Keys are spread over the whole key space.
//!
//! The value of `p` is `p` and the number of steps of the *other* writer that had been acknowledged before `p` began. A
//! moment that has `p` has those as well: so a mixture of two moments is recognised even if each writer's entries are whole.

use crate::lines::WRITERS;

/// Steps in which the entries rise and fall once.
const PERIOD: u64 = 12_288;
/// Entries that stay.
const BASE: u64 = 1_024;

/// How many of the oldest entries are gone after step `position`.
pub(super) fn removed(position: u32) -> u32 {
    let position = u64::from(position);
    let (periods, rest) = (position / PERIOD, position % PERIOD);
    let gone = periods * PERIOD + 2 * rest.saturating_sub(PERIOD / 2);
    gone.saturating_sub(BASE) as u32
}

/// An odd number, by which a product is a key for each number.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// One step of one writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) writer: usize,
    pub(super) position: u32,
}

impl Step {
    pub(super) fn key(self) -> u64 {
        (u64::from(self.position) * WRITERS as u64 + self.writer as u64).wrapping_mul(SPREAD)
    }

    /// The step with this key; `None` if no writer has one.
    pub(super) fn of_key(key: u64) -> Option<Self> {
        let number = key.wrapping_mul(inverse(SPREAD));
        let (position, writer) = (number / WRITERS as u64, number % WRITERS as u64);
        Some(Self { writer: writer as usize, position: u32::try_from(position).ok()? })
    }

    /// Its value, where `seen` steps of the other writer were acknowledged.
    pub(super) fn value(self, seen: u32) -> u64 {
        u64::from(self.position) << 32 | u64::from(seen)
    }

    /// How many steps of the other writer the value says there were; `None` if it is not one of this step.
    pub(super) fn seen(self, value: u64) -> Option<u32> {
        (value >> 32 == u64::from(self.position)).then_some(value as u32)
    }
}

/// The number by which the product with an odd one is 1: Newton's iteration doubles the bits that are right.
fn inverse(odd: u64) -> u64 {
    (0..6).fold(odd, |x, _| x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_those_of_their_step() {
        for (writer, position) in [(0, 1), (1, 1), (1, 77_777), (0, u32::MAX)] {
            let step = Step { writer, position };
            assert_eq!(Step::of_key(step.key()), Some(step));
            assert_eq!(step.seen(step.value(9)), Some(9));
            assert_eq!(step.seen(step.value(9) ^ 1 << 32), None);
        }
        assert_eq!(Step::of_key(12_345), None);
    }

    #[test]
    fn entries_rise_and_fall() {
        let (mut least, mut most, mut last) = (u32::MAX, 0, 0);
        for position in 1..100_000 {
            let now = removed(position);
            assert!((last..=last + 2).contains(&now) && now < position);
            last = now;
            if u64::from(position) > PERIOD {
                least = least.min(position - now);
                most = most.max(position - now);
            }
        }
        assert_eq!((least, most), (BASE as u32, (BASE + PERIOD / 2) as u32));
    }
}
