//! Sessions: how the path of a pool becomes an open pool, and how it is closed again.
//!
//! This module may use `checkpoint`, `index`, `tree` and `space`, and the modules below these. After a change run
//! `.ci/quick`, `cargo test -p endura-tests --test faults --test files` and `cargo test -p endura-engine --test
//! power_cuts`, which cuts the power during opens, rounds and restores.
//!
//! An open passes through four types. Each is made from the one before it, and knows more. So the compiler checks that
//! every step that may refuse a pool comes before the one write that begins a session.
//!
//! | type | what is known | what the disk has by then | what follows |
//! | --- | --- | --- | --- |
//! | [`Locked`] | the file is a pool of this build, and no other handle has it | nothing new; a pool that this call created is removed if the open fails | `judge` |
//! | [`Judged`](judged::Judged) | the persistence domain, the checkpoint, and that the pool is intact, was accepted, or was taken back to its checkpoint | what a restore wrote, which is a session of its own | `mount` |
//! | [`Mounted`](mounted::Mounted) | addresses for its largest size are reserved, it is mapped, and its allocator and directory are sound | nothing new | `begin`, which writes |
//! | [`Open`] | a session | the superblock and the marks of the session | `close` |
//!
//! | file | what |
//! | --- | --- |
//! | [`options`] | the options of an open |
//! | [`addresses`] | how many addresses a pool reserves |
//! | [`locked`], [`judged`], [`mounted`] | the steps of an open |
//! | [`open`] | the open pool that all handles share, and its close |
//! | [`stats`], [`warnings`], [`map_info`] | statistics, warnings, the list of maps |
//! | [`after_power_loss`] | what a power loss would leave |
//! | [`maps`] | a map is opened, or made |
//! | [`verify`] | verification of everything in a pool |
//! | [`copies`] | copies of whole pools, and restores by hand |

mod addresses;
mod after_power_loss;
mod copies;
mod judged;
mod locked;
mod map_info;
mod maps;
mod mounted;
mod open;
mod options;
mod stats;
mod verify;
mod warnings;

pub use after_power_loss::AfterPowerLoss;
pub use copies::FileThere;
pub use locked::{LONGEST_PAUSE, Locked, is_io};
pub use map_info::MapInfo;
pub use maps::{Handle, MapAsked};
pub use open::Closed;
pub use open::Open;
pub use options::Options;
pub use stats::Stats;
pub use verify::{MapReport, Report};
