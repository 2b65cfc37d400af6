//! Key order inside of a leaf, whose entries have none.

use crate::volatile::lines::Wide;

use super::key::{Local, Scale};

/// The most items that are sorted without a branch.
const MOST: usize = 64;

/// Sorts items with different keys, a block's or fewer.
///
/// By *ranks* where a line is one instruction: the place of a key is the number of smaller ones. That
/// has no branch that depends on the keys, of which a comparison sort mispredicts every other one.
pub(super) fn sort<T: Copy>(items: &mut Vec<(Local, T)>) {
    let count = items.len();
    let wide = Wide::detect().filter(|_| (8..=MOST).contains(&count));
    match wide.and_then(|wide| order(wide, items)) {
        Some(order) => {
            // Behind what is there, and then in its place: each is written once.
            items.reserve(count);
            for at in &order[..count] {
                items.push(items[usize::from(*at)]);
            }
            items.drain(..count);
        }
        None => items.sort_unstable_by_key(|item| item.0),
    }
}

/// Which item comes first, second and so on; `None` if there are equal heads.
fn order<T>(wide: Wide, items: &[(Local, T)]) -> Option<[u8; MOST]> {
    let bounds = items
        .iter()
        .fold((u64::MAX, 0), |(low, high), item| (low.min(item.0.0), high.max(item.0.0)));
    let scale = Scale::between(Local(bounds.0), Local(bounds.1));
    let mut heads = [Scale::BEYOND; MOST];
    for (head, item) in heads.iter_mut().zip(items) {
        *head = scale.head(item.0);
    }
    let (mut order, mut taken) = ([0; MOST], 0_u64);
    for (at, &head) in heads[..items.len()].iter().enumerate() {
        let rank = wide.numbers_below(&heads, head) % MOST;
        order[rank] = at as u8;
        taken |= 1 << rank;
    }
    (taken == u64::MAX >> (MOST - items.len())).then_some(order)
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
    fn keys_with_one_head_are_sorted() {
        let far = |n: u64| if n.is_multiple_of(2) { n } else { (1 << 60) + n };
        let mut items: Vec<_> = (0..40_u64).map(|n| (Local(far(n * 7 % 40)), n)).collect();
        sort(&mut items);
        assert!(items.is_sorted() && items.len() == 40);
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
