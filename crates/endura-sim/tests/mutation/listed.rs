//! Faults that nothing can find, with the reason. The list must not grow.

/// Why nobody notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// What it leads to is allowed.
    Harmless,
    /// What it leads to is allowed, and takes longer.
    Costs,
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
        "without Fence in pages.rs, give_large: media.fence(); (number 2)",
        Why::Harmless,
        "the first page of the run is the first to be taken again, with a header that is then made durable",
    ),
];
