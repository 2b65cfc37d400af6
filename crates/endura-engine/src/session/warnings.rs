//! Warnings derived from a pool's statistics.

use crate::space::SpaceStats;

/// Below this many bytes there is no warning.
const LITTLE: u64 = 64 << 20;

const STALLED: &str = "much that was freed cannot be used again yet, because a thread stays inside an \
    operation or did so until a moment ago, and the file grows meanwhile: see `limbo_bytes`";

const SPARSE: &str = "more than half of the bytes in use is free, but in spans that other entries keep, \
    for entries of the same size only: see `sizes`. Where it is needed for others, write \
    the maps to a new pool";

/// Warnings about how a pool uses its space.
pub(super) fn of(space: &SpaceStats) -> impl Iterator<Item = &'static str> {
    let in_use = space.bytes_in_use;
    let stalled = space.limbo_bytes >= LITTLE.max(in_use / 4);
    let sparse = space.free_chunk_bytes >= LITTLE.max(in_use / 2);
    [(stalled, STALLED), (sparse, SPARSE)]
        .into_iter()
        .filter(|(is_so, _)| *is_so)
        .map(|(_, text)| text)
}
