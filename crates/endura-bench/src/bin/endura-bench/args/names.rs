//! Arguments that are one of a few names.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use endura_bench::contender::Contender;

/// Takes the name of one of `all`.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(name))
        .try_map(move |text| all.into_iter().find(|&one| name(one) == text).ok_or("no such name"))
}

/// Takes the name of a store.
pub(crate) fn contender() -> impl TypedValueParser<Value = Contender> {
    one_of(Contender::ALL, Contender::argument)
}
