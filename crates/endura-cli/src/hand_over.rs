//! Commands that are separate programs: `endura bench` becomes `endura-bench`.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use endura_console::outcome::{Failure, Result};

/// Whatever the program takes, `--help` as well.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Replaces this process with `program`, which is beside this one or in PATH. Its package has the same name.
pub(crate) fn run(program: &str, args: &Args) -> Result {
    for path in [beside(program), Some(program.into())].into_iter().flatten() {
        // Returns only if the program could not be started.
        let error = Command::new(&path).args(&args.arguments).exec();
        if error.kind() != io::ErrorKind::NotFound {
            return Err(Failure::io(format!("cannot start {}", path.display()), &error));
        }
    }
    Err(Failure::Message(format!(
        "{program} is a program of its own, and neither beside this one nor in PATH; this builds it:\n  \
         cargo build --release -p {program}"
    )))
}

fn beside(program: &str) -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.with_file_name(program))
}
