//! A connection without its socket: bytes of commands in, bytes of replies out.

use super::command::{BAD_CHUNK, Command, Storage};
use super::context::Context;
use super::execute::{self, TOO_LARGE, line};
use super::meta::{self, MetaSet, Next};
use super::parse::parse;
use crate::clock::Expiry;
use crate::store::{About, Stores};

/// The longest line of a command other than `get`, in bytes.
const MAX_LINE: usize = 2048;
/// The longest line of a `get`, in bytes.
const MAX_GET: usize = 1 << 20;
/// While more bytes of replies than this wait to be sent, no command is started.
pub(super) const MOST_OUTPUT: usize = 1 << 20;
/// The output may keep this number of sent bytes, so that they are not removed one by one.
const MOST_SENT: usize = 1 << 16;
/// The most keys and commands of a client that are served before other clients have their turn.
pub(crate) const TURN: usize = 4096;
/// The first byte of every request of memcached's binary protocol.
const BINARY: u8 = 0x80;

const TOO_LONG: &str = "CLIENT_ERROR line too long";

/// The state of one client: unprocessed input and unsent replies.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    input: Vec<u8>,
    /// The number of bytes of the input that have been processed.
    done: usize,
    /// The number of bytes after the processed ones that are known to have no end of a line.
    searched: usize,
    output: Vec<u8>,
    /// The number of bytes of the output that have been sent.
    sent: usize,
    state: State,
    /// Whether at least one line has been received.
    has_begun: bool,
    /// Whether there may be work that needs no further input.
    has_work: bool,
    ends: bool,
}

#[derive(Debug, Default)]
enum State {
    /// A line comes next.
    #[default]
    Line,
    /// The data block of this command comes next.
    Data(Waiting),
    /// The data block of this `ms` comes next.
    MetaData(MetaSet),
    /// This many bytes come next. They belong to a data block that was refused.
    Refused(usize),
    /// Keys of a `get` that waits for space in the output, or for its turn.
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

/// The keys of a `get` that are left.
#[derive(Debug)]
struct KeysLeft {
    keys: Vec<u8>,
    at: usize,
    /// Whether the numbers of the stores are shown, and the expiry that the items get.
    how: (bool, Option<Expiry>),
}

impl Connection {
    /// Takes input.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        self.has_work = true;
    }

    /// The bytes that are to be sent.
    pub(crate) fn output(&self) -> &[u8] {
        &self.output[self.sent..]
    }

    /// Notes that `bytes` bytes of the output were sent.
    pub(crate) fn has_sent(&mut self, bytes: usize) {
        self.sent += bytes;
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
            if self.output.capacity() > MOST_OUTPUT {
                self.output = Vec::new();
            }
        } else if self.sent > MOST_SENT.max(self.output.len() / 2) {
            // A client that always leaves something unread must not make the output grow. At least half of the output
            // is removed at a time, so that at most one byte is moved for each byte that is sent.
            self.output.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Bytes of the output that are in memory.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.output.len()
    }

    /// Whether the connection ends when all is sent.
    pub(crate) fn ends(&self) -> bool {
        self.ends
    }

    /// Whether there is work that needs no further input.
    pub(crate) fn has_work(&self) -> bool {
        !self.ends && self.has_work
    }

    /// Whether more input may be read now. No input is read while earlier input can still be processed, or while too
    /// much output is unsent. So the memory of a connection is bounded by the needs of one command.
    pub(crate) fn wants_input(&self) -> bool {
        !self.ends && !self.has_work && !self.is_full()
    }

    fn is_full(&self) -> bool {
        self.output.len() - self.sent > MOST_OUTPUT
    }

    /// Processes the input while there is space for replies and the turn lasts.
    pub(crate) fn work(&mut self, context: &Context, turn: &mut usize) {
        while !self.ends && !self.is_full() && *turn > 0 {
            *turn -= 1;
            if !self.step(context, turn) {
                self.has_work = false;
                break;
            }
        }
        self.input.drain(..self.done);
        self.done = 0;
        if self.input.is_empty() && self.input.capacity() > MOST_OUTPUT {
            self.input = Vec::new();
        }
    }

    fn reply(&mut self, text: &str) {
        line(&mut self.output, text);
    }

    /// Processes one command, or a part of it. Returns false if more input is needed.
    fn step(&mut self, context: &Context, turn: &mut usize) -> bool {
        match std::mem::take(&mut self.state) {
            State::Line => self.line(context, turn),
            State::Data(waiting) => self.data(waiting, context),
            State::MetaData(request) => self.meta_data(request, context),
            State::Refused(bytes) => {
                let here = bytes.min(self.input.len() - self.done);
                self.done += here;
                if here < bytes {
                    self.state = State::Refused(bytes - here);
                }
                here == bytes
            }
            State::Keys(KeysLeft { keys, at, how }) => {
                let most = self.sent + MOST_OUTPUT;
                let rest = &keys[at..];
                if let Some(next) = execute::get(rest, how, context, &mut self.output, (most, turn))
                {
                    self.state = State::Keys(KeysLeft { at: at + next, keys, how });
                }
                true
            }
        }
    }

    fn line(&mut self, context: &Context, turn: &mut usize) -> bool {
        let input = &self.input[self.done..];
        if !self.has_begun && input.first() == Some(&BINARY) {
            // A client of the binary protocol would wait for a reply for ever.
            self.ends = true;
            return false;
        }
        let found = input[self.searched..].iter().position(|&byte| byte == b'\n');
        let Some(end) = found.map(|end| self.searched + end) else {
            self.searched = input.len();
            if input.len() > if is_get(input) { MAX_GET } else { MAX_LINE } {
                self.reply(TOO_LONG);
                self.ends = true;
            }
            return false;
        };
        (self.has_begun, self.searched) = (true, 0);
        let line = &input[..end];
        let length = line.strip_suffix(b"\r").unwrap_or(line).len();
        let start = self.done;
        self.done += end + 1;
        // The input is taken out of the connection while the command runs, because the command borrows it, and writes
        // to the output.
        let input = std::mem::take(&mut self.input);
        match parse(&input[start..start + length]) {
            Ok(Command::Get { keys, with_cas, time }) => {
                let expiry = time.map(|time| Expiry::from_client(time, context.now));
                let (how, most) = ((with_cas, expiry), self.sent + MOST_OUTPUT);
                if let Some(at) = execute::get(keys, how, context, &mut self.output, (most, turn)) {
                    self.state = State::Keys(KeysLeft { keys: keys[at..].to_vec(), at: 0, how });
                }
            }
            Ok(Command::Store(storage)) => self.begin(&storage, context),
            Ok(Command::Meta { name, rest }) => {
                match meta::run(name, rest, context, &mut self.output) {
                    Next::Line => {}
                    Next::Data(request) => self.state = State::MetaData(request),
                    Next::Refused(bytes) => self.state = State::Refused(bytes),
                }
            }
            Ok(Command::Quit) => self.ends = true,
            Ok(command) => execute::run(command, context, &mut self.output),
            Err(Some(refusal)) => self.reply(refusal),
            Err(None) => {}
        }
        self.input = input;
        true
    }

    /// Starts a command that stores.
    fn begin(&mut self, storage: &Storage<'_>, context: &Context) {
        let &Storage { how, key, flags, time, bytes, is_quiet } = storage;
        if bytes > context.store().max_item() {
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
        let Some((data, is_whole)) = block(&self.input[self.done..], waiting.bytes) else {
            self.state = State::Data(waiting);
            return false;
        };
        let reply = match is_whole {
            true => {
                let Waiting { how, ref key, flags, time, .. } = waiting;
                let expiry = Expiry::from_client(time, context.now);
                let about = About { flags, expiry, has_binary_key: false };
                execute::store(how, key, about, data, context)
            }
            false => BAD_CHUNK.into(),
        };
        self.done += waiting.bytes + 2;
        if !waiting.is_quiet {
            self.reply(&reply);
        }
        true
    }

    fn meta_data(&mut self, request: MetaSet, context: &Context) -> bool {
        let bytes = request.bytes;
        let Some((data, is_whole)) = block(&self.input[self.done..], bytes) else {
            self.state = State::MetaData(request);
            return false;
        };
        request.end(data, is_whole, context, &mut self.output);
        self.done += bytes + 2;
        true
    }
}

/// The data block at the start of the input, and whether it ends where it should; none until it is there. No memory is
/// reserved for data that are only announced.
fn block(input: &[u8], bytes: usize) -> Option<(&[u8], bool)> {
    let (data, rest) = input.split_at_checked(bytes)?;
    (rest.len() >= 2).then(|| (data, rest.starts_with(b"\r\n")))
}

/// Whether this is the start of a `get`, whose line may be long.
fn is_get(input: &[u8]) -> bool {
    let blanks = input.iter().take(100).take_while(|&&byte| byte == b' ').count();
    let input = &input[blanks..];
    input.starts_with(b"get ") || input.starts_with(b"gets ")
}
