//! Bytes in, bytes out.

use super::command::{BAD_CHUNK, Command, Refusal, Storage, parse, words};
use super::context::Context;
use super::execute::{self, KeysLeft};
use crate::clock::Expiry;
use crate::store::Stores;

/// A line that is longer belongs to no command but `get`.
const MAX_LINE: usize = 2048;
/// So long may the line of a `get` be.
const MAX_GET: usize = 1 << 20;
/// While so many bytes of replies are waiting, no command is begun.
pub(super) const MOST_OUTPUT: usize = 1 << 20;

const TOO_LONG: Refusal = "CLIENT_ERROR line too long";
const TOO_LARGE: Refusal = "SERVER_ERROR object too large for cache";

/// One client: what came from it and is not worked on yet, and what it was not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    input: Vec<u8>,
    /// Bytes of the input that are done.
    done: usize,
    output: Vec<u8>,
    /// Bytes of the output that are sent.
    sent: usize,
    state: State,
    ends: bool,
}

#[derive(Debug, Default)]
enum State {
    /// A line comes next.
    #[default]
    Line,
    /// The data block of this command.
    Data(Waiting),
    /// So many bytes of a data block that nobody wants.
    Refused(usize),
    /// Keys of a `get` whose replies there was no room for.
    Keys(KeysLeft),
}

/// A command that waits for its data block.
#[derive(Debug)]
struct Waiting {
    how: Stores,
    key: Vec<u8>,
    flags: u32,
    time: i64,
    bytes: usize,
    is_quiet: bool,
}

impl Connection {
    /// Takes what came from the client.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// What is to be sent.
    pub(crate) fn output(&self) -> &[u8] {
        &self.output[self.sent..]
    }

    /// So much of it was sent.
    pub(crate) fn has_sent(&mut self, bytes: usize) {
        self.sent += bytes;
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
            if self.output.capacity() > MOST_OUTPUT {
                self.output = Vec::new();
            }
        }
    }

    /// Whether it ends when all is sent.
    pub(crate) fn ends(&self) -> bool {
        self.ends
    }

    /// Whether more input can be taken: so much of it as its commands need is in memory, and no more.
    pub(crate) fn wants_input(&self) -> bool {
        !self.ends && !self.is_full()
    }

    fn is_full(&self) -> bool {
        self.output.len() - self.sent > MOST_OUTPUT
    }

    /// Does what can be done with the input, while there is room for replies.
    pub(crate) fn work(&mut self, context: &Context) {
        while !self.ends && !self.is_full() && self.step(context) {}
        self.input.drain(..self.done);
        self.done = 0;
        if self.input.is_empty() && self.input.capacity() > MOST_OUTPUT {
            self.input = Vec::new();
        }
    }

    fn reply(&mut self, text: &str) {
        self.output.extend_from_slice(text.as_bytes());
        self.output.extend_from_slice(b"\r\n");
    }

    /// One command, or a part of it; false if more input is needed.
    fn step(&mut self, context: &Context) -> bool {
        match std::mem::take(&mut self.state) {
            State::Line => self.line(context),
            State::Data(waiting) => self.data(waiting, context),
            State::Refused(bytes) => {
                let here = bytes.min(self.input.len() - self.done);
                self.done += here;
                if here < bytes {
                    self.state = State::Refused(bytes - here);
                }
                here == bytes
            }
            State::Keys(left) => {
                self.get(left, context);
                true
            }
        }
    }

    fn line(&mut self, context: &Context) -> bool {
        let input = &self.input[self.done..];
        let Some(end) = input.iter().position(|&byte| byte == b'\n') else {
            let is_get = input.starts_with(b"get ") || input.starts_with(b"gets ");
            if input.len() > if is_get { MAX_GET } else { MAX_LINE } {
                self.reply(TOO_LONG);
                self.ends = true;
            }
            return false;
        };
        let line = &input[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Taken out, so that what a command does can write to the output.
        let (start, length) = (self.done, line.len());
        self.done += end + 1;
        let input = std::mem::take(&mut self.input);
        match parse(&input[start..start + length]) {
            Ok(Command::Get { keys, with_cas, time }) => {
                let expiry = time.map(|time| Expiry::from_client(time, context.now));
                self.get_line(keys, (with_cas, expiry), context);
            }
            Ok(Command::Store(storage)) => self.begin(&storage, context),
            Ok(Command::Quit) => self.ends = true,
            Ok(command) => execute::run(command, context, &mut self.output),
            Err(refusal) => self.reply(refusal),
        }
        self.input = input;
        true
    }

    fn get_line(&mut self, keys: &[u8], how: (bool, Option<Expiry>), context: &Context) {
        if let Some(left) = execute::get(words(keys), how, context, &mut self.output) {
            self.state = State::Keys(left);
        }
    }

    fn get(&mut self, left: KeysLeft, context: &Context) {
        let KeysLeft { keys, how } = left;
        self.get_line(&keys, how, context);
    }

    /// The line of a command that stores.
    fn begin(&mut self, storage: &Storage<'_>, context: &Context) {
        let &Storage { how, key, flags, time, bytes, is_quiet } = storage;
        if bytes > context.store().max_item() {
            // What was there is older than what the client believes to be there.
            if how == Stores::Set {
                execute::forget(key, context);
            }
            if !is_quiet {
                self.reply(TOO_LARGE);
            }
            self.state = State::Refused(bytes + 2);
            return;
        }
        self.state = State::Data(Waiting { how, key: key.to_vec(), flags, time, bytes, is_quiet });
    }

    fn data(&mut self, waiting: Waiting, context: &Context) -> bool {
        let input = &self.input[self.done..];
        let Some((data, rest)) =
            input.split_at_checked(waiting.bytes).filter(|(_, rest)| rest.len() >= 2)
        else {
            self.input.reserve(waiting.bytes + 2 - input.len());
            self.state = State::Data(waiting);
            return false;
        };
        let reply = match rest.starts_with(b"\r\n") {
            true => {
                let Waiting { how, ref key, flags, time, .. } = waiting;
                let expiry = Expiry::from_client(time, context.now);
                execute::store(how, key, (flags, expiry), data, context)
            }
            false => BAD_CHUNK.into(),
        };
        self.done += waiting.bytes + 2;
        if !waiting.is_quiet {
            self.reply(&reply);
        }
        true
    }
}
