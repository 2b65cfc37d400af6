//! The pool of a command, and how it is opened.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use endura::explain_bus_errors;
use endura::{Checkpoints, Error, MapInfo, MapOptions, Pool, PoolOptions, Types};
use endura_console::args::{ADVANCED, KindName, MediaArgs, MediumArgs};
use endura_console::outcome::{Failure, Result, says_where};
use endura_console::text::printable;

use crate::pool::checkpoint_args::{CheckpointArgs, tell_restored};
use crate::pool::made::Writing;
use crate::values::guess::{Chosen, Origin};
use crate::values::map::{OpenMap, Schema};
use crate::values::notation::{Notation, Written};
use crate::values::scalar::Reading;
use endura::dynamic::Type;

/// The map of a command that names none.
const DEFAULT_MAP: &str = "main";

/// How long to wait for a pool that somebody else has open.
#[derive(clap::Args, Clone, Copy)]
pub(crate) struct WaitArgs {
    /// How many seconds to wait for a pool that is open elsewhere
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "5",
        value_parser = endura::settings::seconds,
        help_heading = ADVANCED
    )]
    wait: Duration,
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
    /// The name of the map in the pool [default: main, or else the pool's only map]
    #[arg(long, value_parser = parse_name)]
    map: Option<String>,
}

/// The map of a command that changes one that is there.
#[derive(clap::Args)]
pub(crate) struct OldMapArgs {
    #[command(flatten)]
    pub(crate) pool: PoolArgs,
    /// The name of the map in the pool
    #[arg(long, default_value = DEFAULT_MAP, value_parser = parse_name)]
    map: String,
}

/// The map of a command that makes it if need be.
#[derive(clap::Args)]
pub(crate) struct NewMapArgs {
    /// The pool file; the first entry creates it
    pub(crate) pool: PathBuf,
    #[command(flatten)]
    media: MediaArgs,
    #[command(flatten)]
    wait: WaitArgs,
    /// The name of the map in the pool; the first entry creates it
    #[arg(long, default_value = DEFAULT_MAP, value_parser = parse_name)]
    pub(crate) map: String,
    /// The index of a new map [default: fast-fair for keys of at most 8 bytes, else roart]
    #[arg(long, value_enum)]
    kind: Option<KindName>,
    /// The type of the keys of a new map: u64, i64, f64, str, bytes, "(u32, str)" ... [default: that of the first]
    #[arg(long, value_name = "TYPE", value_parser = parse_key_type)]
    keys: Option<String>,
    /// The type of the values of a new map: the same, or json, or () [default: that of the first]
    #[arg(long, value_name = "TYPE", value_parser = parse_type)]
    values: Option<String>,
    #[command(flatten)]
    checkpoints: CheckpointArgs,
}

/// Parses an argument that is the name of a type.
fn parse_type(text: &str) -> Result<String, String> {
    // The name may be written as the pool records it, or with other spaces.
    let given = words_of(text);
    let spaced = given.replace(' ', "").replace(',', ", ").replace(';', "; ");
    // The path of a newtype itself contains colons.
    let spaced = spaced.replace("::", "\0").replace(':', ": ").replace('\0', "::");
    let is_known = |name: &String| !matches!(Type::named(name), Type::Unknown(_));
    [given, spaced].into_iter().find(is_known).ok_or_else(|| {
        "types are u8 to u128, i8 to i128, f32, f64, bool, char, str, bytes, \"[u8; 32]\", \
             (), and \"(u32, str)\", \"Option<u64>\", \"Reverse<u64>\" of such; json, as values alone; a `String` is `str`"
            .into()
    })
}

/// The name of a type, with `[u8]` for each `bytes` that is a type and not part of a newtype's name.
fn words_of(text: &str) -> String {
    let mut words = String::new();
    let mut done = 0;
    for (at, word) in text.match_indices("bytes") {
        let before = text[..at].trim_end();
        let behind = text[at + word.len()..].trim_start();
        let begins = before.is_empty() || before.ends_with(['(', '<', ',', ':']);
        let ends = behind.is_empty() || behind.starts_with([')', '>', ',']);
        if begins && ends && !before.ends_with("::") {
            words.push_str(&text[done..at]);
            words.push_str("[u8]");
            done = at + word.len();
        }
    }
    words + &text[done..]
}

fn parse_key_type(text: &str) -> Result<String, String> {
    match parse_type(text)? {
        name if Type::named(&name) == Type::Json => Err("json has no order, keys do".into()),
        name => Ok(name),
    }
}

/// The name of a map, as an argument.
pub(crate) fn parse_name(text: &str) -> Result<String, String> {
    let fits = (1..=255).contains(&text.len()) && !text.contains('\0');
    if fits { Ok(text.into()) } else { Err("a map's name has 1 to 255 bytes without NUL".into()) }
}

/// The name of a map, escaped for a terminal.
pub(crate) fn shown_name(name: &str) -> String {
    printable(name, false)
}

/// The failure for `error`, with the file that it concerns.
fn at(path: &Path, error: &Error) -> Failure {
    Failure::at(path, error)
}

/// The options with a choice of checkpoints, if there is one.
pub(crate) fn with_checkpoints(options: PoolOptions, how: Option<Checkpoints>) -> PoolOptions {
    match how {
        Some(how) => options.checkpoints(how),
        None => options,
    }
}

/// `failure`, with the file that it concerns, unless its text names the file.
pub(crate) fn about(path: &Path, failure: Failure) -> Failure {
    failure.reworded(|text| match says_where(&text, &path.to_string_lossy()) {
        true => text,
        false => format!("{}: {text}", path.display()),
    })
}

/// Explains what a SIGBUS means for this pool.
fn explain(path: &Path) {
    let path = printable(&path.to_string_lossy(), false);
    // Without this text the shell only says "Bus error".
    let _ = explain_bus_errors(&format!(
        "endura: {path}: the system could not give a page of the file (SIGBUS): the file was cut short or punched while \
         it was open, its disk failed, or the disk is full and a copy shares the file's blocks (`cp` on XFS and btrfs: free \
         space, or remove the copy). A full disk costs no entry; what `endura check` says of the pool decides whether a \
         backup is needed\n"
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
        self.open_read_only_as(None)
    }

    /// Like [`open_read_only`](Self::open_read_only), for a pool whose checkpoints may be in another file.
    pub(crate) fn open_read_only_as(&self, how: Option<Checkpoints>) -> Result<Pool> {
        let options = with_checkpoints(self.options(), how);
        options.read_only(true).open_existing(&self.pool).map_err(|error| self.at(&error))
    }

    /// Opens the pool for writing, with this choice of checkpoints, or as it was left.
    pub(crate) fn open(&self, how: Option<Checkpoints>) -> Result<Pool> {
        let pool = with_checkpoints(self.options(), how).open_existing(&self.pool);
        let pool = pool.map_err(|error| self.at(&error))?;
        tell_restored(&self.pool, &pool);
        Ok(pool)
    }

    /// The failure for an error of this pool.
    pub(crate) fn at(&self, error: &Error) -> Failure {
        at(&self.pool, error)
    }
}

impl MapArgs {
    /// Opens the map for a command that only reads. It is never created: a mistyped name is an error.
    pub(crate) fn open_read_only(&self) -> Result<(Pool, OpenMap)> {
        let pool = self.pool.open_read_only()?;
        let name = match &self.map {
            Some(name) => name.clone(),
            None => self.pool.unnamed(&pool)?,
        };
        self.pool.map_of(pool, &name)
    }

    /// Opens the map `name` again, for a command that had closed the pool.
    pub(crate) fn open_again(&self, name: &str) -> Result<(Pool, OpenMap)> {
        self.pool.map_of(self.pool.open_read_only()?, name)
    }
}

impl OldMapArgs {
    /// Opens the map for a command that changes it. It is never created.
    pub(crate) fn open(&self, how: Option<Checkpoints>) -> Result<(Pool, OpenMap)> {
        self.pool.map_of(self.pool.open(how)?, &self.map)
    }
}

impl PoolArgs {
    /// The map that a command reads if it names none: `main`, or else the only map.
    fn unnamed(&self, pool: &Pool) -> Result<String> {
        let maps = pool.maps().map_err(|error| self.at(&error))?;
        if maps.iter().any(|map| map.name == DEFAULT_MAP) {
            return Ok(DEFAULT_MAP.into());
        }
        let what = match &*maps {
            [only] => return Ok(only.name.clone()),
            [] => "the pool has no map: `endura put` and `endura import` make one".into(),
            _ => format!("the pool has several maps: choose one with --map: {}", names_of(&maps)),
        };
        let text = format!("{}: {what}", self.pool.display());
        Err(Failure::Pool { code: Error::NoSuchMap { name: DEFAULT_MAP.into() }.code(), text })
    }

    /// Opens the map `name`, which must exist.
    fn map_of(&self, pool: Pool, name: &str) -> Result<(Pool, OpenMap)> {
        must_exist(&pool, &self.pool, name, "--map")?;
        let map = OpenMap::open(&pool, name).map_err(|error| self.at(&error))?;
        Ok((pool, map))
    }
}

/// The most names of maps that an error lists.
const MOST_NAMES: usize = 10;

/// The names of some maps, for an error.
fn names_of(maps: &[MapInfo]) -> String {
    let told = maps.iter().take(MOST_NAMES).map(|map| format!("`{}`", shown_name(&map.name)));
    let names = told.collect::<Vec<_>>().join(", ");
    match maps.len().saturating_sub(MOST_NAMES) {
        0 => names,
        more => format!("{names} and {more} more, which `endura info` lists"),
    }
}

/// Fails if the pool has no such map, and lists those it has. `option`: the option that names another map, if there is
/// one.
pub(crate) fn must_exist(pool: &Pool, path: &Path, name: &str, option: &str) -> Result<()> {
    let maps = pool.maps().map_err(|error| at(path, &error))?;
    if maps.iter().any(|map| map.name == name) {
        return Ok(());
    }
    let others = match maps.len() {
        0 => "it has none".into(),
        1 => format!("its only map is {}", names_of(&maps)),
        _ => format!("it has {}", names_of(&maps)),
    };
    let option = if maps.is_empty() || option.is_empty() { "" } else { &format!(" ({option})") };
    let (path, shown) = (path.display(), shown_name(name));
    let text = format!("{path}: the pool has no map `{shown}`: {others}{option}");
    Err(Failure::Pool { code: Error::NoSuchMap { name: name.into() }.code(), text })
}

/// The key of an argument, for the map of this name.
pub(crate) fn parse_key(map: &str, schema: &Schema, argument: &OsStr) -> Result<Vec<u8>> {
    parse(&schema.key, argument, || {
        format!("keys of the map `{}` are `{}`", shown_name(map), schema.types.key)
    })
}

/// The value of an argument, for the map of this name.
pub(crate) fn parse_value(map: &str, schema: &Schema, argument: &OsStr) -> Result<Vec<u8>> {
    parse(&schema.value, argument, || {
        format!("values of the map `{}` are `{}`", shown_name(map), schema.types.value)
    })
}

fn parse(kind: &Type, argument: &OsStr, types: impl FnOnce() -> String) -> Result<Vec<u8>> {
    let parsed = kind.read(Notation::Escaped, argument.as_bytes(), Reading::Lenient);
    parsed.map_err(|error| {
        Failure::Usage(format!(
            "{error} (the {}; --keys and --values choose the types of a new --map)",
            types()
        ))
    })
}

impl NewMapArgs {
    fn options(&self) -> PoolOptions {
        explain(&self.pool);
        let options = self.media.options().lock_timeout(self.wait.wait);
        with_checkpoints(options, self.checkpoints.choice())
    }

    /// The types of the keys and values: those of the map, or the requested ones, or those of the first entry, which
    /// `first` returns if there is one. Creates nothing.
    pub(crate) fn types_with(
        &self,
        first: impl FnOnce() -> Result<Option<Types>>,
    ) -> Result<Option<Chosen>> {
        let (known, unnamed) = self.known_types()?;
        let types = if known.is_some() { known } else { first()? };
        Ok(types.map(|types| self.chosen(types, unnamed)))
    }

    /// Like [`types_with`](Self::types_with), for a command that always has a first entry.
    pub(crate) fn schema_with_entry(
        &self,
        first: impl FnOnce() -> Result<Types>,
    ) -> Result<Schema> {
        let (known, unnamed) = self.known_types()?;
        let types = known.map_or_else(first, Ok)?;
        Ok(Schema::of(self.chosen(types, unnamed).types))
    }

    /// The types of the map or, if there is no such map, the requested ones. Also returns where the types that were not
    /// requested come from.
    fn known_types(&self) -> Result<(Option<Types>, Origin)> {
        Ok(match (self.types()?, &self.keys, &self.values) {
            (Some(found), ..) => (Some(found), Origin::Recorded),
            (None, Some(key), Some(value)) => {
                (Some(Types { key: key.clone(), value: value.clone() }), Origin::Named)
            }
            (None, ..) => (None, Origin::Guessed),
        })
    }

    fn chosen(&self, mut types: Types, unnamed: Origin) -> Chosen {
        let origin = |named: &Option<String>| if named.is_some() { Origin::Named } else { unnamed };
        // If other types are requested than the map has, the library's error says which types it has.
        types.key = self.keys.clone().unwrap_or(types.key);
        types.value = self.values.clone().unwrap_or(types.value);
        Chosen { types, key: origin(&self.keys), value: origin(&self.values) }
    }

    /// The types of the map, if it exists.
    fn types(&self) -> Result<Option<Types>> {
        let is_missing = |error: &Error| matches!(error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound);
        let pool = match self.options().read_only(true).open_existing(&self.pool) {
            Ok(pool) => pool,
            // Only an open for writing can recover the pool, or restore it from its checkpoint, to read its types.
            Err(error)
                if matches!(error, Error::NeedsRecovery | Error::NeedsRestore { .. })
                    || is_missing(&error) =>
            {
                match self.options().open_existing(&self.pool) {
                    Err(error) if is_missing(&error) => return Ok(None),
                    opened => opened.map_err(|error| at(&self.pool, &error))?,
                }
            }
            Err(error) => return Err(at(&self.pool, &error)),
        };
        tell_restored(&self.pool, &pool);
        let maps = pool.maps().map_err(|error| at(&self.pool, &error))?;
        Ok(maps.into_iter().find(|map| map.name == self.map).map(|map| map.types))
    }

    /// Opens the pool and the map, with these types; creates what is missing. If no entry is stored, nothing of that
    /// remains.
    pub(crate) fn open(&self, schema: &Schema) -> Result<(Writing, OpenMap)> {
        let options = match self.kind {
            Some(kind) => MapOptions::new().kind(kind.into()),
            None => MapOptions::new(),
        };
        Writing::begin(&self.options(), &self.pool, &self.map, options, schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_as_people_write_them() {
        for (text, name) in [
            ("bytes", "[u8]"),
            ("Option<bytes>", "Option<[u8]>"),
            ("(bytes,bytes)", "([u8], [u8])"),
            ("( u8, Reverse< bytes > )", "(u8, Reverse<[u8]>)"),
            ("[u8;32]", "[u8; 32]"),
            ("my::Id:u64", "my::Id: u64"),
            ("my::bytes: u64", "my::bytes: u64"),
            ("(bytes: bytes, u8)", "(bytes: [u8], u8)"),
            ("json<User>", "json<User>"),
        ] {
            assert_eq!(parse_type(text).as_deref(), Ok(name), "{text}");
        }
        for text in ["mybytes", "bytesbytes", "my::bytes", "Option<bytes", "(bytes)"] {
            assert!(parse_type(text).is_err(), "{text}");
        }
    }
}
