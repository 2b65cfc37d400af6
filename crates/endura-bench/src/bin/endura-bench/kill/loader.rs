//! A store that is loaded by a child process, which is then killed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use endura::NodeLayout;
use endura_bench::contender::{Contender, Entrant};
use endura_bench::figures::Pacing;
use endura_bench::store::{Shape, StoreOptions, temporary};
use endura_bench::workload::{Plan, Population, Workload};
use endura_console::args::MediaArgs;
use endura_console::child::{Child, die_with_parent, wait_for_death};
use endura_console::ledger::Ledger;
use endura_console::outcome::{Failure, Result};
use tempfile::TempDir;

use crate::args::{ShapeArgs, contender, flags, shape_arguments};

/// The arguments of the child.
#[derive(clap::Args)]
pub(crate) struct LoaderArgs {
    #[arg(value_parser = contender())]
    store: Contender,
    dir: PathBuf,
    ledger: PathBuf,
    /// As many as the store is to hold.
    keys: u64,
    /// Those of them that are written.
    writes: u64,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    layout: flags::Layout,
    #[command(flatten)]
    media: MediaArgs,
}

/// A load that is over, and was killed: what a store left.
pub(crate) struct Killed {
    /// Deleted in the end.
    folder: TempDir,
    options: StoreOptions,
    contender: Contender,
    media: MediaArgs,
}

/// Loads `keys` keys in a child of this program, and kills it.
pub(crate) fn load_and_kill(
    contender: Contender,
    shape: Shape,
    keys: u64,
    dir: &Path,
    layout: Option<NodeLayout>,
    media: MediaArgs,
) -> Result<Killed> {
    let folder = temporary(dir)?;
    let store = folder.path().join("store");
    let options = StoreOptions {
        pool: media.options().checkpoints(endura::Checkpoints::off()),
        layout,
        ..StoreOptions::new(store, shape, keys)
    };
    let killed = Killed { folder, options, contender, media };
    killed.write_and_kill(keys)?;
    Ok(killed)
}

impl Killed {
    /// Opens the store in a child of this program, which writes so many entries, and kills it.
    pub(crate) fn write_and_kill(&self, writes: u64) -> Result<()> {
        let path = self.folder.path().join("ledger");
        let ledger = Ledger::create(&path)?;
        let StoreOptions { dir, shape, entries, layout, .. } = &self.options;
        let mut arguments = vec![
            "loader".into(),
            self.contender.argument().into(),
            dir.clone().into_os_string(),
            path.clone().into_os_string(),
            entries.to_string().into(),
            writes.to_string().into(),
        ];
        arguments.extend(shape_arguments(*shape).map(Into::into));
        arguments
            .extend(layout.iter().flat_map(|&l| ["--layout".into(), flags::layout_name(l).into()]));
        arguments.extend(self.media.to_arguments().into_iter().map(Into::into));
        let mut child = Child::spawn(arguments)?;
        let account = ledger.account(0)?;
        while account.acknowledged() == 0 {
            if let Some(ended) = child.ended()? {
                return Err(Failure::Message(format!("the child ended by itself: {ended}")));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill()?;
        // The next kill in this folder begins with a ledger of its own.
        std::fs::remove_file(&path)?;
        Ok(())
    }

    pub(crate) fn contender(&self) -> Contender {
        self.contender
    }

    /// Opens the store that the kill left.
    pub(crate) fn open(&self) -> endura_bench::Result<Box<dyn Entrant>> {
        self.contender.open(&self.options)
    }

    /// The file of a store that is a pool.
    pub(crate) fn pool(&self) -> PathBuf {
        self.options.dir.join("pool")
    }
}

/// The child: loads, says so, and waits to be killed.
pub(crate) fn load(args: &LoaderArgs) -> Result {
    die_with_parent()?;
    let shape = args.shape.shape();
    let options = StoreOptions::new(args.dir.clone(), shape, args.keys);
    let pool = args.media.options().checkpoints(endura::Checkpoints::off()).recovery_threads(0);
    let options = StoreOptions { pool, layout: args.layout.layout, ..options };
    let store = args.store.open(&options)?;
    let plan = Plan { operations: args.writes, pace: Pacing::FREE, seed: 1 };
    store.run(&Population::new(1), &Workload::load(), plan)?;
    Ledger::open(&args.ledger)?.account(0)?.acknowledge(1);
    wait_for_death()
}
