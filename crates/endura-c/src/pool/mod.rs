//! Pools: opening and closing, copies, reports and events.

mod at_exit;
mod copies;
mod events;
mod open;
mod opened;
mod options;
mod report;

pub use copies::{endura_backup, endura_backup_of_checkpoint, endura_compact, endura_restore};
pub use events::Listen;
pub use open::{endura_close, endura_format, endura_open, endura_version};
pub use opened::{endura_checkpoint, endura_drop, endura_recover_leaks, endura_rename};
pub use options::{
    ACCEPT_UNCLEAN, ANY_FILESYSTEM, CHECKPOINT_MUST_EXIST, CHECKPOINTS_OFF, CHECKPOINTS_ON_DEMAND,
    MUST_EXIST, MUST_NOT_EXIST, NO_RESTORE, Options, READ_MOSTLY, READ_ONLY,
};
pub use report::{endura_maps_json, endura_stats_json, endura_verify};

pub(crate) use opened::OpenPool;
