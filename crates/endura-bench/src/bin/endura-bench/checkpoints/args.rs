//! What is measured, and how large.

use std::path::PathBuf;
use std::time::Duration;

use endura_bench::probes::checkpoints::Place;
use endura_console::text::{parse_number, parse_size};

use crate::args::{flags, one_of};

const ABOUT: &str = "\
Without options all five run:

  holds       two writers that never rest update keys in evenly spread pages, such that the share --changed of
              all pages changes from checkpoint to checkpoint; Pool::checkpoint each --interval. For how long
              it held the writers, what it copied meanwhile, what it wrote, how often it tried, how long the
              call took; beside it a plain copy of as many pages at the same distances. With --rate they replace
              values of 64 KiB instead, --bytes in all, so many bytes a second: also the longest put, and by how
              much the memory of the process grew.
  longest     the same writers for --seconds without checkpoints and with one each --interval, in turn: the
              longest update, and how many took more than 20 ms.
  throughput  half updates, half gets, zipfian with 0.99, with a checkpoint a second after the last, with one
              each 30 s, and without, in turn. For 30 s, one checkpoint is made in the middle of a turn; if
              --turn is not 30, what it lost is scaled to 30 s.
  peers       as in throughput, in turns of a third of --turn: endura with a checkpoint each second, RocksDB with
              its log synced each second, and LMDB and redb with a sync in each commit. Those that this build has.
  restore     a third of the pool's pages are garbage and its superblock is that of another boot: how long the
              open takes, beside cp and a sync of the same file; with both files out of the page cache, as
              after a reboot, and with both in it.

The pool lies in --dir, with its checkpoint beside it or in --checkpoint-dir: five times --bytes have to be free there. A table is
written when its part has ended.";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    /// Measure these only
    #[arg(long, value_delimiter = ',', value_parser = one_of(Part::ALL, Part::name))]
    only: Vec<Part>,
    /// The folder for the pool and its checkpoint, on the disk in question
    #[arg(long, default_value = ".")]
    pub(super) dir: PathBuf,
    /// The folder for the checkpoint, if it is another one: a pool on tmpfs with its checkpoint on a disk
    #[arg(long)]
    checkpoint_dir: Option<PathBuf>,
    /// Bytes that the pool of `holds`, `longest` and `restore` has in use
    #[arg(long, value_parser = parse_size, default_value = "1G")]
    pub(super) bytes: u64,
    /// Pages that change from checkpoint to checkpoint, in percent of all
    #[arg(long, value_delimiter = ',', value_parser = parse_percent, default_value = "1,10")]
    pub(super) changed: Vec<f64>,
    /// Seconds from one checkpoint to the next, in `holds` and `longest`
    #[arg(long, value_parser = parse_seconds, default_value = "1")]
    pub(super) interval: Duration,
    /// Bytes that the writers of `holds` put each second, as values of 64 KiB, in place of shares of pages
    #[arg(long, value_parser = parse_size)]
    pub(super) rate: Option<u64>,
    /// Checkpoints of `holds`
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) rounds: u32,
    /// Seconds of a turn of `longest`
    #[arg(long, value_parser = parse_seconds, default_value = "60")]
    pub(super) seconds: Duration,
    /// Turns of `longest` with checkpoints, and as many without
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) turns: u32,
    /// Keys of `throughput` and `peers`
    #[arg(long, value_parser = parse_number, default_value = "2000000")]
    pub(super) keys: u64,
    /// Threads of `throughput` and `peers`
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    pub(super) threads: Vec<usize>,
    /// Rounds of `throughput` and `peers`
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) rounds_of_throughput: u32,
    /// Seconds of a turn of `throughput`
    #[arg(long, value_parser = parse_seconds, default_value = "30")]
    pub(super) turn: Duration,
    /// Rounds of `restore`
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) rounds_of_restore: u32,
    #[command(flatten)]
    pub(super) json: flags::Json,
}

impl Args {
    pub(super) fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    pub(super) fn place(&self) -> Place<'_> {
        Place { pool: &self.dir, checkpoint: self.checkpoint_dir.as_deref() }
    }

    /// The shares of pages that change.
    pub(super) fn shares(&self) -> impl Iterator<Item = f64> {
        self.changed.iter().map(|percent| percent / 100.0)
    }
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Holds,
    Longest,
    Throughput,
    Peers,
    Restore,
}

impl Part {
    const ALL: [Self; 5] =
        [Self::Holds, Self::Longest, Self::Throughput, Self::Peers, Self::Restore];

    fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Longest => "longest",
            Self::Throughput => "throughput",
            Self::Peers => "peers",
            Self::Restore => "restore",
        }
    }
}

/// More than nothing, all at most.
fn parse_percent(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    match percent > 0.0 && percent <= 100.0 {
        true => Ok(percent),
        false => Err("a number above 0, 100 at most".into()),
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    match (0.001..1e6).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("a number of seconds, 0.001 at least".into()),
    }
}
