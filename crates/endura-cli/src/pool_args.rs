//! Which pool a command works on, and how it is opened.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::ValueEnum;
use endura::{Kind, Pool};
use endura_console::args::{KindName, MediaArgs};
use endura_console::outcome::{Failure, Result};

use crate::datum::Datum;
use crate::entries::{OpenMap, kind_of};

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
    /// The name of the map in the pool; it is opened as whatever it is
    #[arg(long, default_value = "main")]
    pub(crate) map: String,
    /// The index that the map is, if it has to be made: roart takes byte strings, the others numbers
    /// [default: the one that the map is called after, or fast-fair]
    #[arg(long, value_enum)]
    kind: Option<KindName>,
}

impl PoolArgs {
    /// Opens the pool without writing to it.
    pub(crate) fn open_read_only(&self) -> Result<Pool> {
        let options = self.media.options().read_only(true);
        options.open(&self.pool).map_err(|error| Failure::at(&self.pool, &error))
    }
}

/// What the keys and values of a map are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Numbers,
    Bytes,
}

impl Sort {
    fn of(kind: Kind) -> Self {
        if kind == Kind::Roart { Self::Bytes } else { Self::Numbers }
    }

    /// Whether all of `arguments` can be keys or values of such a map.
    pub(crate) fn admits<'a>(self, arguments: impl IntoIterator<Item = &'a OsStr>) -> Result<()> {
        arguments.into_iter().try_for_each(|argument| match self {
            Self::Numbers => parse::<u64>(argument).map(drop),
            Self::Bytes => parse::<Vec<u8>>(argument).map(drop),
        })
    }
}

/// The key or value that an argument stands for.
pub(crate) fn parse<D: Datum>(argument: &OsStr) -> Result<D> {
    let hint = if D::IS_NUMBER {
        "; the map holds numbers, one of byte strings is made with --kind roart and a --map of its own"
    } else {
        ""
    };
    D::parse(argument.as_bytes()).map_err(|error| Failure::Usage(format!("{error}{hint}")))
}

impl MapArgs {
    /// The map of a pool that this command only reads.
    pub(crate) fn open_read_only(&self) -> Result<(Pool, OpenMap)> {
        let pool = self.pool.open_read_only()?;
        let kind = self.kind_in(&pool)?;
        self.map_of(pool, kind)
    }

    /// The map of a pool that exists.
    pub(crate) fn open(&self) -> Result<(Pool, OpenMap)> {
        let pool = self.pool.media.options().open(&self.pool.pool);
        let pool = pool.map_err(|error| Failure::at(&self.pool.pool, &error))?;
        let kind = self.kind_in(&pool)?;
        self.map_of(pool, kind)
    }

    /// The map of a pool that is made if it does not exist. Nothing is made unless `admit` finds that
    /// such a map can take what it is to hold.
    pub(crate) fn open_or_create(
        &self,
        admit: impl Fn(Sort) -> Result<()>,
    ) -> Result<(Pool, OpenMap)> {
        let path = &self.pool.pool;
        if !path.exists() {
            admit(Sort::of(self.kind_of_new()))?;
        }
        let pool = self.pool.media.options().open_or_create(path);
        let pool = pool.map_err(|error| Failure::at(path, &error))?;
        let kind = self.kind_in(&pool)?;
        admit(Sort::of(kind))?;
        self.map_of(pool, kind)
    }

    /// What the map is, or will be.
    fn kind_in(&self, pool: &Pool) -> Result<Kind> {
        let found = kind_of(pool, &self.map);
        let found = found.map_err(|error| Failure::at(&self.pool.pool, &error))?;
        // Asked for as another kind, the library says what it is.
        Ok(self.kind.map(Kind::from).or(found).unwrap_or_else(|| self.kind_of_new()))
    }

    fn kind_of_new(&self) -> Kind {
        let named_after = || KindName::from_str(&self.map, true).ok();
        self.kind.or_else(named_after).map_or(Kind::FastFair, Kind::from)
    }

    fn map_of(&self, pool: Pool, kind: Kind) -> Result<(Pool, OpenMap)> {
        let map = OpenMap::open(&pool, &self.map, Some(kind));
        let map = map.map_err(|error| Failure::at(&self.pool.pool, &error))?;
        Ok((pool, map))
    }

    /// Closes a pool that was written to.
    pub(crate) fn close(&self, pool: &Pool) -> Result<()> {
        pool.close().map_err(|error| Failure::at(&self.pool.pool, &error))
    }
}
