//! Offsets in a pool (`docs/design.md` draws it byte by byte).
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..256 | superblock, copy A |
//! | 512..520 | number of the newest checkpoint; the rest of the 4 KiB is zero |
//! | 4096..4352 | superblock, copy B; the rest of the 4 KiB is zero |
//! | 8192..8384 | session words: committed one by one by 8-byte stores, outside any checksum |
//! | 11264..12288 | the new name of a map that is being renamed |
//! | 12288..16384 | the table of page 0, like unit 0 of any other page that is cut |
//! | 16384..32768 | map directory: entries of 1,024 bytes |
//! | 32768..49152 | the first block of the list of free space that the last clean close left |
//! | 49152..2 MiB | spans, as in any page that is cut |
//! | 2 MiB.. | pages of 2 MiB |

/// Bytes of a page: the unit in which addresses are mapped, and in which the largest chunks are allocated.
pub const PAGE: u64 = 2 << 20;
/// Bytes of a unit. A span consists of whole units.
pub(crate) const UNIT: u64 = 4096;
/// Units of a page.
pub(crate) const UNITS: u64 = PAGE / UNIT;

/// Superblock, copy A.
pub(crate) const SUPERBLOCK_A: u64 = 0;
/// Superblock, copy B. It lies in another page of the file system than copy A, so that one torn write cannot damage
/// both.
pub(crate) const SUPERBLOCK_B: u64 = 4096;

/// The [number](crate::space::file::newest_number) of the newest checkpoint. It lies in a page that checkpoints leave
/// out, and in another sector than the superblock.
pub(crate) const NEWEST_NUMBER: u64 = 512;

/// Session word: the number of pages ever taken (page 0 included). Only a clean close lowers it.
pub(crate) const NEXT_PAGE: u64 = 8192;
/// Session word: the offset of the list of free space that the last clean close wrote, 0 = none.
pub(crate) const SAVED_FREE: u64 = 8200;
/// Session word: the offset of the span that continues the map directory, 0 = none.
pub(crate) const DIRECTORY_NEXT: u64 = 8208;
/// Session word: for which turn of the 20-bit generation in lock words the nodes were last prepared.
pub(crate) const LOCK_TURN: u64 = 8216;
/// Sessions in a turn, as a power of two.
pub(crate) const LOCK_TURN_SESSIONS: u32 = 20;
/// Session word: 1 = chunks may be stranded although the last session was closed.
pub(crate) const UNRECOVERED: u64 = 8224;
/// Session word: the length in bytes up to which the file may grow in a session that does not know all free space; 0 =
/// no limit.
pub(crate) const GROW_TO: u64 = 8232;
/// Session word: the least length of the file in bytes. All spans in use lie below it.
pub(crate) const LENGTH: u64 = 8240;
/// Session word: the number of maps at the last clean close. Its upper half has the lower half of that session's
/// generation.
pub(crate) const MAPS: u64 = 8248;

/// Session words, one for each [flight](crate::space::batch::flights): what leads to the intent that is being applied, 0 =
/// none.
pub(crate) const BATCH_WORDS: u64 = 8256;

/// The place of a map's new name until the name is in the map's entry. It is laid out as an entry.
pub(crate) const NEW_NAME: u64 = TABLE - ENTRY;
/// The table of page 0, whose first units hold the superblocks and the session words.
pub(crate) const TABLE: u64 = 3 * UNIT;
/// The first directory entry.
pub(crate) const DIRECTORY: u64 = 4 * UNIT;
/// Where the directory entries of page 0 end.
pub(crate) const DIRECTORY_END: u64 = 8 * UNIT;
/// Bytes of a directory entry: one line of words, four lines each for the name, the key type and the value type, three
/// lines for the tree.
pub(crate) const ENTRY: u64 = 1024;

/// Units of a span that continues the directory. Its link to the next span takes the place of its first entry.
pub(crate) const DIRECTORY_UNITS: u64 = 16;

/// The first block of saved free space. It lies in page 0, so that a small pool needs no span for it.
pub(crate) const SAVED_BLOCK: u64 = 8 * UNIT;
/// Bytes of that block.
pub(crate) const SAVED_BLOCK_BYTES: u64 = 4 * UNIT;

/// The first unit of page 0 that belongs to a span.
const FIRST_OF_PAGE_0: u64 = 12;

/// The first unit of page `page` that belongs to a span, counted from the start of the pool: the one after the table,
/// and in page 0 the one after all that describes the pool.
pub(crate) fn first_unit(page: u64) -> u64 {
    page * UNITS + if page == 0 { FIRST_OF_PAGE_0 } else { 1 }
}
