//! The functions of `endura.h`, which says what each does. Here is how.
//!
//! | module | |
//! | --- | --- |
//! | `status`, `failure` | statuses, their names, the last error of a thread, and the border that panics do not cross |
//! | `memory` | slices, buffers, and what else of the program's memory is read or written |
//! | `handles` | handles, checked by generation |
//! | `pool` | pools: options, copies, reports, events |
//! | `map` | maps, and their integers |
//! | `entries` | keys and values, one by one, in order, and many in one call |
//! | `changes` | batches, transactions, and reads of one moment |
//!
//! Each function runs inside `failure::call`. What the pointers must be is said in the header.

#![expect(clippy::missing_safety_doc, reason = "the header says what each pointer must be")]

mod changes;
mod entries;
mod failure;
mod handles;
mod map;
mod memory;
mod pool;
mod status;

pub use changes::*;
pub use entries::*;
pub use failure::{endura_last_errno, endura_last_error};
pub use handles::{BatchHandle, IterHandle, MapHandle, PoolHandle, TransactionHandle};
pub use map::{
    endura_approximate_len, endura_clear, endura_key_number, endura_len, endura_map_kind,
    endura_map_open, endura_map_release, endura_map_types, endura_number_key,
};
pub use memory::{Buf, Slice, endura_buf_free};
pub use pool::{
    ACCEPT_UNCLEAN, ANY_FILESYSTEM, CHECKPOINT_MUST_EXIST, CHECKPOINTS_OFF, CHECKPOINTS_ON_DEMAND,
    Listen, MUST_EXIST, MUST_NOT_EXIST, NO_RESTORE, Options, READ_MOSTLY, READ_ONLY, endura_backup,
    endura_backup_of_checkpoint, endura_checkpoint, endura_close, endura_compact, endura_drop,
    endura_format, endura_maps_json, endura_open, endura_recover_leaks, endura_rename,
    endura_restore, endura_stats_json, endura_verify, endura_version,
};
pub use status::{
    ABSENT, CUT, DIFFERENT, E_ARGUMENT, E_BUSY, E_CLOSED, E_HANDLE, E_MEMORY, E_PANIC, E_TYPE, END,
    NO_CHECKPOINT, OK, PRESENT, STOPPED, Status, UNMET, endura_status_name, statuses,
};
