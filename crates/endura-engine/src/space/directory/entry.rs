//! An entry of the directory: its words, its name, and how the name is replaced atomically.
//!
//! [`directory`](crate::space::directory::registry) has the table of the words and of what a crash leaves.

use crate::media::{Mark, Media, Ordering, Span};
use crate::space::layout::{ENTRY, NEW_NAME};
use crate::types::Types;
use crate::{Error, Result};

pub(crate) const FREE: u64 = 0;
pub(crate) const LIVE: u64 = 1;
pub(crate) const DROPPING: u64 = 2;
/// Like LIVE, but the map's name is the one at [`NEW_NAME`]. The value differs from the other states in several bits,
/// so that one flipped bit never gives a map the name of another one.
pub(crate) const RENAMED: u64 = 12;

pub(crate) const STATE: usize = 0;
pub(crate) const KIND: usize = 1;
pub(crate) const ROOT: usize = 2;
const NAME: usize = 8;
const NAME_END: usize = 40;
const KEY_TYPE: usize = 40;
const VALUE_TYPE: usize = 72;
pub(crate) const WORDS: usize = ENTRY as usize / 8;

/// The longest name, of a map or a type, in bytes.
const LONGEST: usize = 255;
/// Words that hold such a name and a zero at its end.
const NAME_WORDS: usize = NAME_END - NAME;
/// Word 1 has the length of the name from this bit on.
const NAME_BYTES: u32 = 56;
pub(crate) const PARAMETER_BITS: u32 = 48;

pub(crate) type MapEntry<'m, M> = Span<'m, M, WORDS>;

/// The place of a new name. It is laid out as an entry. It has the name, and in place of the root the offset of the
/// entry that the name is for.
fn new_name<M: Media>(media: &M) -> Result<MapEntry<'_, M>> {
    MapEntry::new(media, NEW_NAME)
}

pub(crate) fn corrupt<M: Media, T>(entry: MapEntry<'_, M>, what: &'static str) -> Result<T> {
    Err(Error::Corrupt { offset: entry.offset(), what })
}

pub(crate) fn check_name(name: &str) -> Result<()> {
    let fits = (1..=LONGEST).contains(&name.len()) && !name.contains('\0');
    if fits { Ok(()) } else { Err(Error::BadName) }
}

pub(crate) fn check_types(types: &Types) -> Result<()> {
    let fits = |name: &str| name.len() <= LONGEST && !name.contains('\0');
    match [&types.key, &types.value].into_iter().find(|name| !fits(name)) {
        Some(name) => Err(Error::BadTypeName { name: name.clone() }),
        None => Ok(()),
    }
}

/// Stores the state and starts the write-back; the caller fences.
pub(crate) fn set_state<M: Media>(entry: MapEntry<'_, M>, state: u64) {
    entry.store(STATE, state, Ordering::Release);
    entry.flush(STATE, 1);
}

/// Stores word 1 and the name; the caller flushes.
pub(crate) fn write_name<M: Media>(entry: MapEntry<'_, M>, name: &str, kind: u8, parameters: u64) {
    write_text(entry, NAME, name);
    let what = (name.len() as u64) << NAME_BYTES | parameters << 8 | u64::from(kind);
    entry.store(KIND, what, Ordering::Relaxed);
}

/// Stores the types; the caller flushes.
pub(crate) fn write_types<M: Media>(entry: MapEntry<'_, M>, types: &Types) {
    write_text(entry, KEY_TYPE, &types.key);
    write_text(entry, VALUE_TYPE, &types.value);
}

fn write_text<M: Media>(entry: MapEntry<'_, M>, at: usize, text: &str) {
    let mut bytes = [0; 8 * NAME_WORDS];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    // Relaxed: the caller fences before the state says that these words count.
    for (i, chunk) in bytes.chunks_exact(8).enumerate() {
        let value = chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        entry.store(at + i, value, Ordering::Relaxed);
    }
}

fn text_bytes<M: Media>(entry: MapEntry<'_, M>, at: usize) -> impl Iterator<Item = u8> {
    (at..at + NAME_WORDS).flat_map(move |i| entry.load(i, Ordering::Acquire).to_le_bytes())
}

/// The types of a map.
pub(crate) fn types_of<M: Media>(entry: MapEntry<'_, M>) -> Result<Types> {
    let name = |at| {
        let bytes: Vec<u8> = text_bytes(entry, at).take_while(|&byte| byte != 0).collect();
        match String::from_utf8(bytes) {
            Ok(name) if name.len() <= LONGEST => Ok(name),
            _ => corrupt(entry, "a map whose types have impossible names"),
        }
    };
    Ok(Types { key: name(KEY_TYPE)?, value: name(VALUE_TYPE)? })
}

/// The kind and the parameters of a map.
pub(crate) fn kind_of<M: Media>(entry: MapEntry<'_, M>) -> (u8, u64) {
    let what = entry.load(KIND, Ordering::Acquire);
    (what as u8, what >> 8 & ((1 << PARAMETER_BITS) - 1))
}

/// The name of the map in an entry with this state.
pub(crate) fn name_of<M: Media>(entry: MapEntry<'_, M>, state: u64) -> Result<String> {
    let place = if state == RENAMED { new_name(entry.media())? } else { entry };
    if state == RENAMED && place.load(ROOT, Ordering::Acquire) != entry.offset() {
        return corrupt(entry, "a new name that is for another map");
    }
    let bytes: Vec<u8> = text_bytes(place, NAME)
        .take((place.load(KIND, Ordering::Acquire) >> NAME_BYTES) as usize)
        .collect();
    let Ok(name) = String::from_utf8(bytes) else {
        return corrupt(entry, "a map whose name is not UTF-8");
    };
    if check_name(&name).is_err() {
        return corrupt(entry, "a map with an impossible name");
    }
    Ok(name)
}

/// Gives the map in a LIVE entry another name, durably.
pub(crate) fn rename<M: Media>(entry: MapEntry<'_, M>, name: &str) -> Result<()> {
    let media = entry.media();
    let place = new_name(media)?;
    // Relaxed, as the stores of the name.
    place.store(ROOT, entry.offset(), Ordering::Relaxed);
    write_name(place, name, 0, 0);
    place.flush(0, NAME_END);
    media.mark(Mark::Step("pool.rename.name"));
    // Before RENAMED, by which the new name becomes the map's.
    media.fence();
    set_state(entry, RENAMED);
    media.mark(Mark::Step("pool.rename.renamed"));
    settle(entry, name);
    Ok(())
}

/// Completes the renaming of the map in an entry that says RENAMED: copies the name into the entry. RENAMED has been
/// flushed.
pub(crate) fn settle<M: Media>(entry: MapEntry<'_, M>, name: &str) {
    let media = entry.media();
    // Before the old name is overwritten. A drain, because the old name is gone for good with the first store.
    media.drain();
    let (kind, parameters) = kind_of(entry);
    write_name(entry, name, kind, parameters);
    entry.flush(0, NAME_END);
    media.mark(Mark::Step("pool.rename.copied"));
    // Before LIVE, from which on the name in the entry counts.
    media.fence();
    set_state(entry, LIVE);
    media.mark(Mark::Step("pool.rename.live"));
    // Before the next new name is written to that place, and before the call returns.
    media.drain();
}
