//! What kept a pool from growing.

/// What kept a pool from growing, when an operation failed with [`Error::Full`](crate::Error::Full).
///
/// # Example
///
/// ```
/// use endura::{Error, Pool, SpaceLimit};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("data.endura");
/// let pool = Pool::options().max_size(4 << 20).open(&path)?;
/// let map = pool.map::<u64, [u8]>("pages")?;
/// let full = (0..).find_map(|key| map.put(key, &[7; 65536]).err());
/// assert!(matches!(full, Some(Error::Full { limit: SpaceLimit::MaxSize, .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpaceLimit {
    /// The pool has the size that `max_size` allows, or, if none was chosen, 1 TiB.
    MaxSize,
    /// The disk of the pool is full.
    DiskFull,
    /// The user's or the group's quota on that disk is used up.
    Quota,
    /// The limit of the process on the size of files (`ulimit -f`).
    FileSizeLimit,
    /// The file system allows no longer file.
    FileSystem,
    /// The process has no more addresses for the pool (`ulimit -v`, or many open pools).
    AddressSpace,
}

impl SpaceLimit {
    /// A name of the limit that programs can rely on: it does not change when texts do.
    pub fn code(self) -> &'static str {
        match self {
            Self::MaxSize => "max_size",
            Self::DiskFull => "disk_full",
            Self::Quota => "quota",
            Self::FileSizeLimit => "file_size_limit",
            Self::FileSystem => "file_system",
            Self::AddressSpace => "address_space",
        }
    }

    /// What has happened, as the start of a sentence.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::MaxSize => "the pool has reached its largest size",
            Self::DiskFull => "the disk is full",
            Self::Quota => "the disk quota is used up",
            Self::FileSizeLimit => "the pool has reached the limit on the size of files",
            Self::FileSystem => "the file system allows no longer file",
            Self::AddressSpace => "the process has no more addresses for the pool",
        }
    }

    /// What to do about it.
    pub(super) fn act(self) -> &'static str {
        match self {
            Self::MaxSize => "remove entries, or open it with a larger `max_size`",
            Self::DiskFull => "free space on that disk",
            Self::Quota => "raise the quota",
            Self::FileSizeLimit => "raise that limit (`ulimit -f`)",
            Self::FileSystem => "use a file system that allows longer ones",
            Self::AddressSpace => "raise `ulimit -v`, or open fewer pools at once",
        }
    }
}
