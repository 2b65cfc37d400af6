//! Which stores lose what they acknowledged: `endura torture` as a child process.

use std::process::{Command, Stdio};

use endura_bench::contender::Contender;
use endura_bench::result::{Promise, Role};

use crate::outcome::{Failure, Result};
use crate::progress;

/// Kills each of `contenders` that promises to survive it `kills` times; gives those that did not.
pub(super) fn broken(contenders: &[Contender], kills: u64) -> Result<Vec<Contender>> {
    let mut broken = Vec::new();
    if kills == 0 {
        return Ok(broken);
    }
    let spinner = progress::spinner();
    for &contender in contenders {
        if contender.promise() == Promise::Sigkill {
            spinner.set_message(format!("killing {} {kills} times", contender.name()));
            if !survives(contender, kills)? {
                broken.push(contender);
            }
        }
    }
    spinner.finish_and_clear();
    Ok(broken)
}

fn survives(contender: Contender, kills: u64) -> Result<bool> {
    let failure = |error| Failure::io("cannot run `endura torture`", &error);
    let which = if contender.role() == Role::Ours { "--kind" } else { "--peer" };
    let mut command = Command::new(std::env::current_exe().map_err(failure)?);
    command.args([
        "torture",
        "--json",
        "--rounds",
        &kills.to_string(),
        which,
        contender.argument(),
    ]);
    let output = command.stdin(Stdio::null()).output().map_err(failure)?;
    match output.status.code() {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => {
            let text = String::from_utf8_lossy(&output.stderr);
            Err(Failure::Message(format!("`endura torture` of {}: {text}", contender.name())))
        }
    }
}
