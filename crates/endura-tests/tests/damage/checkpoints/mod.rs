//! Pools with checkpoints, and damage to what brings them back: the file of checkpoints, the superblock.
//!
//! Each function makes of `bytes` what a fuzzer says, and panics where an open or a backup gives what never was. Damage is
//! *raw*, or *sealed*: then the checksums are those of the damaged bytes, as nothing but a program of ill will leaves them, and
//! all that counts is that each call answers or fails.

mod alter;
pub(crate) mod backup;
mod history;
pub(crate) mod superblock;
pub(crate) mod torn;
