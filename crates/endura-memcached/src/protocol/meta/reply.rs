//! The parts of a reply.

use std::fmt::Display;
use std::io::Write;

use super::base64::encode;
use super::flags::Flags;
use crate::clock::Expiry;

/// Adds a flag with an argument.
pub(super) fn flag(output: &mut Vec<u8>, letter: char, argument: impl Display) {
    // Writing to a vector does not fail.
    let _ = write!(output, " {letter}{argument}");
}

/// Adds a part of the reply as the client wrote it.
pub(super) fn word(output: &mut Vec<u8>, word: &[u8]) {
    output.push(b' ');
    output.extend_from_slice(word);
}

/// Adds the key, in base64 if the client wrote it so.
pub(super) fn key(output: &mut Vec<u8>, key: &[u8], is_binary: bool) {
    output.extend_from_slice(b" k");
    if is_binary {
        encode(key, output);
        output.extend_from_slice(b" b");
    } else {
        output.extend_from_slice(key);
    }
}

/// Whether the key of an item is written in base64: if the client that stored the item did so, or if a line cannot have
/// its bytes.
pub(super) fn is_binary(key: &[u8], was_binary: bool) -> bool {
    was_binary || key.iter().any(|byte| matches!(byte, b' ' | b'\n' | 0))
}

/// Adds the seconds until an item expires.
pub(super) fn time_left(output: &mut Vec<u8>, expiry: Expiry, now: u32) {
    match expiry {
        Expiry(0) => flag(output, 't', -1),
        Expiry(at) => flag(output, 't', at.saturating_sub(now)),
    }
}

/// Adds the opaque and the key of a request, in the order of its flags.
pub(super) fn echo(output: &mut Vec<u8>, flags: &Flags<'_>) -> Result<(), &'static str> {
    for each in &flags.all {
        match each.letter() {
            b'O' => word(output, each.opaque()?),
            b'k' => key(output, &flags.key, flags.has_binary_key),
            _ => {}
        }
    }
    Ok(())
}
