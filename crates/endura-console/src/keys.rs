//! Keys and values that look random, and can be computed from an index.

/// The key of an index, by a bijection of the 64-bit numbers whose values look random (the finalizer of splitmix64). A
/// program needs no set of the keys that exist: it only has to know the indices that were inserted.
#[inline]
pub const fn key(index: u64) -> u64 {
    let mut x = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The index whose [`key`] this is.
///
/// ```
/// use endura_console::keys::{index, key};
/// assert_eq!(index(key(7)), 7);
/// ```
#[inline]
pub const fn index(key: u64) -> u64 {
    let mut x = key ^ (key >> 31) ^ (key >> 62);
    x = x.wrapping_mul(0x3196_42b2_d24d_8ec3);
    x = x ^ (x >> 27) ^ (x >> 54);
    x = x.wrapping_mul(0x96de_1b17_3f11_9089);
    x = x ^ (x >> 30) ^ (x >> 60);
    x.wrapping_sub(0x9e37_79b9_7f4a_7c15)
}

/// The value that a load stores under the key of this index.
#[inline]
pub const fn value(index: u64) -> u64 {
    !index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_inverts_key() {
        for i in [0, 1, 2, 1 << 31, 1 << 62, u64::MAX, 0x1234_5678_9abc_def0] {
            assert_eq!(index(key(i)), i);
            assert_eq!(key(index(i)), i);
        }
    }
}
