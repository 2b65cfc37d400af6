//! Slots that Valkey moves at once, with `CLUSTER MIGRATESLOTS`.
//!
//! The source sends the keys of the slots to the target, as it does to a replica. The target keeps them from its clients
//! until it owns the slots, and deletes them if the migration is given up; the source deletes its own when it has lost the
//! slots. All this is done by the server, by commands and deletions as any others. Only what a kill of the target leaves
//! is the matter of this module, because only the pool has it: the pool says which slots are being imported, and a start
//! drops the keys of those that the node does not own.
//!
//! The pool says so before the first key comes. That an import has ended is written some turns later, when the server has
//! written which slots the node owns: a kill before that finds a node that does not own them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::session::{Session, session};
use crate::redis::api::{NODE_ID, events, flags};
use crate::redis::{Context, Level, log};
use crate::store::{Outcome, SlotRanges, has_slot, sentence, slot_of};

/// The imports in progress, and those that have ended and are still in the pool, by their names.
static IMPORTS: Mutex<Imports> = Mutex::new(Imports::new());

/// The number of turns after which the pool must be told which slots are being imported; 0 if it has them.
static BEHIND: AtomicU32 = AtomicU32::new(0);

/// An import ends at the end of a turn, and the server writes which slots the node owns at the end of the next one. The
/// callback for the end of a turn comes after that; one more turn, for a server that does it in another order.
const TURNS: u32 = 3;

type Imports = BTreeMap<[u8; NODE_ID], Import>;

struct Import {
    slots: SlotRanges,
    has_ended: bool,
}

fn imports() -> MutexGuard<'static, Imports> {
    IMPORTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Follows an import of slots: `which` says what became of the one of this name.
pub(super) fn follow(which: u64, name: [u8; NODE_ID], slots: SlotRanges) {
    match which {
        events::IMPORT_STARTS => {
            imports().insert(name, Import { slots, has_ended: false });
        }
        events::IMPORT_ABORTED | events::IMPORT_COMPLETED => {
            imports().entry(name).and_modify(|import| import.has_ended = true);
        }
        _ => return,
    }
    BEHIND.store(TURNS, Ordering::Relaxed);
    if which == events::IMPORT_STARTS
        && session().is_attached()
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
    fn write_imports(&self) -> endura::Result<()> {
        let all: SlotRanges =
            imports().values().flat_map(|import| &import.slots).copied().collect();
        self.store.catalogue.set_imports(&all)
    }

    /// Called at the end of a turn. Writes which slots are being imported, some turns after that has changed; what fails is
    /// tried again at the next turn. While an append-only file is loaded, its imports start and end again: the pool still
    /// names those that a kill has cut, until their keys have been dropped.
    pub(super) fn follow_imports(&self) {
        let turns = BEHIND.load(Ordering::Relaxed);
        if turns == 0 || !self.is_attached() {
            return;
        }
        if turns == 1 {
            imports().retain(|_, import| !import.has_ended);
            if self.write_imports().is_err() {
                return;
            }
        }
        BEHIND.store(turns - 1, Ordering::Relaxed);
    }

    /// Removes the records of the keys that are not attached because their import was cut. Then the pool need not name
    /// their slots any more.
    pub(super) fn drop_cut_off(&self, ids: &[u64]) -> Outcome {
        for id in ids {
            self.store.catalogue.remove(*id)?;
        }
        BEHIND.store(1, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the slot of this key is being imported. Its source sends the deletion of the key itself.
    pub(crate) fn is_imported(&self, name: &[u8]) -> bool {
        let imports = imports();
        let mut in_progress = imports.values().filter(|import| !import.has_ended).peekable();
        if in_progress.peek().is_none() {
            return false;
        }
        let slot = slot_of(name);
        in_progress.any(|import| has_slot(&import.slots, slot))
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
