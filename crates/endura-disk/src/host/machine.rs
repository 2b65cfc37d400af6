//! The machine: qemu, whose serial console is a pipe.

use std::io::{BufRead, BufReader, Write, stderr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::spawn;
use std::time::Instant;

use endura_console::outcome::{Failure, Result};

use super::args::CutArgs;
use crate::lines::Line;

pub(super) struct Machine {
    qemu: Child,
    lines: Receiver<Line>,
}

/// What came of waiting for a line.
pub(super) enum Said {
    Line(Line),
    /// Nothing until the time was up.
    Nothing,
    /// The machine is gone.
    Ended,
}

impl Machine {
    pub(super) fn start(args: &CutArgs, socket: &Path, load: &[String]) -> Result<Self> {
        let drive = format!(
            "driver=raw,file.driver=nbd,file.server.type=unix,file.server.path={},node-name=disk",
            socket.display()
        );
        // What the kernel does not know is in the environment of init.
        let append = format!("console=ttyS0 panic=-1 quiet loglevel=3 LOAD={}", load.join(","));
        let mut command = Command::new("qemu-system-x86_64");
        // Emulated: the same everywhere, whether or not the host can have machines.
        command.args(["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "512"]);
        command.args(["-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio"]);
        command.args(["-blockdev", &drive]);
        command.args(["-device", "virtio-blk-pci,drive=disk,write-cache=on", "-append", &append]);
        command.arg("-kernel").arg(&args.kernel).arg("-initrd").arg(&args.initrd);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let started = command.spawn();
        let mut qemu = started.map_err(|error| Failure::io("qemu-system-x86_64", &error))?;
        let (says, lines) = channel();
        let (console, is_verbose) = (qemu.stdout.take(), args.verbose);
        spawn(move || {
            let Some(console) = console else { return };
            let mut console = BufReader::new(console);
            let mut bytes = Vec::new();
            // A line of which only a part was printed when the power was cut is none.
            while console.read_until(b'\n', &mut bytes).is_ok() && bytes.ends_with(b"\n") {
                if is_verbose {
                    let _ = stderr().write_all(&bytes);
                }
                if let Some(line) = Line::parse(&String::from_utf8_lossy(&bytes)) {
                    let _ = says.send(line);
                }
                bytes.clear();
            }
        });
        Ok(Self { qemu, lines })
    }

    pub(super) fn next(&self, until: Instant) -> Said {
        match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => Said::Line(line),
            Err(RecvTimeoutError::Timeout) => Said::Nothing,
            Err(RecvTimeoutError::Disconnected) => Said::Ended,
        }
    }

    /// Cuts the power; what had been said and not heard.
    pub(super) fn kill(mut self) -> Result<Vec<Line>> {
        let failed = |error| Failure::io("qemu cannot be killed", &error);
        self.qemu.kill().map_err(failed)?;
        self.qemu.wait().map_err(failed)?;
        Ok(self.lines.iter().collect())
    }
}
