//! The choice of a prefix for a new node.

use crate::tree::key_word::{KeyWord, common, continuation, shortest_prefix, word_under};

/// The prefix of a leaf: what all its keys share with `high`, or what they share if there is no upper fence. But at least as
/// much as the fence needs to be decided, for a leaf owns exactly the keys below it. `first` and `last` are its keys.
///
/// Behind the last leaf's keys more of the same kind may follow. What they will share is what the leaf shares with its left
/// neighbour: its lower fence without the last byte.
pub(crate) fn prefix_of_leaf<K: KeyWord>(
    first: Option<&[u8]>,
    last: Option<&[u8]>,
    low: &[u8],
    high: Option<&[u8]>,
) -> Vec<u8> {
    match high {
        Some(high) => {
            let shared = first.map_or(0, |first| common(first, high));
            high[..shared.max(shortest_prefix::<K>(high))].to_vec()
        }
        None => {
            let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
            let shared = common(first, last);
            let kept = match low.len() {
                0 if first == last => 0,
                0 => shared,
                len => shared.min(common(low, first)).min(len - 1),
            };
            first[..kept].to_vec()
        }
    }
}

/// How many of the separators at the left and at the right end, in eighths, the prefix of an inner node may leave out.
const OUTSIDE: [(usize, usize); 9] =
    [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 2), (4, 0), (0, 4)];

/// The prefix of an inner node with these separators (without the first, which is never compared): of what all of them
/// share, or all but [some](OUTSIDE), what leaves the fewest ties. Separators outside of the prefix have one word on each
/// side.
pub(crate) fn prefix_of_inner<K: KeyWord>(separators: &[Vec<u8>]) -> &[u8] {
    let count = separators.len();
    let (mut best, mut fewest): (&[u8], _) = (&[], u32::MAX);
    if count < 2 {
        return best;
    }
    let mut seen = usize::MAX;
    for (left, right) in OUTSIDE {
        let first = &separators[left * count / 8];
        let prefix = &first[..common(first, &separators[count - 1 - right * count / 8])];
        if prefix.len() == seen {
            continue;
        }
        seen = prefix.len();
        let ties = ties::<K>(separators, prefix);
        if ties < fewest {
            (best, fewest) = (prefix, ties);
        }
    }
    best
}

/// How many steps of halving searches for all separators take among those with equal words and continuations.
fn ties<K: KeyWord>(separators: &[Vec<u8>], prefix: &[u8]) -> u32 {
    let image = |separator: &Vec<u8>| {
        let word = word_under::<K>(prefix, separator);
        (word, continuation::<K>(prefix.len(), word, separator))
    };
    separators
        .chunk_by(|a, b| image(a) == image(b))
        .map(|tie| tie.len() as u32 * tie.len().ilog2())
        .sum()
}
