//! Faults that the quick campaign does not find. Each is to be killed by a better campaign, or shown to be
//! none; the list must not grow.

/// Why nobody notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// What it leads to is allowed.
    Harmless,
    /// A `Release` that concurrent readers need; what is durable when does not hang on it. (Turns are
    /// sequentially consistent: neither crashes nor schedules can tell.)
    Visibility,
    /// Other threads must come at a moment at which the few schedules here do not bring them.
    NeedsSchedules,
    /// The campaign does not come so far.
    NotReached,
}

use Why::{Harmless, NeedsSchedules, NotReached, Visibility};

/// A mutant by its name, and why nobody notices it.
pub(crate) const LISTED: &[(&str, Why, &str)] = &[
    (
        "without Store in merge.rs, absorb: l.set_hint(in_left + in_right);",
        Harmless,
        "the hint is checked before it is used: without it the slots are counted",
    ),
    (
        "without Store in route.rs, set_root: word.store(0, root.word(), Ordering::Release);",
        Harmless,
        "a root that is too low is legal: searches go right",
    ),
    (
        "without Store in split.rs, fair_split: left.set_sibling(Sibling::normal(at));",
        Harmless,
        "the tag stays, which every search allows; the next session mends it",
    ),
    (
        "without Store in split.rs, fair_split: left.set_hint(middle);",
        Harmless,
        "the hint is checked before it is used: without it the slots are counted",
    ),
    (
        "without Store in version.rs, retire_into: self.node.store(FWD, successor);",
        Harmless,
        "whoever comes to the dead node descends anew instead",
    ),
    (
        "without Store in write.rs, fast_insert: node.set_hint(place.count + 1);",
        Harmless,
        "the hint is checked before it is used: without it the slots are counted",
    ),
    (
        "without Store in write.rs, fast_delete: node.set_hint(last);",
        Harmless,
        "the hint is checked before it is used: without it the slots are counted",
    ),
    (
        "relaxed Store in merge.rs, merge: right.set_merging(true);",
        Visibility,
        "the word means nothing after a crash",
    ),
    (
        "relaxed Store in merge.rs, absorb: l.set_value(in_left + slot, right.value(slot));",
        Visibility,
        "nobody gets there before the fence that follows",
    ),
    (
        "relaxed Store in merge.rs, absorb: l.set_key(in_left + slot, right.key(slot));",
        Visibility,
        "nobody gets there before the fence that follows",
    ),
    (
        "relaxed Store in merge.rs, absorb: l.kill_from(in_left + in_right, Fences { low: l.low(), high: right.high() }.dead());",
        Visibility,
        "nobody gets there before the fence that follows",
    ),
    (
        "relaxed Store in merge.rs, absorb: left.begin(Kind::Header);",
        Visibility,
        "the word means nothing after a crash",
    ),
    (
        "relaxed Store in merge.rs, absorb: l.set_sibling(Sibling { at: right.at(), tag: Tag::Merging });",
        Visibility,
        "the first store to its line since the last fence",
    ),
    (
        "relaxed Store in node.rs, initialise: self.store(word, value);",
        Visibility,
        "nobody gets there before the fence that follows",
    ),
    (
        "relaxed Store in node.rs, initialise: self.kill_from(count, init.fences.dead());",
        Visibility,
        "nobody gets there before the fence that follows",
    ),
    (
        "relaxed Store in post.rs, install_root: root.set_value(slot, child);",
        Visibility,
        "nobody gets there before the fence that follows",
    ),
    (
        "relaxed Store in post.rs, install_root: root.set_key(slot, key);",
        Visibility,
        "nobody gets there before the fence that follows",
    ),
    (
        "relaxed Store in repair.rs, settle_sibling: locked.begin(Kind::Header);",
        Visibility,
        "the word means nothing after a crash",
    ),
    (
        "relaxed Store in repair.rs, settle_sibling: node.set_sibling(Sibling::normal(next));",
        Visibility,
        "nothing before it in its line is to be ordered",
    ),
    (
        "relaxed Store in route.rs, set_root: word.store(0, root.word(), Ordering::Release);",
        Visibility,
        "nothing before it in its line is to be ordered",
    ),
    (
        "relaxed Store in split.rs, fair_split: locked.begin(Kind::Header);",
        Visibility,
        "the word means nothing after a crash",
    ),
    (
        "relaxed Store in split.rs, fair_split: left.set_sibling(Sibling { at, tag: Tag::Splitting });",
        Visibility,
        "the first store to its line since the last fence",
    ),
    (
        "relaxed Store in split.rs, fill_right: right.set_value(to, value);",
        Visibility,
        "nobody gets there before the fence that follows",
    ),
    (
        "relaxed Store in split.rs, fill_right: right.set_key(to, key);",
        Visibility,
        "nobody gets there before the fence that follows",
    ),
    (
        "relaxed Store in version.rs, retire_into: self.node.store(FWD, successor);",
        Visibility,
        "the word means nothing after a crash",
    ),
    (
        "relaxed Store in version.rs, drop: self.node.store(LOCK, self.word);",
        Visibility,
        "the word means nothing after a crash",
    ),
    (
        "relaxed Store in write.rs, update: leaf.begin(Kind::Update);",
        Visibility,
        "the word means nothing after a crash",
    ),
    (
        "relaxed Store in write.rs, update: leaf.node().set_value(slot, value);",
        Visibility,
        "nothing before it in its line is to be ordered",
    ),
    (
        "relaxed Store in write.rs, fast_insert: locked.begin(Kind::Insert);",
        Visibility,
        "the word means nothing after a crash",
    ),
    (
        "relaxed Store in write.rs, fast_delete: locked.begin(Kind::Delete);",
        Visibility,
        "the word means nothing after a crash",
    ),
    (
        "relaxed Store in write.rs, fast_delete: node.set_key(place.slot, node.key_or_dead(place.slot + 1, dead));",
        Visibility,
        "nothing before it in its line is to be ordered",
    ),
    (
        "without Store in merge.rs, merge: right.set_merging(true);",
        NeedsSchedules,
        "a poster must look at the node between M1 and M2",
    ),
    (
        "without Store in merge.rs, absorb: left.begin(Kind::Header);",
        NeedsSchedules,
        "tells readers that a primitive is under way",
    ),
    (
        "without Store in repair.rs, settle_sibling: locked.begin(Kind::Header);",
        NeedsSchedules,
        "tells readers that a primitive is under way",
    ),
    (
        "without Fence in route.rs, set_root: guard.media().fence();",
        NeedsSchedules,
        "the next fence of the thread comes before the old root is used again",
    ),
    (
        "without Flush in route.rs, right_of: node.help_flush_header();",
        NeedsSchedules,
        "takes a reader that decides by what a writer has not flushed",
    ),
    (
        "without Fence in route.rs, right_of: node.help_flush_header();",
        NeedsSchedules,
        "takes a reader that decides by what a writer has not flushed",
    ),
    (
        "without Flush in scan.rs, take_seat: seen.node.help_flush();",
        NeedsSchedules,
        "takes a reader that decides by what a writer has not flushed",
    ),
    (
        "without Fence in scan.rs, take_seat: seen.node.help_flush();",
        NeedsSchedules,
        "takes a reader that decides by what a writer has not flushed",
    ),
    (
        "without Store in write.rs, update: leaf.begin(Kind::Update);",
        NeedsSchedules,
        "tells readers that a primitive is under way",
    ),
    (
        "without Flush in repair.rs, repair: locked.node().flush();",
        NotReached,
        "takes a kill inside a shift over two lines, a shift back, and a power failure",
    ),
    (
        "without Fence in repair.rs, repair: guard.media().fence();",
        NotReached,
        "takes a kill inside a shift over two lines, a shift back, and a power failure",
    ),
    (
        "without Flush in repair.rs, settle_sibling: node.flush_header();",
        NotReached,
        "takes a chunk that is used again after a repair, before anybody fences",
    ),
    (
        "without Fence in repair.rs, settle_sibling: guard.media().fence();",
        NotReached,
        "takes a chunk that is used again after a repair, before anybody fences",
    ),
    (
        "without Drain in merge.rs, absorb: media.drain();",
        NotReached,
        "takes a crash between the merge and the end of the operation that caused it, and a reader of both",
    ),
];
