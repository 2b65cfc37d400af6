//! Arguments that are one of a few names.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use endura_bench::contender::Contender;
use endura_engine::cpu::vectors::Vectors;

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

/// The vector instructions of this name, if this processor has them.
pub(crate) fn vectors(name: &str) -> Result<Vectors, String> {
    let found = Vectors::available().find(|vectors| vectors.name() == name);
    let all = || Vectors::available().map(Vectors::name).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("this processor has {}", all()))
}
