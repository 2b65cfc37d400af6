//! A map that is not what it was taken for.

use crate::Error;
use crate::kind::Kind;
use crate::pool::MapState;

/// Says what `map` is, which is no `want` with the nodes that were meant.
#[cold]
pub(crate) fn wrong_kind(map: &MapState, want: Kind) -> Error {
    let name = map.name().to_string();
    match Kind::numbered(map.kind()) {
        Some(kind) if kind == want => Error::OtherNodes { name },
        None => Error::UnknownNodes { name },
        found => Error::WrongKind { name, types: Box::new(map.types().clone()), found, want },
    }
}
