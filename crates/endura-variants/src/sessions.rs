//! Sessions of a pool on any medium.

use std::sync::Arc;

use endura_engine::Result;
use endura_engine::media::Media;
use endura_engine::space::{Session, Space};

/// The first session of a pool, which is made on this medium.
pub fn first<M: Media>(medium: M) -> Result<Arc<Space<M>>> {
    Space::format(&medium)?;
    begin(medium, 1, true)
}

/// A session of the pool on this medium that may write. `generation` is greater than those of the sessions before;
/// `clean` says whether the last of them closed the pool.
pub fn begin<M: Media>(medium: M, generation: u64, clean: bool) -> Result<Arc<Space<M>>> {
    Space::mount(medium, Session { generation, clean, read_only: false }).map(Arc::new)
}
