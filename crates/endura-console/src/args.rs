//! Arguments: the kind of a map, and how a pool lies in memory.

use clap::ValueEnum;
use endura::MediaChoice;
use endura::{Kind, Pool, PoolOptions};

use crate::text::parse_size;

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
    #[arg(long, value_enum, default_value_t = Media::Auto)]
    media: Media,
}

/// How a pool lies in memory.
#[derive(clap::Args, Clone, Copy)]
pub struct MediaArgs {
    #[command(flatten)]
    medium: MediumArgs,
    /// The most bytes that the pool may grow to while it is open (K, M, G, T)
    #[arg(long, value_parser = parse_size)]
    max_size: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Media {
    Auto,
    PageCache,
    Adr,
    Eadr,
    Clwb,
    Clflushopt,
    Clflush,
    Cvap,
}

impl From<Media> for MediaChoice {
    fn from(media: Media) -> Self {
        match media {
            Media::Auto => Self::Auto,
            Media::PageCache => Self::PageCache,
            Media::Adr => Self::Adr,
            Media::Eadr => Self::Eadr,
            Media::Clwb => Self::Clwb,
            Media::Clflushopt => Self::ClflushOpt,
            Media::Clflush => Self::Clflush,
            Media::Cvap => Self::Cvap,
        }
    }
}

impl MediumArgs {
    /// The options that these arguments ask for.
    pub fn options(self) -> PoolOptions {
        Pool::options().media(self.media.into())
    }
}

impl MediaArgs {
    /// The defaults of these arguments.
    pub const AUTO: Self = Self { medium: MediumArgs { media: Media::Auto }, max_size: None };

    /// The options that these arguments ask for.
    pub fn options(self) -> PoolOptions {
        let options = self.medium.options();
        match self.max_size {
            Some(bytes) => options.max_size(bytes),
            None => options,
        }
    }

    /// The same arguments, for a child process.
    pub fn to_arguments(self) -> Vec<String> {
        let name = self.medium.media.to_possible_value();
        let mut arguments: Vec<String> =
            name.iter().flat_map(|name| ["--media".into(), name.get_name().into()]).collect();
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
