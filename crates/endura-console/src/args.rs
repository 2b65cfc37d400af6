//! Arguments: the kind of a map, and how a pool lies in memory.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use endura::MediaChoice;
use endura::{Kind, Pool, PoolOptions};

use crate::text::parse_size;

/// The heading of the options that few callers need, which are the last of a page of help.
pub const ADVANCED: &str = "Advanced options";

/// What a map is made as.
#[derive(clap::Args, Clone, Copy)]
pub struct KindArgs {
    /// The index that a new map is
    #[arg(long, value_enum, default_value_t = KindName::FastFair)]
    kind: KindName,
}

/// An index, as arguments name it.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KindName {
    /// FAST & FAIR, a B+-tree: best at range scans
    FastFair,
    /// NBTree, a B+-tree: best at lookups and updates
    #[value(name = "nbtree", alias = "nb-tree")]
    NbTree,
    /// ROART, a radix tree: takes all types
    Roart,
}

impl From<KindName> for Kind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::FastFair => Self::FastFair,
            KindName::NbTree => Self::NbTree,
            KindName::Roart => Self::Roart,
        }
    }
}

impl KindArgs {
    /// The kind that these arguments ask for.
    pub fn kind(self) -> Kind {
        self.kind.into()
    }
}

/// How stores to a pool reach persistence.
#[derive(clap::Args, Clone, Copy)]
pub struct MediumArgs {
    /// How stores reach persistence; auto asks the file system and the processor
    #[arg(long, value_parser = media(), default_value = "auto", help_heading = ADVANCED)]
    media: MediaChoice,
}

/// How a pool lies in memory.
#[derive(clap::Args, Clone, Copy)]
pub struct MediaArgs {
    #[command(flatten)]
    medium: MediumArgs,
    /// The most bytes that the pool may grow to while it is open (K, M, G, T)
    #[arg(long, value_parser = parse_size, help_heading = ADVANCED)]
    max_size: Option<u64>,
}

/// Reads the name of a choice, and lists all of them in the help.
fn media() -> impl TypedValueParser<Value = MediaChoice> {
    PossibleValuesParser::new(MediaChoice::all().map(MediaChoice::name))
        .try_map(|name| name.parse::<MediaChoice>())
}

impl MediumArgs {
    /// The options that these arguments ask for.
    pub fn options(self) -> PoolOptions {
        Pool::options().media(self.media)
    }
}

impl MediaArgs {
    /// The defaults of these arguments.
    pub const AUTO: Self = Self { medium: MediumArgs { media: MediaChoice::Auto }, max_size: None };

    /// The options that these arguments ask for.
    pub fn options(self) -> PoolOptions {
        let options = self.medium.options();
        match self.max_size {
            Some(bytes) => options.max_size(bytes),
            None => options,
        }
    }

    /// These arguments as words of a command line, for a child process.
    pub fn to_arguments(self) -> Vec<String> {
        let mut arguments = vec!["--media".into(), self.medium.media.name().into()];
        if let Some(bytes) = self.max_size {
            arguments.extend(["--max-size".into(), bytes.to_string()]);
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_can_be_named() {
        let named = KindName::value_variants().iter().map(|&name| Kind::from(name));
        assert!(named.eq(Kind::all()));
    }
}
