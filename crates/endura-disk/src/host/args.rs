//! What the host is told.

use std::path::PathBuf;

use crate::disk::Honesty;

#[derive(clap::Args)]
pub(crate) struct CutArgs {
    /// The kernel of the machine
    #[arg(long)]
    pub(super) kernel: PathBuf,
    /// Its first file system, whose init starts the load
    #[arg(long)]
    pub(super) initrd: PathBuf,
    /// Where the image of the disk and its socket are made
    #[arg(long)]
    pub(super) folder: PathBuf,
    /// How often the power is cut
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) cuts: u32,
    /// After so many cuts the disk is made anew
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) life: u32,
    /// The longest time of a load, in milliseconds
    #[arg(long, default_value_t = 6_000, value_parser = clap::value_parser!(u64).range(500..))]
    pub(super) longest: u64,
    /// The number that all that is random comes from [default: random]
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// MiB of the disk
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u64).range(32..=4096))]
    pub(super) size: u64,
    /// The disk acknowledges flushes and does nothing: to see that this is noticed
    #[arg(long)]
    lying: bool,
    /// The pool has no checkpoints: to see that the disk tears it
    #[arg(long)]
    pub(super) without_checkpoints: bool,
    /// Print all that the machine prints
    #[arg(long)]
    pub(super) verbose: bool,
}

impl CutArgs {
    pub(super) fn honesty(&self) -> Honesty {
        if self.lying { Honesty::Lies } else { Honesty::Flushes }
    }
}
