//! Extra commands in the append-only file. With them a load of the file gives the keys of other types as this server
//! has them.
//!
//! The commands of this module are not written to the append-only file. Where this server has a map, a load of the file
//! therefore finds no key, or it finds a map in the rewritten part of the file and leaves it out. In the cases of this
//! table, the commands that Redis writes would then have another result in the load than they had on this server, so an
//! extra command is written in front of them:
//!
//! | on this server | a load of the file, without the extra command | the extra command |
//! | --- | --- | --- |
//! | RENAME, COPY or RESTORE puts a map in place of a key of another type | finds no map, so the other key stays, and is visible once the map is gone | DEL of the name |
//! | SET with XX or KEEPTTL puts a string in place of a map | finds nothing to replace, and no expiry to keep | SET of an empty string, with the expiry of the map |
//! | a map of the file was left out at the start, because a kill kept its removal out of the file | has that map in the way of another key, or as the source of a command such as SUNIONSTORE, which then fails | DEL of the name, at the start |
//! | the same, but the file is of another pool, or the keys could not be attached | the same | DEL of the name, once it is given to another key: until then the maps of the file can still be had, without this pool |
//! | a start attaches a map where the file has another key, because a kill kept one of the extra commands above out of the file | keeps the other key | DEL of the name |
//!
//! If a notification callback replicates a command, Redis writes that command in front of the one that caused the
//! notification, and writes both as one transaction.

use std::ffi::c_int;

use super::session::Session;
use crate::redis::{Context, Text, api};

impl Session {
    /// Writes the extra command that the append-only file needs in front of the command that caused this event, if it
    /// needs one.
    pub(super) fn tell_file(&self, context: &Context<'_>, class: c_int, event: &[u8], name: &Text) {
        let is_left_out = {
            let mut left_out = self.left_out();
            !left_out.is_empty() && left_out.remove(&(context.database(), name.bytes().to_vec()))
        };
        let may_replace = matches!(event, b"rename_to" | b"copy_to" | b"restore");
        let is_map = || context.peek(name).value().is_ok_and(|value| value.is_some());
        if is_left_out || may_replace && is_map() {
            context.delete_in_file(name);
        }
        // After the DEL, which would take away what SET with XX replaces.
        if class == api::NOTIFY_STRING && event == b"set" {
            self.tell_of_replaced_map(context, name);
        }
    }

    /// Tells the append-only file of a map that a string has replaced. The map is found by its record, which is removed
    /// only after this. The string itself is not opened, because opening a string that has already expired would delete
    /// it.
    fn tell_of_replaced_map(&self, context: &Context<'_>, name: &Text) {
        let unlinked: Vec<u64> = self.unlinked().iter().map(|unlinked| unlinked.id).collect();
        for id in unlinked {
            let record = self.store.catalogue.record(id).ok().flatten();
            if let Some(record) = record.filter(|record| record.name == name.bytes()) {
                context.set_in_file(name, record.expires);
            }
        }
    }
}
