//! Stores as arguments.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use endura_bench::contender::Contender;

/// Takes the name of a store.
pub(crate) fn contender() -> impl TypedValueParser<Value = Contender> {
    PossibleValuesParser::new(Contender::ALL.map(Contender::argument)).try_map(|name| {
        let found = Contender::ALL.into_iter().find(|contender| contender.argument() == name);
        found.ok_or("no such store")
    })
}
