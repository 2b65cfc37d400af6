//! The child of the demo of a power loss: it loads keys, makes a checkpoint, and continues to load until it is killed.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use endura_console::args::MediaArgs;
use endura_console::child::{Child, die_with_parent, wait_for_death};
use endura_console::ledger::Ledger;
use endura_console::outcome::{Failure, Result};
use endura_console::progress;

use super::maps::Maps;

/// The arguments of the child.
#[derive(clap::Args)]
pub(crate) struct PowerWriterArgs {
    pool: PathBuf,
    ledger: PathBuf,
    /// The keys before the checkpoint.
    before: u64,
    /// All keys.
    keys: u64,
    #[command(flatten)]
    media: MediaArgs,
}

/// Runs in the child: loads until it is killed.
pub(crate) fn write(args: &PowerWriterArgs) -> Result {
    die_with_parent()?;
    let pool = args.media.options().open_existing(&args.pool);
    let pool = pool.map_err(|error| Failure::at(&args.pool, &error))?;
    let maps = Maps::open(&pool)?;
    let ledger = Ledger::open(&args.ledger)?;
    let account = ledger.account(0)?;
    for index in 0..args.keys {
        if index == args.before {
            pool.checkpoint()?;
            ledger.set_ready()?;
        }
        account.begin(index + 1);
        maps.insert(index)?;
        account.acknowledge(index + 1);
    }
    wait_for_death()
}

/// What the child had done when it was killed.
pub(super) struct Written {
    /// The number of inserts that had returned.
    pub(super) acknowledged: u64,
    /// The time from its checkpoint to the kill.
    pub(super) since: Duration,
}

/// Starts the child, and kills it when `stop_at` inserts have returned, some of them after its checkpoint.
pub(super) fn write_until_killed(
    (pool, ledger): (&Path, &Path),
    (before, stop_at, keys): (u64, u64, u64),
    media: MediaArgs,
) -> Result<Written> {
    let words = Ledger::create(ledger)?;
    let mut arguments = vec![
        "demo-power-writer".into(),
        pool.as_os_str().to_owned(),
        ledger.as_os_str().to_owned(),
        before.to_string().into(),
        keys.to_string().into(),
    ];
    arguments.extend(media.to_arguments().into_iter().map(Into::into));
    let mut child = Child::spawn(arguments)?;
    let bar = progress::count_bar(keys, "keys");
    words.wait_ready(&mut child)?;
    let (begun, account) = (Instant::now(), words.account(0)?);
    while account.acknowledged() < stop_at {
        bar.set_position(account.acknowledged());
        if let Some(ended) = child.ended()? {
            return Err(Failure::Message(format!("the child ended by itself: {ended}")));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    child.kill()?;
    let since = begun.elapsed();
    bar.finish_and_clear();
    Ok(Written { acknowledged: account.acknowledged(), since })
}
