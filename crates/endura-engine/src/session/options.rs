//! The options of an open.

use std::time::Duration;

use crate::checkpoint::Checkpoints;
use crate::media::{MediaChoice, Reservation};
use crate::space::Access;
use crate::{Error, Result};

/// The options that `PoolOptions` collects and documents.
#[derive(Debug, Clone)]
pub struct Options {
    /// `max_size`.
    pub max_size: Option<u64>,
    /// `media`.
    pub media: MediaChoice,
    /// `read_only`.
    pub read_only: bool,
    /// `accept_unclean`.
    pub accept_unclean: bool,
    /// `allow_any_filesystem`.
    pub any_filesystem: bool,
    /// `read_mostly`.
    pub read_mostly: bool,
    /// `recovery_threads`.
    pub recovery_threads: usize,
    /// `lock_timeout`.
    pub lock_timeout: Duration,
    /// `checkpoints`.
    pub checkpoints: Option<Checkpoints>,
    /// `restore`.
    pub restore: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_size: None,
            media: MediaChoice::default(),
            read_only: false,
            accept_unclean: false,
            any_filesystem: false,
            read_mostly: false,
            recovery_threads: 1,
            lock_timeout: Duration::ZERO,
            checkpoints: None,
            restore: true,
        }
    }
}

impl Options {
    pub(crate) fn access(&self) -> Access {
        Access { read_only: self.read_only, any_filesystem: self.any_filesystem }
    }

    pub(super) fn check_max_size(&self) -> Result<()> {
        match self.max_size {
            Some(bytes) if bytes > Reservation::MAX => Err(Error::Unsupported {
                what: "a `max_size` above 64 TiB, more than a process can address; choose less",
            }),
            _ => Ok(()),
        }
    }
}
