//! Which pool a command works on, and how it is opened.

use std::path::PathBuf;

use clap::ValueEnum;
use endura::media::MediaChoice;
use endura::{AnyMap, Kind, Pool, PoolOptions};

use crate::outcome::{Failure, Result};
use crate::text::parse_size;

/// The pool of a command.
#[derive(clap::Args)]
pub(crate) struct PoolArgs {
    /// The pool file
    pub(crate) pool: PathBuf,
    #[command(flatten)]
    pub(crate) media: MediaArgs,
}

/// The map of a command.
#[derive(clap::Args)]
pub(crate) struct MapArgs {
    #[command(flatten)]
    pub(crate) pool: PoolArgs,
    /// The name of the map in the pool
    #[arg(long, default_value = "main")]
    pub(crate) map: String,
    /// The index that the map is, if it has to be made [default: fast-fair]
    #[arg(long, value_enum)]
    kind: Option<KindName>,
}

/// What a map is made as.
#[derive(clap::Args, Clone, Copy)]
pub(crate) struct KindArgs {
    /// The index that a new map is
    #[arg(long, value_enum, default_value_t = KindName::FastFair)]
    kind: KindName,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KindName {
    FastFair,
    #[value(name = "nbtree", alias = "nb-tree")]
    NbTree,
}

impl From<KindName> for Kind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::FastFair => Self::FastFair,
            KindName::NbTree => Self::NbTree,
        }
    }
}

impl KindArgs {
    /// The kind that these arguments ask for.
    pub(crate) fn kind(self) -> Kind {
        self.kind.into()
    }
}

/// How a pool lies in memory.
#[derive(clap::Args, Clone, Copy)]
pub(crate) struct MediaArgs {
    /// How stores reach persistence; auto asks the file system and the processor
    #[arg(long, value_enum, default_value_t = Media::Auto)]
    media: Media,
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

impl MediaArgs {
    /// The options that these arguments ask for.
    pub(crate) fn options(self) -> PoolOptions {
        let options = Pool::options().media(self.media.into());
        match self.max_size {
            Some(bytes) => options.max_size(bytes),
            None => options,
        }
    }

    /// The same arguments, for a child process.
    pub(crate) fn to_arguments(self) -> Vec<String> {
        let name = self.media.to_possible_value();
        let mut arguments: Vec<String> =
            name.iter().flat_map(|name| ["--media".into(), name.get_name().into()]).collect();
        if let Some(bytes) = self.max_size {
            arguments.extend(["--max-size".into(), bytes.to_string()]);
        }
        arguments
    }
}

impl PoolArgs {
    /// Opens the pool without writing to it.
    pub(crate) fn open_read_only(&self) -> Result<Pool> {
        let options = self.media.options().read_only(true);
        options.open(&self.pool).map_err(|error| Failure::at(&self.pool, &error))
    }
}

impl MapArgs {
    /// The map of a pool that this command only reads.
    pub(crate) fn open_read_only(&self) -> Result<(Pool, AnyMap)> {
        let pool = self.pool.open_read_only()?;
        self.map_of(pool)
    }

    /// The map of a pool that exists.
    pub(crate) fn open(&self) -> Result<(Pool, AnyMap)> {
        let pool = self.pool.media.options().open(&self.pool.pool);
        self.map_of(pool.map_err(|error| Failure::at(&self.pool.pool, &error))?)
    }

    /// The map of a pool that is made if it does not exist.
    pub(crate) fn open_or_create(&self) -> Result<(Pool, AnyMap)> {
        let pool = self.pool.media.options().open_or_create(&self.pool.pool);
        self.map_of(pool.map_err(|error| Failure::at(&self.pool.pool, &error))?)
    }

    fn map_of(&self, pool: Pool) -> Result<(Pool, AnyMap)> {
        let map = pool.any_map(&self.map, self.kind.map(Kind::from));
        let map = map.map_err(|error| Failure::at(&self.pool.pool, &error))?;
        Ok((pool, map))
    }

    /// Closes a pool that was written to.
    pub(crate) fn close(&self, pool: &Pool) -> Result<()> {
        pool.close().map_err(|error| Failure::at(&self.pool.pool, &error))
    }
}
