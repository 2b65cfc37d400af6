//! A child process that runs this same program, and is killed.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::outcome::{Failure, Result};

/// A running child. Dropping it kills it.
pub struct Child(std::process::Child);

impl Child {
    /// Runs this program with other arguments.
    pub fn spawn(arguments: impl IntoIterator<Item = OsString>) -> Result<Self> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::io("cannot find this program's own file", &error))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn();
        Ok(Self(child.map_err(|error| Failure::io("cannot start a child process", &error))?))
    }

    /// How the child ended, if it has ended.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.0.try_wait().map_err(|error| Failure::io("cannot wait for the child", &error))
    }

    /// Sends SIGKILL and waits until the child is gone. Returns how it ended if it was already gone before the SIGKILL.
    pub fn kill(&mut self) -> Result<Option<ExitStatus>> {
        let failure = |error| Failure::io("cannot kill the child", &error);
        self.0.kill().map_err(failure)?;
        let status = self.0.wait().map_err(failure)?;
        Ok((status.signal() != Some(Signal::KILL.as_raw())).then_some(status))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // No caller can receive the error that the child was already gone.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks the kernel to end this process when its parent ends.
pub fn die_with_parent() -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Failure::io("cannot ask to end with the parent", &error.into()))
}

/// Waits to be killed.
pub fn wait_for_death() -> ! {
    loop {
        std::thread::park();
    }
}
