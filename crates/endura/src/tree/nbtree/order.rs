//! Key order inside of a leaf, whose entries have none.

use crate::volatile::lines::Wide;

use super::key::Local;

/// Sorts items with different keys, a block's or fewer.
///
/// By *ranks* where a line is one instruction: the place of a key is the number of smaller ones. That
/// has no branch that depends on the keys, of which a comparison sort mispredicts every other one.
pub(super) fn sort<T: Copy + Default>(items: &mut [(Local, T)]) {
    let count = items.len();
    let wide = Wide::detect().filter(|_| (8..=64).contains(&count));
    let by_rank = |wide| items.is_sorted_by_key(|item| item.0) || sort_by_rank(wide, items);
    if !wide.is_some_and(by_rank) {
        items.sort_unstable_by_key(|item| item.0);
    }
}

/// `false`, and nothing done, if there are equal keys.
fn sort_by_rank<T: Copy + Default>(wide: Wide, items: &mut [(Local, T)]) -> bool {
    let mut keys = [u64::MAX; 64];
    for (key, item) in keys.iter_mut().zip(&*items) {
        *key = item.0.0;
    }
    let mut sorted = [(Local(0), T::default()); 64];
    let mut taken = 0_u64;
    for &item in &*items {
        let rank = wide.words_below(&keys, item.0.0) % 64;
        sorted[rank] = item;
        taken |= 1 << rank;
    }
    let are_different = taken == u64::MAX >> (64 - items.len());
    if are_different {
        items.copy_from_slice(&sorted[..items.len()]);
    }
    are_different
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_every_number_are_sorted() {
        for count in 0..=126_u64 {
            let mut items: Vec<_> = (0..count).map(|n| (Local(n * 89 % 127), n)).collect();
            sort(&mut items);
            assert!(items.is_sorted() && items.len() as u64 == count);
            assert!(items.iter().all(|&(key, n)| key.0 == n * 89 % 127));
        }
    }

    #[test]
    fn equal_keys_stay_both() {
        let mut items: Vec<_> = (0..40_u64).map(|n| (Local((n * 7 % 40).min(30)), n)).collect();
        sort(&mut items);
        assert!(items.is_sorted_by_key(|item| item.0));
        assert_eq!(items.iter().filter(|item| item.0 == Local(30)).count(), 10);
        assert_eq!(items.iter().map(|item| item.1).sum::<u64>(), 780);
    }
}
