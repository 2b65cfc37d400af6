//! Commands of the server that the module runs.

use std::ffi::CStr;

use super::api::{self, RawString, api};
use super::context::Context;
use super::text::OwnText;

impl Context<'_> {
    /// Runs a command of the server with these words. `Err`: it answers an error, or there is none of this name.
    pub(crate) fn call(&self, command: &CStr, words: &[&[u8]]) -> Result<(), String> {
        let words: Vec<OwnText> = words.iter().map(|word| OwnText::new(word)).collect();
        let raw: Vec<*mut RawString> = words.iter().map(|word| word.raw()).collect();
        // SAFETY: the context is alive; `v`: an array of strings and its length. A reply is freed once, and the text of an
        // error stays until then.
        unsafe {
            let (name, form) = (command.as_ptr(), c"v".as_ptr());
            let reply = (api().Call)(self.raw, name, form, raw.as_ptr(), raw.len());
            if reply.is_null() {
                return Err("the server has no such command".into());
            }
            let mut answer = Ok(());
            if (api().CallReplyType)(reply) == api::REPLY_ERROR {
                let mut len = 0;
                let text = (api().CallReplyStringPtr)(reply, &raw mut len);
                let text = std::slice::from_raw_parts(text.cast::<u8>(), len);
                answer = Err(String::from_utf8_lossy(text).into_owned());
            }
            (api().FreeCallReply)(reply);
            answer
        }
    }

    /// Whether keys can be in this database: the server has it, and SELECT takes it. A node of a cluster may have
    /// databases that no key may be in.
    pub(crate) fn has_database(&self, database: i32) -> bool {
        let is_there = self.in_database(database, || ()).is_ok();
        let is_single = database == 0 || !self.has(api::flags::CLUSTER);
        is_there && (is_single || self.call(c"SELECT", &[database.to_string().as_bytes()]).is_ok())
    }
}
