//! Parses a line into its key and its flags.

use std::borrow::Cow;

use super::super::command::{BAD_FORMAT, ERROR, MAX_KEY, next_word, without_nul};
use super::base64::decode;
use crate::clock::Expiry;
use crate::number::number;

/// The most words of a line, the name of the command included.
const MOST_WORDS: usize = 19;
/// The longest opaque, its letter included.
const MAX_OPAQUE: usize = 32;
pub(super) const LONG_OPAQUE: &str = "CLIENT_ERROR opaque token too long";

/// A line of the meta protocol.
#[derive(Debug)]
pub(super) struct Line<'l> {
    /// The words after the name of the command.
    words: Vec<&'l [u8]>,
}

/// A flag with its argument, as the client wrote it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flag<'l>(pub(super) &'l [u8]);

impl<'l> Flag<'l> {
    /// The letter.
    pub(super) fn letter(self) -> u8 {
        self.0[0]
    }

    /// The whole flag, if it is an opaque that a reply can repeat.
    pub(super) fn opaque(self) -> Result<&'l [u8], &'static str> {
        if self.0.len() > MAX_OPAQUE { Err(LONG_OPAQUE) } else { Ok(self.0) }
    }
}

/// What the flags of a line say together.
#[derive(Debug, Default, Clone)]
pub(super) struct Flags<'l> {
    /// The flags in their order, which is the order of the reply.
    pub(super) all: Vec<Flag<'l>>,
    pub(super) key: Cow<'l, [u8]>,
    pub(super) has_binary_key: bool,
    pub(super) is_quiet: bool,
    /// `v`
    pub(super) with_value: bool,
    /// `u`
    pub(super) leaves_no_trace: bool,
    /// `I`
    pub(super) invalidates: bool,
    /// `N`: the item is made if it is absent, with this time of expiry.
    pub(super) vivify: Option<Expiry>,
    /// `R`: a client wins an item that expires before this time.
    pub(super) recache: Option<Expiry>,
    /// `T`
    pub(super) expiry: Option<Expiry>,
    /// `F`
    pub(super) flags: u32,
    /// `C`
    pub(super) cas: Option<u64>,
    /// `M`
    pub(super) mode: Option<u8>,
    /// `J`
    pub(super) initial: u64,
    /// `D`
    pub(super) delta: Option<u64>,
}

impl<'l> Line<'l> {
    /// Reads the words of a line. `too_many` is the refusal of too many of them.
    pub(super) fn of(rest: &'l [u8], too_many: &'static str) -> Result<Self, &'static str> {
        without_nul(rest)?;
        let (mut words, mut at) = (Vec::with_capacity(8), 0);
        while let Some((start, end)) = next_word(rest, at) {
            words.push(&rest[start..end]);
            at = end;
            if words.len() == MOST_WORDS {
                break;
            }
        }
        match &words[..] {
            [] => Err(ERROR),
            [key, ..] if key.len() > MAX_KEY => Err(BAD_FORMAT),
            words if words.len() == MOST_WORDS => Err(too_many),
            _ => Ok(Self { words }),
        }
    }

    /// The word after the key.
    pub(super) fn length(&self) -> Option<&'l [u8]> {
        self.words.get(1).copied()
    }

    /// Reads the flags, which begin with the word of this number. A refusal comes after all words were looked at, and
    /// the last wrong one decides on it, except that a flag that is unknown, or is there twice, decides at once.
    pub(super) fn flags(&self, from: usize, now: u32) -> Result<Flags<'l>, &'static str> {
        let mut flags = Flags { key: Cow::Borrowed(self.words[0]), ..Flags::default() };
        let (mut seen, mut refusal, mut is_wrong) = (0_u128, BAD_FORMAT, false);
        for &word in self.words.get(from..).unwrap_or_default() {
            let flag = Flag(word);
            let letter = flag.letter();
            if letter >= 127 || seen & 1 << letter != 0 {
                return Err("CLIENT_ERROR duplicate flag");
            }
            seen |= 1 << letter;
            if let Err(why) = flags.take(flag, now) {
                is_wrong = true;
                match why {
                    Wrong::Unknown => return Err("CLIENT_ERROR invalid flag"),
                    Wrong::Silently => {}
                    Wrong::Because(text) => refusal = text,
                }
            }
            flags.all.push(flag);
        }
        if is_wrong { Err(refusal) } else { Ok(flags) }
    }
}

/// What is wrong with a flag.
enum Wrong {
    Unknown,
    /// The refusal is that of another flag, if one is wrong.
    Silently,
    Because(&'static str),
}

impl<'l> Flags<'l> {
    fn take(&mut self, flag: Flag<'l>, now: u32) -> Result<(), Wrong> {
        const TOKEN: Wrong = Wrong::Because("CLIENT_ERROR bad token in command line format");
        const INITIAL: Wrong = Wrong::Because("CLIENT_ERROR invalid numeric initial value");
        const DELTA: Wrong = Wrong::Because("CLIENT_ERROR invalid numeric delta value");
        let argument = &flag.0[1..];
        let time = || {
            let time = number(argument).ok_or(TOKEN)?;
            Ok(Some(Expiry::from_client(time, now)))
        };
        match flag.letter() {
            b'b' => {
                self.has_binary_key = true;
                let key = decode(&self.key);
                self.key = key.ok_or(Wrong::Because("CLIENT_ERROR error decoding key"))?.into();
            }
            b'q' => self.is_quiet = true,
            b'v' => self.with_value = true,
            b'u' => self.leaves_no_trace = true,
            b'I' => self.invalidates = true,
            b'N' => self.vivify = time()?,
            b'R' => self.recache = time()?,
            b'T' => self.expiry = time()?,
            b'F' => self.flags = number(argument).ok_or(Wrong::Silently)?,
            b'C' => self.cas = Some(number(argument).ok_or(TOKEN)?),
            b'J' => self.initial = number(argument).ok_or(INITIAL)?,
            b'D' => self.delta = Some(number(argument).ok_or(DELTA)?),
            b'M' => match *argument {
                [mode] => self.mode = Some(mode),
                _ => return Err(Wrong::Because("CLIENT_ERROR incorrect length for M token")),
            },
            // These only ask for a part of the reply, or are for proxies.
            b'O' | b'P' | b'L' | b'k' | b's' | b't' | b'c' | b'f' | b'h' | b'l' => {}
            _ => return Err(Wrong::Unknown),
        }
        Ok(())
    }
}
