//! What is asked of `endura bench readme`, and which of its two programs this is: the one that generates a crate, or the one
//! that was generated.

use std::ffi::OsString;
use std::io::{Write, stdout};
use std::path::PathBuf;

use endura_bench::readme::{Plan, Surroundings};
use endura_console::outcome::{Answer, Result};

use super::measure;
use crate::args::flags;
use crate::stranger;

const ABOUT: &str = "\
The figures are those of a program outside of this repository: a crate is generated, which depends on endura by its
path and has Cargo's default release profile. It is compiled and started; it prints a page in Markdown on standard
output. Progress goes to standard error. What begins after four minutes is measured
twice, after six minutes once.";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    /// A smoke test: few entries, one round, a minute at most; the figures mean nothing
    #[arg(long)]
    quick: bool,
    /// Measure with this very build, in whatever profile it was compiled
    #[arg(long)]
    here: bool,
    /// The folder of the generated crate [default: target/readme in the repository]
    #[arg(long = "crate", conflicts_with = "here")]
    krate: Option<PathBuf>,
    /// Generate the crate and compile nothing
    #[arg(long, hide = true, conflicts_with = "here")]
    generate: bool,
    /// The compiler that the page names
    #[arg(long, hide = true, requires = "here")]
    compiler: Option<String>,
    #[command(flatten)]
    dir: flags::Dir,
}

pub(crate) fn run(args: &Args) -> Result {
    let dir = args.dir.path();
    if args.here {
        let plan = if args.quick { Plan::quick() } else { Plan::full() };
        let compiler = args.compiler.clone().unwrap_or_else(|| "this build's profile".into());
        let page = measure::page(plan, &Surroundings::of(&dir, compiler), &dir)?;
        write!(stdout(), "{page}")?;
        return Ok(Answer::Yes);
    }
    let stranger = stranger::generate(args.krate.clone())?;
    if args.generate {
        writeln!(stdout(), "{}", stranger.display())?;
        return Ok(Answer::Yes);
    }
    let mut measure: Vec<OsString> = ["readme", "--here", "--compiler"].map(OsString::from).into();
    measure.extend([stranger::compiler().into(), "--dir".into(), dir.into()]);
    measure.extend(args.quick.then(|| "--quick".into()));
    stranger::build_and_run(&stranger, measure)
}
