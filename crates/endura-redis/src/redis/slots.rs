//! What Valkey tells modules of slots that it moves at once.

use std::ffi::{c_int, c_void};

use super::api::NODE_ID;
use super::call::info;

/// Whether the server can move slots at once: Valkey 9 and later. To Redis the option and the event have no meaning, or
/// another one.
pub(crate) fn are_handled() -> bool {
    let [version] = info(c"server", [c"valkey_version"]);
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    major.is_some_and(|major| major >= 9)
}

/// `ValkeyModuleAtomicSlotMigrationInfo`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct SlotMigration {
    version: u64,
    name: [u8; NODE_ID + 1],
    ranges: *const [c_int; 2],
    count: u32,
}

impl SlotMigration {
    /// The name of the migration, and its slots.
    ///
    /// # Safety
    ///
    /// `data` is what the server passes with an event of a slot migration.
    pub(crate) unsafe fn read(data: *const c_void) -> ([u8; NODE_ID], Vec<(u16, u16)>) {
        // SAFETY: the caller's promise: `ranges` points to `count` ranges, each the first and the last slot.
        let (migration, ranges) = unsafe {
            let migration = &*data.cast::<Self>();
            (migration, std::slice::from_raw_parts(migration.ranges, migration.count as usize))
        };
        let slot = |number: c_int| u16::try_from(number).unwrap_or_default();
        let name = *migration.name.first_chunk().unwrap_or(&[0; NODE_ID]);
        (name, ranges.iter().map(|[first, last]| (slot(*first), slot(*last))).collect())
    }
}
