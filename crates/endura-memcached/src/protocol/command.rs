//! A command, and the words of its line.

use crate::number::number;
use crate::store::Stores;

/// The most bytes of a key.
pub(super) const MAX_KEY: usize = 250;
/// The most words after the name of a command that are distinguished. Only `get` may have more than six.
const MOST_WORDS: usize = 8;

/// A command.
#[derive(Debug)]
pub(super) enum Command<'l> {
    /// `get`, `gets`; with a time of expiry `gat`, `gats`.
    Get {
        keys: &'l [u8],
        with_cas: bool,
        time: Option<i64>,
    },
    /// A data block follows.
    Store(Storage<'l>),
    Delete {
        key: &'l [u8],
        is_quiet: bool,
    },
    Add {
        key: &'l [u8],
        delta: u64,
        is_less: bool,
        is_quiet: bool,
    },
    Touch {
        key: &'l [u8],
        time: i64,
        is_quiet: bool,
    },
    Flush {
        delay: i64,
        is_quiet: bool,
    },
    Stats(&'l [u8]),
    Verbosity {
        is_quiet: bool,
    },
    Version,
    /// A command of the meta protocol; `rest` is the line after its name.
    Meta {
        name: &'l [u8],
        rest: &'l [u8],
    },
    /// A command that concerns memory, which has nothing to do here.
    Tune {
        reply: &'static str,
        is_quiet: bool,
    },
    /// `quit`, or a line after which nothing may be taken for a command.
    Quit,
}

/// The line of a command that stores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Storage<'l> {
    pub(super) how: Stores,
    pub(super) key: &'l [u8],
    pub(super) flags: u32,
    pub(super) time: i64,
    pub(super) bytes: usize,
    pub(super) is_quiet: bool,
}

/// The reply to a line that is not a command. After `noreply` there is no reply, as with memcached: the client does not
/// wait for one, and would take it for the reply to its next command.
pub(super) type Refusal = Option<&'static str>;

pub(super) const ERROR: &str = "ERROR";
pub(super) const BAD_FORMAT: &str = "CLIENT_ERROR bad command line format";
pub(super) const BAD_CHUNK: &str = "CLIENT_ERROR bad data chunk";

/// The start and the end of the next word at or after `from`.
pub(super) fn next_word(line: &[u8], from: usize) -> Option<(usize, usize)> {
    let start = from + line.get(from..)?.iter().position(|&byte| byte != b' ')?;
    let length = line[start..].iter().position(|&byte| byte == b' ');
    Some((start, length.map_or(line.len(), |length| start + length)))
}

/// The words of a line after the name of the command, separated by blanks.
pub(super) struct Words<'l> {
    pub(super) words: [&'l [u8]; MOST_WORDS],
    pub(super) count: usize,
}

impl<'l> Words<'l> {
    pub(super) fn of(rest: &'l [u8]) -> Self {
        let (mut words, mut count, mut at) = ([&b""[..]; MOST_WORDS], 0, 0);
        while count < MOST_WORDS
            && let Some((start, end)) = next_word(rest, at)
        {
            words[count] = &rest[start..end];
            (count, at) = (count + 1, end);
        }
        Self { words, count }
    }

    /// Refuses a line with fewer or more words.
    pub(super) fn expect(&self, counts: std::ops::RangeInclusive<usize>) -> Result<(), Refusal> {
        if counts.contains(&self.count) { Ok(()) } else { Err(Some(ERROR)) }
    }

    /// Whether the last word is `noreply`. Any other word in its place is ignored, as with memcached.
    pub(super) fn is_quiet(&self) -> bool {
        self.count.checked_sub(1).is_some_and(|last| self.words[last] == b"noreply")
    }
}

/// Whether this is the name of a meta command.
pub(super) fn is_meta(name: &[u8]) -> bool {
    matches!(name, b"mg" | b"ms" | b"md" | b"ma" | b"mn" | b"me")
}

/// Parses the length of a data block. Together with the two bytes after the block it must fit into 31 bits, as with
/// memcached.
pub(super) fn length_of_data(word: &[u8]) -> Option<usize> {
    let bytes = usize::try_from(number::<i32>(word)?).ok()?;
    (bytes <= i32::MAX as usize - 2).then_some(bytes)
}

pub(super) fn refusal(text: &'static str, is_quiet: bool) -> Refusal {
    (!is_quiet).then_some(text)
}

/// Checks that a word can be a key. It must not have a NUL: memcached takes that for the end of the line, and so takes
/// one key for another.
pub(super) fn key(word: &[u8], is_quiet: bool) -> Result<&[u8], Refusal> {
    let is_key = word.len() <= MAX_KEY && !word.contains(&0);
    if is_key { Ok(word) } else { Err(refusal(BAD_FORMAT, is_quiet)) }
}

/// The refusal of a line with a NUL, which memcached takes for its end. It would take one key for another.
pub(super) fn without_nul(rest: &[u8]) -> Result<(), &'static str> {
    if rest.contains(&0) { Err(BAD_FORMAT) } else { Ok(()) }
}
