//! Offsets in a pool (`docs/design.md` draws it byte by byte).
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..128 | superblock, copy A |
//! | 4096..4224 | superblock, copy B |
//! | 8192..8256 | session words: committed one by one by 8-byte stores, outside any checksum |
//! | 11264..12288 | the new name of a map that is being renamed |
//! | 12288..1 MiB | map directory: entries of 1,024 bytes |
//! | 1 MiB..2 MiB | the free space that the last clean close left, first block |
//! | 2 MiB.. | pages of 2 MiB, each with a header line |

/// Bytes of a page: the unit in which the pool grows and which holds chunks of one size.
pub const PAGE: u64 = 2 << 20;

/// Superblock, copy A.
pub(crate) const SUPERBLOCK_A: u64 = 0;
/// Superblock, copy B: another page of the file system, so that no torn write meets both.
pub(crate) const SUPERBLOCK_B: u64 = 4096;

/// Session word: the number of pages ever taken (page 0 included). Only grows.
pub(crate) const NEXT_PAGE: u64 = 8192;
/// Session word: offset of the list of free space that the last clean close wrote, 0 = none.
pub(crate) const SAVED_FREE: u64 = 8200;
/// Session word: the page that continues the map directory, 0 = none.
pub(crate) const DIRECTORY_NEXT: u64 = 8208;
/// Session word: which turn of the 20-bit generation in lock words the nodes were last readied for.
pub(crate) const LOCK_TURN: u64 = 8216;
/// Session word: 1 = chunks may be stranded although the last session was closed.
pub(crate) const UNCOLLECTED: u64 = 8224;
/// Session word: up to how many pages a session may grow that does not know of all free space; 0 = any
/// number.
pub(crate) const GROW_TO: u64 = 8232;

/// The place of a map's new name until it is in the map's entry. Laid out as an entry.
pub(crate) const NEW_NAME: u64 = DIRECTORY - ENTRY;
/// The first directory entry.
pub(crate) const DIRECTORY: u64 = 12288;
/// Where the directory entries of page 0 end.
pub(crate) const DIRECTORY_END: u64 = 1 << 20;
/// Bytes of a directory entry: one line of words, four lines each of name, key type and value type, three lines for
/// the tree.
pub(crate) const ENTRY: u64 = 1024;

/// The first block of saved free space: in page 0, so that a small pool needs no page for it.
pub(crate) const SAVED_BLOCK: u64 = 1 << 20;
/// Bytes of that block.
pub(crate) const SAVED_BLOCK_BYTES: u64 = PAGE - SAVED_BLOCK;
