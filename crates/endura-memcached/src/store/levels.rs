//! How much room the pool has, of each kind: free space that any item can use, and free chunks of each size, which only
//! items of that size can use.

use endura::Stats;

/// The most bytes of a record that lies in a chunk of a span with others. Longer ones have spans of their own.
const LONGEST_CHUNK: u64 = 16 << 10;
/// Spans have a multiple of so many bytes.
const UNIT: u64 = 4 << 10;
/// Bytes of a record before the key.
const RECORD_HEAD: u64 = 16;

/// Bytes of the record of an entry.
pub(super) fn record_bytes(key: usize, value: usize) -> u64 {
    (RECORD_HEAD + key as u64 + value as u64).next_multiple_of(8)
}

/// In what the record of an item lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// In a chunk of the size with this index.
    Chunk(usize),
    /// In a span of its own.
    Alone,
}

/// The chunks of one size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) chunk: u64,
    /// Bytes of the spans with such chunks.
    pub(super) spans: u64,
    /// Bytes of the free chunks.
    pub(super) free: u64,
    /// The bytes that shall be free.
    pub(super) target: u64,
}

impl Size {
    /// The share of the items of the least worth that shall go, so that there are free chunks again. The fewer there are,
    /// the greater it is.
    pub(super) fn share(&self) -> f64 {
        match self.free {
            free if free >= self.target => 0.0,
            free if free >= self.target / 2 => 1.0 / 8.0,
            free if free >= self.target / 4 => 1.0 / 4.0,
            _ => 1.0 / 2.0,
        }
    }
}

/// How much room the pool has.
#[derive(Debug, Clone)]
pub(super) struct Levels {
    /// Bytes that any item can use.
    pub(super) reserve: u64,
    /// Below this reserve some size has to give spans back.
    pub(super) low: u64,
    /// From this reserve on nothing is evicted.
    pub(super) high: u64,
    /// The sizes of which there are spans, ascending.
    pub(super) sizes: Vec<Size>,
    /// Whether not all free space is known, after an unclean end.
    pub(super) is_unknown: bool,
}

impl Levels {
    pub(super) fn of(stats: &Stats) -> Self {
        let most = stats.max_bytes;
        let (low, high) = Self::marks(most);
        let size = |size: &endura::SizeUse| Size {
            chunk: size.chunk_bytes,
            spans: size.span_bytes,
            free: size.free_bytes,
            target: target(size.chunk_bytes, size.span_bytes, most),
        };
        Self {
            reserve: most.saturating_sub(stats.bytes_in_use),
            low,
            high,
            sizes: stats.sizes.iter().map(size).collect(),
            is_unknown: !stats.leak_recovery.is_done(),
        }
    }

    /// The low and the high mark of the reserve of a pool of at most so many bytes.
    pub(super) fn marks(most: u64) -> (u64, u64) {
        let high = (most / 32).max((1 << 20).min(most / 8));
        (high / 4, high)
    }

    /// In what a record of so many bytes lies.
    pub(super) fn room(&self, record: u64) -> Room {
        let index = self.sizes.partition_point(|size| size.chunk < record);
        if record > LONGEST_CHUNK || index == self.sizes.len() {
            Room::Alone
        } else {
            Room::Chunk(index)
        }
    }

    /// Bytes of the chunk that holds a record of so many bytes.
    pub(super) fn chunk(&self, record: u64) -> u64 {
        match self.room(record) {
            Room::Chunk(index) => self.sizes[index].chunk,
            Room::Alone => record.next_multiple_of(UNIT),
        }
    }

    /// Whether there is so little that something has to be evicted: of the sizes together, or of one of them.
    pub(super) fn are_short(&self) -> bool {
        let (mut missing, mut all) = (0, 0);
        for size in &self.sizes {
            missing += size.target.saturating_sub(size.free);
            all += size.target;
            if size.free < size.target / 4 {
                return true;
            }
        }
        missing > all / 2
    }
}

/// The bytes of free chunks of a size that shall be there: so many that the evictions keep up with the stores, and so few
/// that little of the pool is empty.
fn target(chunk: u64, spans: u64, most: u64) -> u64 {
    (spans / 64).max((spans / 4).min((most / 8192).max(2 * chunk)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_of_a_pool_is_kept_empty() {
        for most in [4_u64 << 20, 16 << 20, 1 << 30, 1 << 40] {
            let (low, high) = Levels::marks(most);
            assert!(0 < low && low < high && high <= most / 8);
            assert!(target(4096, most / 10, most) <= most / 100, "{most}");
        }
    }

    #[test]
    fn fewer_free_chunks_ask_for_more() {
        let share = |free| Size { chunk: 64, spans: 1 << 20, free, target: 800 }.share();
        assert_eq!([share(900), share(500), share(300), share(0)], [0.0, 0.125, 0.25, 0.5]);
    }
}
