//! What the append-only file gets besides the commands that Redis writes to it.
//!
//! Commands of this module stay out of that file, so where this server has a map, the file has no key when it is loaded, or
//! a map of its rewritten part, which is left out. Keys of other types must come out of it as they are here all the same:
//!
//! | here | in the file, without more | so it gets, in front of the command |
//! | --- | --- | --- |
//! | RENAME, COPY or RESTORE puts a map in place of a key of another type | the command finds no map: that key stays, and is seen when the map is gone | DEL of the name |
//! | SET with XX or KEEPTTL puts a string in place of a map | there is nothing to replace, and no time to keep | SET of an empty string, with the time of the map |
//! | a map of the file was left out at the start, and its name is given to another key | that map is in the way of the other key | DEL of the name |
//! | a start attaches a map where the file has another key: a kill kept the file from one of the above | that key stays | DEL of the name |
//!
//! Redis writes what a notification replicates in front of the command that it is of, and both as one transaction.

use std::ffi::c_int;

use super::session::Session;
use crate::redis::{Context, Text, api};

impl Session {
    /// Tells the file what it needs in front of the command that this event is of.
    pub(super) fn tell_file(&self, context: &Context<'_>, class: c_int, event: &[u8], name: &Text) {
        if class == api::NOTIFY_STRING && event == b"set" {
            self.tell_of_replaced_map(context, name);
        }
        let is_left_out = {
            let mut left_out = self.left_out();
            !left_out.is_empty() && left_out.remove(&(context.database(), name.bytes().to_vec()))
        };
        let may_replace = matches!(event, b"rename_to" | b"copy_to" | b"restore");
        let is_map = || context.peek(name).value().is_ok_and(|value| value.is_some());
        if is_left_out || may_replace && is_map() {
            context.delete_in_file(name);
        }
    }

    /// The map whose place a string has taken is known by its record, which is removed behind this. The string itself is
    /// not looked at: its time may be over, and then a look deletes it.
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
