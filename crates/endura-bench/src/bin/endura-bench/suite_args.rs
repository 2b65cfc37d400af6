//! What all suites take, and how they run.

use std::io::{Write, stdout};
use std::path::PathBuf;

use endura_bench::contender::Contender;
use endura_bench::result::{Promise, Results};
use endura_bench::store::Shape;
use endura_bench::suite::{self, Progress, Settings, Suite};

use crate::contenders::contender;
use crate::flags;
use crate::kills::broken;
use crate::table;
use endura_console::args::MediaArgs;
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use endura_console::text::{counted, parse_number};

/// Who takes part, where, how often, and what becomes of the figures.
#[derive(clap::Args)]
pub(super) struct RunArgs {
    /// Who takes part [default: all that this build has and that take such keys]
    #[arg(long, value_parser = contender(), value_delimiter = ',')]
    stores: Vec<Contender>,
    /// Numbers of threads, each measured by itself; more than the machine has are oversubscribed
    #[arg(short, long, value_delimiter = ',', default_value = "1")]
    pub(super) threads: Vec<usize>,
    /// How often everything is repeated, the stores taking turns; medians are shown
    #[arg(long, default_value_t = 3)]
    pub(super) rounds: u32,
    /// Operations that arrive per second, all threads together; latencies then count from when an
    /// operation was due, not from when it began [default: as many as it can do]
    #[arg(long)]
    rate: Option<f64>,
    /// Time one operation in so many; with --rate each is timed
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    sampled: u64,
    /// Before measuring, kill each persistent store so often in the middle of its work, as `endura
    /// bench kills` does, and mark those that lose what they acknowledged
    #[arg(long, default_value_t = 0)]
    kills: u64,
    #[command(flatten)]
    pub(super) seed: flags::Seed,
    #[command(flatten)]
    dir: flags::Dir,
    #[command(flatten)]
    pub(super) layout: flags::Layout,
    #[command(flatten)]
    json: flags::Json,
    /// Write the JSON object to this file as well
    #[arg(long)]
    out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) media: MediaArgs,
}

/// How much.
#[derive(clap::Args)]
pub(super) struct SizeArgs {
    /// Keys that are loaded
    #[arg(short = 'n', long, alias = "records", value_parser = parse_number, default_value = "1000000")]
    pub(super) keys: u64,
    /// Operations of each workload [default: half the keys]
    #[arg(short = 'p', long, value_parser = parse_number)]
    operations: Option<u64>,
}

impl SizeArgs {
    pub(super) fn operations(&self) -> u64 {
        self.operations.unwrap_or(self.keys / 2).max(1)
    }
}

/// What keys and values are.
#[derive(clap::Args)]
pub(super) struct ShapeArgs {
    /// Keys of 24 bytes and values of 100 in place of numbers
    #[arg(long)]
    strings: bool,
    /// Bytes of a key [default: 8, a number]
    #[arg(short, long, alias = "key_size", conflicts_with = "strings")]
    key_bytes: Option<usize>,
    /// Bytes of the longest keys, if they are to differ in length
    #[arg(long, conflicts_with = "strings")]
    longest_key_bytes: Option<usize>,
    /// Bytes of a value [default: 8, a number]
    #[arg(short, long, alias = "value_size", conflicts_with = "strings")]
    value_bytes: Option<usize>,
}

impl ShapeArgs {
    pub(super) fn shape(&self) -> Shape {
        if self.strings {
            return Shape::STRINGS;
        }
        let key_bytes = self.key_bytes.unwrap_or(8);
        Shape {
            key_bytes,
            longest_key_bytes: self.longest_key_bytes.unwrap_or(key_bytes),
            value_bytes: self.value_bytes.unwrap_or(8),
        }
    }
}

/// The arguments that stand for a shape, for a child process.
pub(super) fn shape_arguments(shape: Shape) -> [String; 6] {
    let lengths = [shape.key_bytes, shape.longest_key_bytes, shape.value_bytes];
    let [key, longest, value] = lengths.map(|length| length.to_string());
    let names = ["--key-bytes", "--longest-key-bytes", "--value-bytes"].map(String::from);
    let [for_key, for_longest, for_value] = names;
    [for_key, key, for_longest, longest, for_value, value]
}

impl RunArgs {
    /// The settings for entries of these shapes.
    pub(super) fn settings(&self, shapes: &[Shape]) -> Result<Settings> {
        shapes.iter().try_for_each(|shape| shape.check())?;
        let takes = |c: &Contender| shapes.iter().any(|&shape| c.takes(shape));
        let mut contenders = self.stores.clone();
        if contenders.is_empty() {
            contenders = Contender::ALL.into_iter().filter(|c| c.is_built() && takes(c)).collect();
        }
        if let Some(&alone) = contenders.iter().find(|c| !takes(c)) {
            let (name, shapes) = (alone.argument(), shapes.iter().map(|shape| shape.name()));
            let shapes: Vec<String> = shapes.collect();
            return Err(Failure::Usage(format!("{name} holds no {}", shapes.join(" or "))));
        }
        Ok(Settings {
            contenders,
            threads: self.threads.clone(),
            rounds: self.rounds,
            patience: None,
            rate: self.rate,
            sampled: self.sampled,
            seed: self.seed.seed,
            dir: self.dir.path(),
            pool: self.media.options(),
            layout: self.layout.layout,
        })
    }

    /// Runs suites, and shows what they measured.
    pub(super) fn run(&self, suites: &[Suite]) -> Result {
        self.run_with_threads(&self.threads, suites)
    }

    /// The same with other numbers of threads.
    pub(super) fn run_with_threads(&self, threads: &[usize], suites: &[Suite]) -> Result {
        let shapes: Vec<Shape> = suites.iter().map(|suite| suite.shape).collect();
        let settings = Settings { threads: threads.to_vec(), ..self.settings(&shapes)? };
        self.measure(&settings.contenders, |results, observe| {
            suite::run(suites, &settings, results, observe)
        })
    }

    /// Measures beside a progress bar, and shows what was measured.
    pub(super) fn measure(
        &self,
        contenders: &[Contender],
        measure: impl FnOnce(&mut Results, &mut dyn FnMut(Progress)) -> endura_bench::Result<()>,
    ) -> Result {
        let broken = broken(contenders, self.kills, self.seed.seed)?;
        let mut results = Results::new(command_line(), self.seed.seed);
        let bar = progress::bar(1, "stages");
        let measured = measure(&mut results, &mut |at| {
            bar.set_length(at.total);
            bar.set_position(at.done);
            bar.set_message(format!(
                "round {}/{}, {}: {} {}",
                at.round + 1,
                self.rounds,
                counted(at.threads as u64, "thread"),
                at.store,
                at.workload
            ));
        });
        bar.finish_and_clear();
        measured?;
        for store in &mut results.stores {
            if broken.iter().any(|contender| contender.name() == store.name) {
                store.promise = Promise::Broken;
            }
        }
        if let Some(path) = &self.out {
            results.write(path)?;
        }
        if self.json.json {
            writeln!(stdout(), "{}", serde_json::to_string(&results)?)?;
        } else {
            table::write(&mut stdout().lock(), &results)?;
        }
        Ok(Answer::Yes)
    }
}

/// This process's command line, as a person would write it.
pub(super) fn command_line() -> String {
    let arguments = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned());
    ["endura bench".to_string()].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}
