//! What the tests of faults have in common: folders on disk and in memory, files that must not
//! change, and processes that die.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use endura::{Checkpoints, Error, Pool, PoolOptions};
use endura_engine::space::superblock::Superblock;
use tempfile::TempDir;

/// Says why a test could not do what it is for. In CI (`CI=true`) that is a failure: what passes there has run.
pub(crate) fn left_out(why: &str) {
    println!("{why}");
    assert!(std::env::var("CI").as_deref() != Ok("true"), "CI lacks what this test needs: {why}");
}

/// A folder on disk and one on tmpfs, where there is one.
pub(crate) fn folders() -> Vec<TempDir> {
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let memory = tempfile::tempdir_in("/dev/shm");
    if memory.is_err() {
        left_out("there is no /dev/shm");
    }
    [Some(disk), memory.ok()].into_iter().flatten().collect()
}

/// Options for a pool without checkpoints: what a power loss leaves of it is refused.
pub(crate) fn plain() -> PoolOptions {
    Pool::options().checkpoints(Checkpoints::off())
}

/// A pool without checkpoints that was created and closed.
pub(crate) fn closed_pool(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("pool");
    plain().create_new(&path).unwrap().close().unwrap();
    path
}

/// Opens the file for writing and for reading, sees that neither works or changes a byte, and
/// gives what the first said.
pub(crate) fn refusal(path: &Path) -> Error {
    let [writing, reading] = [false, true].map(|read_only| {
        let options = Pool::options().read_only(read_only);
        unchanged(path, || options.open_existing(path).expect_err("a pool that must be refused"))
    });
    assert_eq!(
        std::mem::discriminant(&writing),
        std::mem::discriminant(&reading),
        "{writing} / {reading}"
    );
    writing
}

/// Runs `work` and sees that it leaves the file as it was.
pub(crate) fn unchanged<T>(path: &Path, work: impl FnOnce() -> T) -> T {
    let before = fs::read(path).unwrap();
    let outcome = work();
    assert!(fs::read(path).unwrap() == before, "{} was written to", path.display());
    outcome
}

/// The same file with other contents.
pub(crate) fn put_back(path: &Path, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => fs::write(path, bytes).unwrap(),
        None => _ = fs::remove_file(path),
    }
}

/// Rewrites the superblock of a pool that is not open.
pub(crate) fn patch(path: &Path, change: impl FnOnce(&mut Superblock)) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut superblock = Superblock::read(&file).unwrap();
    change(&mut superblock);
    superblock.write(&file).unwrap();
}

pub(crate) fn superblock(path: &Path) -> Superblock {
    Superblock::read(&File::open(path).unwrap()).unwrap()
}

/// Another process: this test program again, in the one test whose name has `role` in it, which finds `path`
/// by [`role_path`].
pub(crate) fn role(role: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([role, "--nocapture", "--test-threads=1"]);
    command.env(ROLE, path).stdout(Stdio::piped()).stderr(Stdio::inherit());
    command
}

const ROLE: &str = "ENDURA_TEST_ROLE";

/// What [`role`] was given; none where the test runs for its own sake, which then is no test.
pub(crate) fn role_path() -> Option<PathBuf> {
    std::env::var_os(ROLE).map(PathBuf::from)
}

/// Says something to the process that called [`role`].
pub(crate) fn say(what: &str) {
    // In one piece, apart from what the test harness prints.
    println!("\n<{what}>");
}

/// A process that a test started: killed at the latest when the test ends, however it ends.
pub(crate) struct Process {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Waits for the next thing that the process says.
    pub(crate) fn hear(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "the process ended silently");
            let said = line.trim().strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
            if let Some(said) = said {
                return said.to_owned();
            }
        }
    }

    /// Waits for the next thing that the process says; none when it has ended.
    pub(crate) fn hear_more(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap() != 0 {
            let said = line.trim().strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
            if let Some(said) = said {
                return Some(said.to_owned());
            }
            line.clear();
        }
        let _ = self.child.wait();
        None
    }

    /// Ends the process as `kill -9` does, and leaves what it has said.
    pub(crate) fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Gives the process a line, if its input is a pipe.
    pub(crate) fn tell(&mut self) {
        use std::io::Write;
        self.child.stdin.as_mut().unwrap().write_all(b"go on\n").unwrap();
    }

    /// Waits for the end of the process, which must be a good one.
    pub(crate) fn finish(mut self) {
        std::io::copy(&mut self.lines, &mut std::io::sink()).unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    /// Ends the process as `kill -9` does.
    pub(crate) fn kill(self) {}
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Stays until killed.
pub(crate) fn wait_to_be_killed() -> ! {
    loop {
        std::thread::park();
    }
}

/// How an open ended, in a word.
pub(crate) fn outcome(opened: &endura::Result<Pool>) -> &'static str {
    match opened {
        Ok(_) => "opened",
        Err(Error::Locked) => "locked",
        Err(Error::NeedsRestore { .. }) => "needs restore",
        Err(_) => "failed",
    }
}
