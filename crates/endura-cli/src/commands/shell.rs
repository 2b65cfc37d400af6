//! `endura completions` and `endura man`: a script for a shell, and a manual page, both made from the arguments.

use std::io::{Write, stdout};

use clap::Command;
use clap_complete::Shell;
use endura_console::outcome::{Answer, Result};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn completions(args: &Args, mut command: Command) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "endura", &mut script);
    stdout().write_all(&script)?;
    Ok(Answer::Yes)
}

/// One manual page: first the program, then its commands.
pub(crate) fn manual(command: Command) -> Result {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = format!("endura {}", command.get_name());
        let man = clap_mangen::Man::new(command.clone().bin_name(name));
        writeln!(page, ".SH \"{}\"", command.get_name().to_uppercase())?;
        man.render_description_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_options_section(&mut page)?;
        man.render_extra_section(&mut page)?;
    }
    stdout().write_all(&page)?;
    Ok(Answer::Yes)
}
