//! An open of the pool, and what it finds.

use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use endura::{Error, Pool};

use super::args::LoadArgs;
use super::maps::Maps;
use super::moment::Entries;
use crate::lines::{Line, Positions};

/// A pool that is what it was at one moment.
pub(super) struct Session {
    pub(super) pool: Pool,
    pub(super) maps: Maps,
    pub(super) entries: Entries,
    pub(super) found: Positions,
}

/// Opens the pool, and says what is in it; the line that says why not, if it is no pool of one moment.
pub(super) fn open(args: &LoadArgs) -> Result<Session, Line> {
    say(&Line::Opening);
    let is_new = !args.pool.exists();
    let pool = match args.options().open(&args.pool) {
        Err(error @ Error::NeedsRestore { .. }) if args.without_checkpoints => {
            say(&Line::Refused(error.code().into()));
            args.options().accept_unclean(true).open(&args.pool).map_err(|error| torn(&error))?
        }
        Err(error) => return Err(Line::Refused(error.code().into())),
        Ok(pool) => pool,
    };
    say(&opened(&pool, is_new)?);
    look(pool)
}

fn opened(pool: &Pool, is_new: bool) -> Result<Line, Line> {
    let restored = pool.stats().map_err(|error| torn(&error))?.restored;
    Ok(match restored {
        Some(restored) => Line::Restored {
            at: micros(restored.at),
            age_ms: restored.at.elapsed().unwrap_or_default().as_millis() as u64,
            written_bytes: restored.written_bytes,
        },
        None if is_new => Line::New,
        None => Line::AsLeft,
    })
}

/// Looks at every node and every entry.
fn look(pool: Pool) -> Result<Session, Line> {
    pool.verify().map_err(|error| torn(&error))?;
    let maps = Maps::open(&pool).map_err(|error| torn(&error))?;
    let entries = maps.entries().map_err(Line::Torn)?;
    let found = entries.moment().map_err(Line::Torn)?;
    say(&Line::Found(found));
    Ok(Session { pool, maps, entries, found })
}

/// Closes the pool and has `endura check` look at it.
pub(super) fn close(session: Session, pool: &Path) -> Result<(), Line> {
    let Session { pool: open, maps, .. } = session;
    open.close().map_err(|error| failed(&error))?;
    drop((maps, open));
    let checked = Command::new("endura").arg("check").arg(pool).status();
    let checked = checked.map_err(|error| Line::Failed(format!("endura check: {error}")))?;
    let code = checked.code().and_then(|code| u32::try_from(code).ok());
    say(&Line::Closed(code.unwrap_or(u32::MAX)));
    Ok(())
}

fn torn(error: &Error) -> Line {
    Line::Torn(error.to_string())
}

pub(super) fn failed(error: &Error) -> Line {
    Line::Failed(error.to_string())
}

pub(super) fn micros(at: SystemTime) -> u64 {
    at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

/// Prints a line at once; the console is all that there is.
pub(super) fn say(line: &Line) {
    endura_console::outcome::tell(line);
}
