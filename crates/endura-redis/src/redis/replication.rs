//! Commands for replicas and for the append-only file.

use std::ffi::CStr;

use super::api::{RawString, api};
use super::context::{Context, Level};
use super::text::{OwnText, Text};

impl Context<'_> {
    /// Sends this command to replicas. The append-only file does not get it: the pool already has the effect, and a replay
    /// would apply it once more.
    pub(crate) fn replicate(&self, command: &CStr, arguments: &[Text]) {
        self.replicate_any(&[command], c"Av", Text::all_raw(arguments));
    }

    /// Like [`replicate`](Self::replicate), with the key and then `parts` as the arguments.
    pub(crate) fn replicate_bytes(&self, command: &CStr, key: &Text, parts: &[&[u8]]) {
        let parts: Vec<OwnText> = parts.iter().map(|part| OwnText::new(part)).collect();
        let raw: Vec<*mut RawString> =
            std::iter::once(key.raw()).chain(parts.iter().map(|part| part.raw())).collect();
        self.replicate_any(&[command], c"Av", &raw);
    }

    /// Deletes the key on replicas and in the append-only file.
    pub(crate) fn replicate_deletion(&self, key: &Text) {
        self.replicate_any(&[c"DEL", c"UNLINK"], c"v", &[key.raw()]);
    }

    fn replicate_any(&self, commands: &[&CStr], form: &CStr, arguments: &[*mut RawString]) {
        if !self.replicate_first(commands, form, arguments) {
            self.log(Level::Warning, format!("replicas cannot be told {commands:?}"));
            self.part_from_replicas();
        }
    }

    /// Deletes the key in the append-only file, and nowhere else.
    pub(crate) fn delete_in_file(&self, key: &Text) {
        self.tell_file(&[c"DEL", c"UNLINK"], &[key.raw()]);
    }

    /// Makes the key an empty string in the append-only file, and nowhere else. `expires` is in milliseconds since 1970, or
    /// negative if the key does not expire.
    pub(crate) fn set_in_file(&self, key: &Text, expires: i64) {
        let time = expires.to_string();
        let rest = [&b""[..], b"PXAT", time.as_bytes()].map(OwnText::new);
        let rest = if expires < 0 { &rest[..1] } else { &rest };
        let arguments: Vec<*mut RawString> =
            std::iter::once(key.raw()).chain(rest.iter().map(|word| word.raw())).collect();
        self.tell_file(&[c"SET"], &arguments);
    }

    fn tell_file(&self, commands: &[&CStr], arguments: &[*mut RawString]) {
        // `R`: not to replicas.
        if !self.replicate_first(commands, c"Rv", arguments) {
            let text = "a key of another type may come back at a start";
            self.log(Level::Warning, format!("the append-only file lacks {commands:?}: {text}"));
        }
    }

    /// Replicates the first of these commands that the server has; others may have been renamed. Returns `false` if the
    /// server has none of them.
    fn replicate_first(
        &self,
        commands: &[&CStr],
        form: &CStr,
        arguments: &[*mut RawString],
    ) -> bool {
        // SAFETY: the context is alive. `A`: not to the append-only file; `v`: an array of strings and its length. Redis
        // takes references of its own to the strings that it keeps.
        let replicate = |command: &&CStr| unsafe {
            let (name, form) = (command.as_ptr(), form.as_ptr());
            (api().Replicate)(self.raw, name, form, arguments.as_ptr(), arguments.len()).is_ok()
        };
        commands.iter().any(replicate)
    }

    /// Makes all replicas get all keys again, by a new replication id. Replicas that are connected would not notice the
    /// new id, so they are disconnected.
    pub(crate) fn part_from_replicas(&self) {
        let parted = self.call(c"DEBUG", &[b"CHANGE-REPL-ID"]).map_err(|why| ("DEBUG", why));
        let parted = parted.and_then(|_| {
            self.call(c"CLIENT", &[b"KILL", b"TYPE", b"replica"]).map_err(|why| ("CLIENT", why))
        });
        if let Err((command, why)) = parted {
            let text = format!(
                "the server has no {command}, which parts it from its replicas ({why}): one that goes on from what it has \
                 misses keys of this server"
            );
            self.log(Level::Warning, text);
        }
    }
}
