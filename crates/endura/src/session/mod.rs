//! A session: how the path of a pool becomes an open pool, and how it is closed again.
//!
//! An open passes through four types. Each knows what the one before it did not, and can only be made from it; so that all that
//! may refuse a pool comes before the one write that begins a session is what the compiler checks.
//!
//! | type | what is known | what the disk has by then | what follows |
//! | --- | --- | --- | --- |
//! | [`Locked`](locked::Locked) | the file is a pool of this build, and nobody else has it | nothing new; a pool that this call created goes again if the open fails | `judge` |
//! | [`Judged`](judged::Judged) | the persistence domain, the checkpoint, and that the pool is whole or was taken back to its checkpoint | what a restore wrote, which is a session of its own | `mount` |
//! | [`Mounted`](mounted::Mounted) | addresses for its largest size are reserved, it is mapped, and its allocator and directory are sound | nothing new | `begin`, which writes |
//! | [`Open`] | a session | the superblock and the marks of the session | `close` |
//!
//! | file | what |
//! | --- | --- |
//! | [`options`] | what an open is told |
//! | [`addresses`] | how many addresses a pool may take |
//! | [`locked`], [`judged`], [`mounted`] | the steps of an open |
//! | [`open`] | what the handles of an open pool share, and its close |
//! | [`stats`], [`warnings`], [`map_info`] | what an open pool tells of itself |
//! | [`verify`] | everything in a pool is checked |
//! | [`copies`] | copies of whole pools, and restores by hand |

mod addresses;
mod copies;
mod judged;
mod locked;
mod map_info;
mod mounted;
mod open;
mod options;
mod stats;
mod verify;
mod warnings;

pub(crate) use locked::{LONGEST_PAUSE, Locked, is_io};
pub use map_info::MapInfo;
pub use open::Closed;
pub(crate) use open::Open;
pub(crate) use options::Options;
pub use stats::Stats;
pub use verify::{MapReport, Report};
