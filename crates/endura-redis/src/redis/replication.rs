//! What replicas are told.

use std::ffi::CStr;

use super::api::{RawString, api};
use super::context::{Context, Level};
use super::text::{OwnText, Text};

impl Context<'_> {
    /// Tells replicas to run this command, with these arguments. The append-only file does not get it: the pool has the
    /// effect, and a replay would come on top.
    pub(crate) fn replicate(&self, command: &CStr, arguments: &[Text]) {
        self.replicate_any(&[command], c"Av", Text::all_raw(arguments));
    }

    /// The same, with bytes behind the key.
    pub(crate) fn replicate_bytes(&self, command: &CStr, key: &Text, parts: &[&[u8]]) {
        let parts: Vec<OwnText> = parts.iter().map(|part| OwnText::new(part)).collect();
        let raw: Vec<*mut RawString> =
            std::iter::once(key.raw()).chain(parts.iter().map(|part| part.raw())).collect();
        self.replicate_any(&[command], c"Av", &raw);
    }

    /// Deletes the key on replicas, and says so to the append-only file.
    pub(crate) fn replicate_deletion(&self, key: &Text) {
        self.replicate_any(&[c"DEL", c"UNLINK"], c"v", &[key.raw()]);
    }

    /// The first of these commands that the server has: others may be renamed.
    fn replicate_any(&self, commands: &[&CStr], form: &CStr, arguments: &[*mut RawString]) {
        // SAFETY: the context is alive; `A`: not to the append-only file; `v`: an array of strings and its length. Redis
        // counts itself among those who hold the strings.
        let replicate = |command: &&CStr| unsafe {
            let (name, form) = (command.as_ptr(), form.as_ptr());
            (api().Replicate)(self.raw, name, form, arguments.as_ptr(), arguments.len()).is_ok()
        };
        if !commands.iter().any(replicate) {
            self.log(Level::Warning, format!("replicas cannot be told {commands:?}"));
            self.part_from_replicas();
        }
    }

    /// No replica goes on from what it has: it gets all keys anew. Those that are connected would not notice, so they are
    /// disconnected.
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
