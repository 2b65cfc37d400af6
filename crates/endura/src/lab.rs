//! The library's inside, for the lab: the explorer, the benchmarks, the variants, tests and fuzz targets.
//!
//! Nothing here is part of the API, and there is no promise of stability: any version may change or take away
//! any of it. All others start at [`Pool`](crate::Pool).

pub use crate::index::{NarrowLeaves, NbTree, Wide, default_layout};
pub use crate::runtime::arena::Arena;

/// What the processor offers.
pub mod cpu {
    pub use crate::cpu::vectors::Vectors;
}

/// Words that survive, and the trait that a medium of one's own has to have.
pub mod media {
    pub use crate::media::{
        DIRTY_GRAIN, DirtyPages, Domain, FlushInstruction, Heap, LINE, Mapped, Mapping, Mark,
        Media, MediaChoice, Ordering, Placement, Region, Reservation, STEP, Span,
        explain_bus_errors, has_pair_exchange,
    };
}

/// Space and lifetime.
pub mod pool {
    pub use crate::space::{
        Counted, Guard, Hold, Inventory, LeakRecoverer, LeakRecovery, LeakRecoveryState, LeakStep,
        LeakWalk, MapState, PAGE, Quiesced, Session, Shares, SizeUse, Space, SpaceCheck,
        SpaceStats, Worker, set_waiting, superblock,
    };

    use std::sync::Arc;

    use crate::Pool;
    use crate::media::Mapped;

    /// The space in which a pool has its maps, to open their trees from below. The caller keeps the pool open.
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
