//! What a map has, and its keys as numbers.

use std::ffi::c_char;

use endura::Kind;
use endura::dynamic::word;

use super::open::OpenMap;
use crate::failure::{Failure, call};
use crate::handles::{MapHandle, hold};
use crate::memory::{Buf, Slice, out};
use crate::status::{OK, Status};

/// The recorded names of the types of a map.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_map_types(
    map: MapHandle,
    key: *mut Buf,
    value: *mut Buf,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let (key, value) = (out(key, "key")?, out(value, "value")?);
        key.set(own.map.types().key.as_bytes())?;
        value.set(own.map.types().value.as_bytes())?;
        Ok(OK)
    })
}

/// The name of the kind of a map's index.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_map_kind(map: MapHandle, kind: *mut *const c_char) -> Status {
    call(|| {
        let kind = out(kind, "kind")?;
        *kind = c"".as_ptr();
        let name = match hold::<OpenMap>(map.id)?.map.kind() {
            Kind::FastFair => c"FastFair",
            Kind::NbTree => c"NbTree",
            Kind::Roart => c"Roart",
            _ => c"other",
        };
        *kind = name.as_ptr();
        Ok(OK)
    })
}

/// The encoding of a number as a key of a map.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_number_key(map: MapHandle, number: u64, key: *mut Buf) -> Status {
    call(|| {
        out(key, "key")?.set(&hold::<OpenMap>(map.id)?.number_key(number)?)?;
        Ok(OK)
    })
}

/// The number that a key of a map encodes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_key_number(map: MapHandle, key: Slice, number: *mut u64) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let (keys, key) = (own.key_numbers()?, key.bytes("key")?);
        let number = out(number, "number")?;
        if key.len() != keys.encoded(0).len() {
            let text =
                format!("{} bytes are no key of this map: give one that it returned", key.len());
            return Err(Failure::argument(text));
        }
        *number = keys.number(word(key));
        Ok(OK)
    })
}
