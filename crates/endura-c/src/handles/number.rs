//! The bits of a handle.
//!
//! | bits | |
//! | --- | --- |
//! | 0 to 19 | the slot |
//! | 20 to 23 | the kind of the object |
//! | 24 to 63 | how often the slot has been used, from 1 |

const SLOT_BITS: u32 = 20;
const USES_SHIFT: u32 = 24;

/// The number of slots.
pub(super) const SLOTS: u32 = 1 << SLOT_BITS;
/// The most uses of a slot. After a million a second it is used up in twelve days, and no longer used.
pub(super) const MOST_USES: u64 = (1 << (64 - USES_SHIFT)) - 1;

#[inline(always)]
pub(super) fn slot_of(id: u64) -> usize {
    id as usize & (SLOTS as usize - 1)
}

#[inline(always)]
pub(super) fn kind_of(id: u64) -> u64 {
    (id >> SLOT_BITS) & 15
}

pub(super) fn uses_of(id: u64) -> u64 {
    id >> USES_SHIFT
}

pub(super) fn id(slot: u32, kind: u64, uses: u64) -> u64 {
    uses << USES_SHIFT | kind << SLOT_BITS | u64::from(slot)
}

/// The handles of the header. Each is a type of its own, so that a C compiler refuses one in place of another.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name {
            /// The number; 0 is none.
            pub id: u64,
        }

        impl $name {
            /// No handle.
            pub const NONE: Self = Self { id: 0 };
        }
    )* };
}

handles! {
    /// An open pool.
    PoolHandle;
    /// An open map.
    MapHandle;
    /// An iterator.
    IterHandle;
    /// The parts of a batch.
    BatchHandle;
    /// One run of a transaction.
    TransactionHandle;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_parts() {
        for (slot, kind, uses) in [(1, 1, 1), (SLOTS - 1, 15, MOST_USES), (77, 3, 1 << 30)] {
            let id = id(slot, kind, uses);
            assert_eq!((slot_of(id), kind_of(id), uses_of(id)), (slot as usize, kind, uses));
        }
    }
}
