//! The internals of the library, for the explorer, the benchmarks, the variants, tests and fuzz targets.
//!
//! Nothing here is part of the API: any version may change or remove any of it. Programs start at
//! [`Pool`](crate::Pool).

pub use crate::index::{NarrowLeaves, NbTree, Wide, default_layout};
pub use crate::runtime::arena::Arena;

/// The vector instructions of the processor.
pub mod cpu {
    pub use crate::cpu::vectors::Vectors;
}

/// Media, which store words that may survive a crash, and the trait that every medium implements.
pub mod media {
    pub use crate::media::{
        DIRTY_GRAIN, DirtyPages, Domain, FlushInstruction, Heap, LINE, Mapped, Mapping, Mark,
        Media, MediaChoice, Ordering, Placement, Region, Reservation, STEP, Span,
        explain_bus_errors, has_pair_exchange,
    };
}

/// The space of a pool, and the lifetime of its chunks.
pub mod pool {
    pub use crate::space::{
        Counted, Guard, Hold, Inventory, LeakRecoverer, LeakRecovery, LeakRecoveryState, LeakStep,
        LeakWalk, MapState, PAGE, Quiesced, Session, Shares, SizeUse, Space, SpaceCheck,
        SpaceStats, Worker, set_waiting, superblock,
    };

    use std::sync::Arc;

    use crate::Pool;
    use crate::media::Mapped;

    /// The space of a pool, over which a caller can open the trees of the pool's maps directly. The caller keeps the
    /// pool open.
    pub fn space(pool: &Pool) -> &Arc<Space<Mapped>> {
        pool.space()
    }
}

/// The file of a pool's checkpoints.
pub mod checkpoint {
    pub use crate::checkpoint::file::{CheckpointFile, Failure, Moment, Round, SLOT};
    pub use crate::os::door::DiskFile;
}

/// The papers' indexes, over any medium.
pub mod tree {
    pub use crate::tree::byte_range::{ByteRange, behind};
    pub use crate::tree::word_range::WordRange;
    pub use crate::tree::{
        ByteChange, ByteIndex, Bytes, Change, Entry, Index, LONGEST_KEY, LONGEST_VALUE, Len, Near,
        Popped, Repairs, TreeCheck, fast_fair, nbtree, roart,
    };
}
