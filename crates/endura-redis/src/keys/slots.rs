//! Slots that Valkey moves at once, with `CLUSTER MIGRATESLOTS`.
//!
//! The source sends the keys of the slots to the target, as it does to a replica. The target keeps them from its clients
//! until it owns the slots, and deletes them if the migration is given up; the source deletes its own when it has lost the
//! slots. All this is done by the server, by commands and deletions as any others. Only what a kill of the target leaves
//! is the matter of this module, because only the pool has it: the pool says which slots are being imported, and a start
//! drops the keys of those that the node does not own.
//!
//! The pool says so before the first key comes. That an import has ended is written a turn later, when the server has
//! written which slots the node owns: a kill in between must find the one or the other.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::session::{Session, session};
use crate::redis::api::{Event, RawContext, events, flags};
use crate::redis::{Context, Level, SlotMigration, log, slots_are_handled, subscribe};
use crate::store::{Outcome, SlotRanges, has_slot, sentence, slot_of};

/// The slots of the imports in progress, by the names of these.
static IMPORTS: Mutex<Imports> = Mutex::new(Imports::new());

/// Whether the pool may still name slots whose import has ended.
static IS_BEHIND: AtomicBool = AtomicBool::new(false);

type Imports = BTreeMap<[u8; 40], SlotRanges>;

fn imports() -> MutexGuard<'static, Imports> {
    IMPORTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells the server that slots may be moved at once while this module is loaded, if the server can do that. Returns `false`
/// if it refuses the subscription.
pub(crate) fn handle_slot_migrations(context: &Context<'_>) -> bool {
    !slots_are_handled() || subscribe(context, events::SLOT_MIGRATION, on_migration)
}

unsafe extern "C" fn on_migration(
    _raw: *mut RawContext,
    _event: Event,
    which: u64,
    data: *mut c_void,
) {
    // SAFETY: for this event the server passes such a structure, which lasts as long as the call.
    let (name, ranges) = unsafe { SlotMigration::read(data) };
    match which {
        events::IMPORT_STARTS => drop(imports().insert(name, ranges)),
        events::IMPORT_ABORTED | events::IMPORT_COMPLETED => drop(imports().remove(&name)),
        _ => return,
    }
    IS_BEHIND.store(true, Ordering::Relaxed);
    if which == events::IMPORT_STARTS
        && let Err(error) = session().write_imports()
    {
        let text = format!(
            "the slots that are imported could not be written, and are tried again: {}",
            sentence(&error)
        );
        log(Level::Warning, text);
    }
}

impl Session {
    /// Writes which slots are being imported, if that has changed. While an append-only file is loaded, its imports start
    /// and end again: the pool still names those that a kill has cut, until their keys have been dropped.
    pub(super) fn write_imports(&self) -> endura::Result<()> {
        if !self.is_attached() || !IS_BEHIND.load(Ordering::Relaxed) {
            return Ok(());
        }
        let all: SlotRanges = imports().values().flatten().copied().collect();
        self.store.catalogue.set_imports(&all)?;
        IS_BEHIND.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Removes the records of the keys that are not attached because their import was cut. Then the pool need not name
    /// their slots any more.
    pub(super) fn drop_cut_off(&self, ids: &[u64]) -> Outcome {
        for id in ids {
            self.store.catalogue.remove(*id)?;
        }
        IS_BEHIND.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the slot of this key is being imported. Its source sends the deletion of the key itself.
    pub(crate) fn is_imported(&self, name: &[u8]) -> bool {
        let imports = imports();
        !imports.is_empty() && imports.values().any(|ranges| has_slot(ranges, slot_of(name)))
    }

    /// The slots whose keys are not attached: a kill has cut their import, and this node does not own them.
    pub(super) fn slots_cut_off(&self, context: &Context<'_>) -> Outcome<impl Fn(&[u8]) -> bool> {
        let imported = self.store.catalogue.imports()?;
        let owned = if imported.is_empty() || !context.has(flags::CLUSTER) {
            None
        } else {
            let nodes = context.call(c"CLUSTER", &[b"NODES"]).unwrap_or_default();
            nodes.first().map(|nodes| owned_slots(nodes))
        };
        Ok(move |name: &[u8]| {
            owned.as_ref().is_some_and(|owned| {
                let slot = slot_of(name);
                has_slot(&imported, slot) && !has_slot(owned, slot)
            })
        })
    }
}

/// The slots that this node, or its master, owns according to CLUSTER NODES.
fn owned_slots(nodes: &str) -> SlotRanges {
    let lines: Vec<Vec<&str>> = nodes.lines().map(|line| line.split(' ').collect()).collect();
    let own = lines.iter().find(|words| words.get(2).is_some_and(|of| of.contains("myself")));
    let Some(own) = own else { return SlotRanges::new() };
    let master = lines.iter().find(|words| words.first() == own.get(3));
    let ranges = master.unwrap_or(own).iter().skip(8).filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some((first.parse().ok()?, last.parse().ok()?))
    });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use super::owned_slots;

    #[test]
    fn slots_of_a_node_are_those_of_its_master() {
        let master = "aa 127.0.0.1:1@2 myself,master - 0 0 1 connected 0-5 7 [9->-bb]";
        assert_eq!(owned_slots(master), [(0, 5), (7, 7)]);
        let nodes = "aa 127.0.0.1:1@2 master - 0 0 1 connected 3-4\nbb :0@0 myself,slave aa 0 0 1 connected";
        assert_eq!(owned_slots(nodes), [(3, 4)]);
    }
}
