//! Which pool a command works on, and how it is opened.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use endura::explain_bus_errors;
use endura::{Error, Kind, Pool, PoolOptions};
use endura_console::args::{KindName, MediaArgs, MediumArgs};
use endura_console::outcome::{Failure, Result, says_where};
use endura_console::text::printable;

use crate::pool::made::Writing;
use crate::values::datum::Datum;
use crate::values::entries::{OpenMap, kind_of};

/// How long to wait for a pool that somebody else has open.
#[derive(clap::Args, Clone, Copy)]
pub(crate) struct WaitArgs {
    /// How many seconds to wait for a pool that is open elsewhere
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_seconds)]
    wait: Duration,
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "not a number of seconds".into())
}

/// The pool of a command that only reads.
#[derive(clap::Args)]
pub(crate) struct PoolArgs {
    /// The pool file
    pub(crate) pool: PathBuf,
    #[command(flatten)]
    medium: MediumArgs,
    #[command(flatten)]
    wait: WaitArgs,
}

/// The map of a command that only reads.
#[derive(clap::Args)]
pub(crate) struct MapArgs {
    #[command(flatten)]
    pub(crate) pool: PoolArgs,
    /// The name of the map in the pool; it is opened as whatever it is
    #[arg(long, default_value = "main", value_parser = parse_name)]
    pub(crate) map: String,
}

/// The map of a command that makes it if need be.
#[derive(clap::Args)]
pub(crate) struct NewMapArgs {
    /// The pool file, made by the first entry if there is none
    pub(crate) pool: PathBuf,
    #[command(flatten)]
    media: MediaArgs,
    #[command(flatten)]
    wait: WaitArgs,
    /// The name of the map in the pool, made by the first entry if there is none
    #[arg(long, default_value = "main", value_parser = parse_name)]
    pub(crate) map: String,
    /// The index that a new map is: roart takes byte strings, the others numbers [default: the one that the
    /// map is called after, or fast-fair]
    #[arg(long, value_enum)]
    kind: Option<KindName>,
}

/// The name of a map, as an argument.
pub(crate) fn parse_name(text: &str) -> Result<String, String> {
    let fits = (1..=255).contains(&text.len()) && !text.contains('\0');
    if fits { Ok(text.into()) } else { Err("a map's name has 1 to 255 bytes without NUL".into()) }
}

/// The name of a map for a terminal.
pub(crate) fn shown_name(name: &str) -> String {
    printable(name, false)
}

/// `error`, with the file that it is about.
fn at(path: &Path, error: &Error) -> Failure {
    Failure::at(path, error)
}

/// `failure`, with the file that it is about, unless it says so itself.
pub(crate) fn about(path: &Path, failure: Failure) -> Failure {
    match failure {
        Failure::Message(text) if !says_where(&text, &path.to_string_lossy()) => {
            Failure::Message(format!("{}: {text}", path.display()))
        }
        other => other,
    }
}

/// What SIGBUS would mean for this pool.
fn explain(path: &Path) {
    let path = printable(&path.to_string_lossy(), false);
    // Without it the shell says "Bus error", and no more.
    let _ = explain_bus_errors(&format!(
        "endura: {path}: the file was cut short while it was open, or its disk failed (SIGBUS); what \
         `endura check` says of it decides whether a backup is needed\n"
    ));
}

impl PoolArgs {
    /// The options that these arguments ask for.
    pub(crate) fn options(&self) -> PoolOptions {
        explain(&self.pool);
        self.medium.options().lock_timeout(self.wait.wait)
    }

    /// Opens the pool without writing to it.
    pub(crate) fn open_read_only(&self) -> Result<Pool> {
        self.options().read_only(true).open_existing(&self.pool).map_err(|error| self.at(&error))
    }

    /// Opens the pool for writing.
    pub(crate) fn open(&self) -> Result<Pool> {
        self.options().open_existing(&self.pool).map_err(|error| self.at(&error))
    }

    /// What went wrong with the pool.
    pub(crate) fn at(&self, error: &Error) -> Failure {
        at(&self.pool, error)
    }
}

impl MapArgs {
    /// The map of a pool that this command only reads.
    pub(crate) fn open_read_only(&self) -> Result<(Pool, OpenMap)> {
        self.map_of(self.pool.open_read_only()?)
    }

    /// The map of a pool that this command changes.
    pub(crate) fn open(&self) -> Result<(Pool, OpenMap)> {
        self.map_of(self.pool.open()?)
    }

    /// Never makes one: a name that was mistyped is an error.
    fn map_of(&self, pool: Pool) -> Result<(Pool, OpenMap)> {
        must_exist(&pool, &self.pool.pool, &self.map, "--map")?;
        let map = OpenMap::open(&pool, &self.map, None).map_err(|error| self.pool.at(&error))?;
        Ok((pool, map))
    }
}

/// So many names of maps are told.
const MOST_NAMES: usize = 10;

/// Fails if the pool has no such map, and says which it has. `option`: by what another one is named, if by any.
pub(crate) fn must_exist(pool: &Pool, path: &Path, name: &str, option: &str) -> Result<()> {
    let maps = pool.maps().map_err(|error| at(path, &error))?;
    if maps.iter().any(|map| map.name == name) {
        return Ok(());
    }
    let told = maps.iter().take(MOST_NAMES).map(|map| format!("`{}`", shown_name(&map.name)));
    let names = told.collect::<Vec<_>>().join(", ");
    let others = match maps.len() {
        0 => "it has none".into(),
        1 => format!("its only map is {names}"),
        2..=MOST_NAMES => format!("it has {names}"),
        all => format!("it has {names} and {} more, which `endura info` lists", all - MOST_NAMES),
    };
    let option = if maps.is_empty() || option.is_empty() { "" } else { &format!(" ({option})") };
    let (path, name) = (path.display(), shown_name(name));
    Err(Failure::Message(format!("{path}: the pool has no map `{name}`: {others}{option}")))
}

/// What the keys and values of a map are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Numbers,
    Bytes,
}

impl Sort {
    pub(crate) fn of(kind: Kind) -> Self {
        if kind == Kind::Roart { Self::Bytes } else { Self::Numbers }
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

impl NewMapArgs {
    fn options(&self) -> PoolOptions {
        explain(&self.pool);
        self.media.options().lock_timeout(self.wait.wait)
    }

    /// What the map is, or will be. Nothing is made.
    pub(crate) fn kind(&self) -> Result<Kind> {
        match self.options().read_only(true).open_existing(&self.pool) {
            Ok(pool) => self.kind_in(&pool),
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                Ok(self.kind_of_new())
            }
            // Only a writer may open it, and will say what it is.
            Err(Error::NeedsRecovery) => {
                let pool = self
                    .options()
                    .open_existing(&self.pool)
                    .map_err(|error| at(&self.pool, &error))?;
                self.kind_in(&pool)
            }
            Err(error) => Err(at(&self.pool, &error)),
        }
    }

    fn kind_in(&self, pool: &Pool) -> Result<Kind> {
        let found = kind_of(pool, &self.map).map_err(|error| at(&self.pool, &error))?;
        // Asked for as another kind, the library says what it is.
        Ok(self.kind.map(Kind::from).or(found).unwrap_or_else(|| self.kind_of_new()))
    }

    fn kind_of_new(&self) -> Kind {
        let named_after = || KindName::from_str(&self.map, true).ok();
        self.kind.or_else(named_after).map_or(Kind::FastFair, Kind::from)
    }

    /// Opens the pool and the map, as `kind`; makes what is missing. Nothing of that remains if no entry
    /// is stored.
    pub(crate) fn open(&self, kind: Kind) -> Result<(Writing, OpenMap)> {
        Writing::begin(&self.options(), &self.pool, &self.map, kind)
    }
}
