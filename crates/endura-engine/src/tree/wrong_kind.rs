//! The error for a map of another kind than expected.

use crate::Error;
use crate::kind::Kind;
use crate::space::MapState;

/// The error for `map`, whose kind is not `want`, or whose kind is `want` but whose nodes have other sizes.
#[cold]
pub(crate) fn wrong_kind(map: &MapState, want: Kind) -> Error {
    let name = map.name().to_string();
    match Kind::numbered(map.kind()) {
        Some(kind) if kind == want => Error::OtherNodes { name },
        None => Error::UnknownNodes { name },
        found => Error::WrongKind { name, types: Box::new(map.types().clone()), found, want },
    }
}
