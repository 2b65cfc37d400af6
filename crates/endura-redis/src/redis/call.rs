//! Commands of the server that the module runs, and fields of INFO that it reads.

use std::ffi::CStr;

use super::api::{self, RawReply, RawString, api};
use super::context::Context;
use super::text::OwnText;

impl Context<'_> {
    /// Runs a command of the server with `words` as its arguments. Returns the texts of the array in its reply, or the
    /// one text that it replies, or none for a reply of another type. Fails if the reply is an error, or the server has no such command.
    pub(crate) fn call(&self, command: &CStr, words: &[&[u8]]) -> Result<Vec<String>, String> {
        let reply = self.reply(command, c"v", words);
        if reply.is_null() {
            return Err("the server has no such command".into());
        }
        // SAFETY: the reply is not null, and is freed once. Its elements belong to it.
        unsafe {
            let answer = match (api().CallReplyType)(reply) {
                api::REPLY_ERROR => Err(text(reply)),
                api::REPLY_ARRAY => Ok((0..(api().CallReplyLength)(reply))
                    .map(|at| text((api().CallReplyArrayElement)(reply, at)))
                    .collect()),
                api::REPLY_STRING => Ok(vec![text(reply)]),
                _ => Ok(Vec::new()),
            };
            (api().FreeCallReply)(reply);
            answer
        }
    }

    /// Whether the user of the calling client may run this command with these words. A master and an append-only file have
    /// no user, and may run every command.
    pub(crate) fn may_call(&self, command: &CStr, words: &[&[u8]]) -> bool {
        // `C`: checks the permissions of the user before it runs the command.
        let reply = self.reply(command, c"Cv", words);
        if reply.is_null() {
            let error = std::io::Error::last_os_error();
            return error.raw_os_error() != Some(libc::EACCES);
        }
        // SAFETY: the reply is not null, and is freed once.
        unsafe { (api().FreeCallReply)(reply) };
        true
    }

    fn reply(&self, command: &CStr, form: &CStr, words: &[&[u8]]) -> *mut RawReply {
        let words: Vec<OwnText> = words.iter().map(|word| OwnText::new(word)).collect();
        let raw: Vec<*mut RawString> = words.iter().map(|word| word.raw()).collect();
        // SAFETY: the context is alive; `v`: an array of strings and its length.
        unsafe {
            let (name, form) = (command.as_ptr(), form.as_ptr());
            (api().Call)(self.raw, name, form, raw.as_ptr(), raw.len())
        }
    }

    /// Whether keys can be in this database: the server has it, and SELECT accepts it. A node of a cluster may have
    /// databases in which no keys are allowed.
    pub(crate) fn has_database(&self, database: i32) -> bool {
        let is_there = self.in_database(database, || ()).is_ok();
        let is_single = database == 0 || !self.has(api::flags::CLUSTER);
        is_there && (is_single || self.call(c"SELECT", &[database.to_string().as_bytes()]).is_ok())
    }
}

/// The values of these fields in a section of INFO.
pub(crate) fn info<const N: usize>(section: &CStr, fields: [&CStr; N]) -> [Option<String>; N] {
    let context = std::ptr::null_mut();
    // SAFETY: without a context the module frees the figures, and does so once. Names end with a zero. A text is valid
    // until `FreeServerInfo`.
    unsafe {
        let info = (api().GetServerInfo)(context, section.as_ptr());
        let found = fields.map(|field| {
            let text = (api().ServerInfoGetFieldC)(info, field.as_ptr());
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        });
        (api().FreeServerInfo)(context, info);
        found
    }
}

/// The text of a reply; empty if the reply is not a text.
///
/// # Safety
///
/// The reply is null, or has not been freed.
unsafe fn text(reply: *mut RawReply) -> String {
    if reply.is_null() {
        return String::new();
    }
    let mut len = 0;
    // SAFETY: the caller's promise; the text stays until the reply is freed.
    unsafe {
        let text = (api().CallReplyStringPtr)(reply, &raw mut len);
        if text.is_null() {
            return String::new();
        }
        String::from_utf8_lossy(std::slice::from_raw_parts(text.cast(), len)).into_owned()
    }
}
