//! Faults that nothing can find, with the reason. The list must not grow.

/// Why nobody notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// What it leads to is allowed, and takes longer.
    Costs,
    /// It takes a machine that no campaign plays to see it.
    Unseen,
}

/// A mutant by its name, and why nobody notices it.
pub(crate) const LISTED: &[(&str, Why, &str)] = &[
    (
        "without Store in merge.rs, absorb: l.set_hint(in_left + in_right);",
        Why::Costs,
        "the hint is checked before it is used: the slots are counted instead",
    ),
    (
        "without Store in split.rs, fair_split: left.set_hint(middle);",
        Why::Costs,
        "the hint is checked before it is used: the slots are counted instead",
    ),
    (
        "without Store in write.rs, fast_insert: node.set_hint(place.count + 1);",
        Why::Costs,
        "the hint is checked before it is used: the slots are counted instead",
    ),
    (
        "without Store in write.rs, fast_delete: node.set_hint(last);",
        Why::Costs,
        "the hint is checked before it is used: the slots are counted instead",
    ),
    (
        "without Store in version.rs, retire_into: self.node.write(FWD, successor);",
        Why::Costs,
        "whoever comes to the dead node descends anew instead of going on from there",
    ),
    (
        "relaxed Store in merge.rs, absorb: left.begin(Kind::Header);",
        Why::Unseen,
        "one function begins all primitives; the insert that follows a split needs its order",
    ),
    (
        "relaxed Store in split.rs, fair_split: locked.begin(Kind::Header);",
        Why::Unseen,
        "one function begins all primitives; the insert that follows a split needs its order",
    ),
    (
        "relaxed Store in write.rs, fast_delete: locked.begin(Kind::Delete);",
        Why::Unseen,
        "one function begins all primitives; the insert that follows a split needs its order",
    ),
    (
        "relaxed Store in merge.rs, merge: right.set_merging(true);",
        Why::Unseen,
        "a reader that sees it must see what the last writer did: takes three threads and late visibility",
    ),
    (
        "relaxed Store in merge.rs, absorb: l.set_sibling(Sibling { at: right.at(), tag: Tag::Merging });",
        Why::Unseen,
        "whoever goes by the link must see the node: takes three threads and late visibility",
    ),
    (
        "relaxed Store in directory.rs, append_page: link.store(0, page, Ordering::Release);",
        Why::Unseen,
        "pairs with a collection by another thread; pools are not run under weak visibility",
    ),
];
