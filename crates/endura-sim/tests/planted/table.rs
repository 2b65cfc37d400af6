//! The bugs: what they are called, who shipped or published them, how soon each must be found.

/// A published bug, by the structure that it is planted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Planted {
    // An object behind a root pointer: boxed.rs.
    PublishBeforeInit,
    NoFenceBeforePublish,
    FlushOfThePointer,
    FlushRoundedTo512,
    HalfOfTheObjectFlushed,
    ConstructorUnflushed,
    MagicFirst,
    RootInTwoWords,
    DirtyRead,
    // A FAST leaf: leaf.rs.
    FastDeleteFlushesHead,
    FastDeleteTailUnflushed,
    FastDeleteIgnoresDuplicates,
    FastTerminatorFirst,
    FastLivenessByValues,
    FastCountPersisted,
    FastKeyBeforeValue,
    FastRelaxedStores,
    PopTakesTheNeighbour,
    PopBeforeDurable,
    // A FAIR split and merge; `docs/trees.md`: chain.rs.
    V8,
    V9,
    V10,
    V11,
    // Words of a radix tree that others pass: passing.rs.
    V12,
    V13,
    // Chunks: chunks.rs.
    V16,
    LeakBeforeLink,
    FreeBeforeUnlinkDurable,
    // A leak recovery beside operations: collected.rs.
    CollectWithoutGrace,
    CollectForgetsFrees,
    CollectForgetsMoves,
    CollectNewChunks,
    V17,
    // A radix node: radix.rs.
    RebuiltCountOffByOne,
    PersistentLatch,
    KeyAndChildApart,
    // A level hash table: buckets.rs.
    TokenBeforeData,
    MoveClearsFirst,
    // Spans of a page: spans.rs.
    FreeOfWrongLength,
    SpanBeforeItsRest,
}

/// A bug with where it comes from and how many crash images may be looked at until it is found.
/// (About twice as many as are: the order of exploration may change.)
pub(crate) struct Row {
    pub(crate) bug: Planted,
    pub(crate) source: &'static str,
    pub(crate) within: u64,
}

const fn row(bug: Planted, within: u64, source: &'static str) -> Row {
    Row { bug, source, within }
}

/// All of them, in the order of their numbers.
pub(crate) const TABLE: &[Row] = &[
    row(
        Planted::PublishBeforeInit,
        10,
        "P-CLHT, P-HOT and others (Witcher 28-39): a link to what is not written yet",
    ),
    row(
        Planted::NoFenceBeforePublish,
        10,
        "P-CLHT, P-HOT and others (Witcher 28-39): no fence between an object and its link",
    ),
    row(
        Planted::FlushOfThePointer,
        10,
        "P-CLHT, P-HOT and others (Witcher 28-39): the pointer is flushed, not what it points to",
    ),
    row(
        Planted::FlushRoundedTo512,
        10,
        "Corundum src/ll.rs:82-116: the start rounded down to 512, the line missed",
    ),
    row(
        Planted::HalfOfTheObjectFlushed,
        10,
        "Corundum, the same place: an object of two lines, the second not flushed",
    ),
    row(
        Planted::ConstructorUnflushed,
        10,
        "FAST_FAIR issue 13 (Jaaru): the constructor flushes nothing",
    ),
    row(
        Planted::MagicFirst,
        10,
        "Witcher's PMDK ports, issue 1 (Agamotto): half-made pools look complete",
    ),
    row(Planted::RootInTwoWords, 10, "FAST_FAIR (Witcher 5): root and height, one after the other"),
    row(
        Planted::DirtyRead,
        50,
        "RECIPE issues 11-13, CCEH issue 11: a reader returns what is not durable",
    ),
    row(
        Planted::FastDeleteFlushesHead,
        2500,
        "FAST_FAIR btree.h:219-233 (Witcher 3): a line is flushed at its first entry",
    ),
    row(
        Planted::FastDeleteTailUnflushed,
        10,
        "FAST_FAIR remove_key: the last line is never flushed",
    ),
    row(
        Planted::FastDeleteIgnoresDuplicates,
        200,
        "FAST_FAIR (Witcher 4): a deleted key comes back",
    ),
    row(
        Planted::FastTerminatorFirst,
        200,
        "FAST_FAIR: an insert at slot 0 stores the end of the node first",
    ),
    row(
        Planted::FastLivenessByValues,
        800,
        "FAST_FAIR (DICL issue 10): equal values look like one entry on the move",
    ),
    row(Planted::FastCountPersisted, 10, "FAST_FAIR last_index: a count is believed after a crash"),
    row(
        Planted::FastKeyBeforeValue,
        10,
        "an entry of 16 bytes that counts from its first half on (Yashme: torn stores)",
    ),
    row(
        Planted::FastRelaxedStores,
        10,
        "RECIPE f0b891a, cfd2468, d65b1e1: stores that a compiler or ARM reorders",
    ),
    row(
        Planted::PopTakesTheNeighbour,
        800,
        "(ours) a pop gives one entry and takes another one out",
    ),
    row(
        Planted::PopBeforeDurable,
        10,
        "(ours) a pop returns before what it took out is durably gone",
    ),
    row(Planted::V8, 200, "FAIR split: the new node is unlocked before its link is durable"),
    row(Planted::V9, 200, "FAIR split: a reader goes right over a link that is not durable"),
    row(Planted::V10, 200, "FAIR merge: `sib` of now is combined with `high` of before"),
    row(Planted::V11, 50, "FAIR split: recovery completes what readers were told is not there"),
    row(Planted::V12, 50, "ROART: a writer is done behind a word that is not durable"),
    row(Planted::V13, 50, "ROART: a child is entered before the index says where it is"),
    row(
        Planted::V16,
        100,
        "a page is taken whole while a list of a thread still names one of its chunks",
    ),
    row(
        Planted::LeakBeforeLink,
        10,
        "PMwCAS PR 7 and 8, CCEH (Witcher): allocated durably, then never linked",
    ),
    row(
        Planted::FreeBeforeUnlinkDurable,
        50,
        "silent in all three papers: a chunk is used again before its unlink is durable",
    ),
    row(
        Planted::CollectWithoutGrace,
        400,
        "DCMM: swept while a thread stands between unlink and free: freed twice",
    ),
    row(
        Planted::CollectForgetsFrees,
        400,
        "DCMM: what is freed beside the marking is not marked: freed twice",
    ),
    row(
        Planted::CollectForgetsMoves,
        800,
        "the reserve of an NBTree: a chunk moves to where the marker has been",
    ),
    row(Planted::CollectNewChunks, 400, "DCMM: what is allocated beside the marking is swept"),
    row(Planted::V17, 800, "DCMM: what readers pass through, and the marker does not, is swept"),
    row(
        Planted::RebuiltCountOffByOne,
        10,
        "ROART N.cpp check_generation: the index of the last child is its count",
    ),
    row(
        Planted::PersistentLatch,
        10,
        "ROART recovery_latch; CCEH, P-CLHT (PMRace): a lock that a crash leaves locked",
    ),
    row(
        Planted::KeyAndChildApart,
        10,
        "ROART without ZENTRY, P-ART (Witcher 26, 27): key and child in two stores",
    ),
    row(
        Planted::TokenBeforeData,
        10,
        "level hashing (Witcher 7-16, ten places): the token before key and value",
    ),
    row(
        Planted::MoveClearsFirst,
        50,
        "level hashing (Witcher 17-23): a move between buckets in two tokens",
    ),
    row(
        Planted::FreeOfWrongLength,
        50,
        "a table of spans: what is left of a gap says FREE for the whole gap's length",
    ),
    row(
        Planted::SpanBeforeItsRest,
        150,
        "a table of spans: the first word says where the rest begins before the rest is durable",
    ),
];
