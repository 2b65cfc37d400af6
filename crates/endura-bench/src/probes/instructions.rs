//! Instructions per operation, counted one by one.
//!
//! A child of this program loads a store and asks to be traced (`ptrace(2)`); then its thread is led through
//! the operations a single step at a time. That needs neither counters of the processor, which virtual machines
//! seldom have, nor a tool, and leaves out the kernel, the load and every other thread. It is slow, some
//! microseconds an instruction. A repeated string instruction counts once for each time.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use endura::Checkpoints;
use endura_engine::index::FairBytes;
use endura_engine::tree::ByteIndex;
use endura_variants::fast_fair_bytes::Pointers;
use endura_variants::handles::ByteMap;
use nix::errno::Errno;
use nix::sys::personality::{self, Persona};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;

use crate::contender::Contender;
use crate::keys::{key, value};
use crate::probes::string_scans::{self, ENTRIES, SCANS};
use crate::store::{ByteTreeClient, Client, Shape, StoreOptions, temporary};
use crate::workload::plain::Sizes;
use crate::{Error, Result};

/// Instructions of one operation, by the operation's name.
#[derive(Debug, Clone, Serialize)]
pub struct Instructions {
    /// The index.
    pub index: String,
    /// The operation.
    pub operation: String,
    /// Instructions per operation.
    pub count: f64,
}

/// Whether instructions are counted here.
#[derive(Debug, Clone, Serialize)]
pub enum InstructionCounts {
    /// Step by step.
    Stepped {
        /// How many operations of each kind, on how many keys.
        extent: Sizes,
        /// Index by index.
        counts: Vec<Instructions>,
    },
    /// Not, and why.
    None(String),
}

/// Whose instructions are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Those of all operations of our indexes, on integers.
    Words,
    /// The same in a pool that makes checkpoints: flushes note pages.
    NotedWords,
    /// Those of scans of strings, an entry, of ours and of LMDB's.
    StringScans,
    /// Those of all operations on strings, in FAST & FAIR with key words and with pointers alone. Both are trees by
    /// themselves, without what a map adds.
    KeyWords,
}

impl Counted {
    fn contenders(self) -> Vec<Contender> {
        match self {
            Self::Words | Self::NotedWords => Contender::ours().collect(),
            Self::StringScans => vec![Contender::Roart, Contender::Lmdb],
            Self::KeyWords => vec![Contender::FastFair, Contender::Pointers],
        }
    }

    /// What is counted, by name, and how many times it is done for each operation of the extent.
    fn operations(self) -> Vec<(&'static str, u64)> {
        match self {
            Self::Words | Self::NotedWords | Self::KeyWords => {
                OPERATIONS.iter().map(|&(name, _)| (name, 1)).collect()
            }
            Self::StringScans => SCANS.map(|name| (name, ENTRIES as u64)).to_vec(),
        }
    }
}

type Perform = fn(&mut dyn Client, u64, Sizes) -> Result<()>;

/// What is counted, in this order, on the same store: what one does is there for the next.
const OPERATIONS: [(&str, Perform); 6] = [
    ("get", |client, i, _| client.get(key(i)).map(drop)),
    ("miss", |client, i, _| client.get(key((1 << 48) + i)).map(drop)),
    ("scan 100", |client, i, _| client.scan(key(i), 100).map(drop)),
    ("update", |client, i, _| client.update(key(i), i).map(drop)),
    ("insert", |client, i, sizes| client.insert(key(sizes.keys + i), value(i))),
    ("remove", |client, i, _| client.remove(key(i)).map(drop)),
];

/// Counts all that is `counted`. `arguments` makes those with which `program` calls [`work`].
pub fn count(
    program: &Path,
    counted: Counted,
    sizes: Sizes,
    arguments: impl Fn(Contender) -> Vec<OsString>,
    mut observe: impl FnMut(&str),
) -> Result<InstructionCounts> {
    let _here = OneProcessor::stay()?;
    let _layout = FixedAddresses::keep();
    let mut counts = Vec::new();
    for contender in counted.contenders() {
        observe(contender.name());
        let mut traced = match Traced::spawn(program, &arguments(contender))? {
            Some(traced) => traced,
            None => return Ok(InstructionCounts::None("a process may not be traced here".into())),
        };
        let around = traced.steps_to_stop()?;
        for (operation, times) in counted.operations() {
            observe(&format!("{} {operation}", contender.name()));
            let steps = traced.steps_to_stop()?.saturating_sub(around);
            let count = steps as f64 / (times * sizes.operations.max(1)) as f64;
            let (index, operation) = (contender.name().into(), operation.into());
            counts.push(Instructions { index, operation, count });
        }
        traced.finish()?;
    }
    Ok(InstructionCounts::Stepped { extent: sizes, counts })
}

/// What a counted child does: loads, then stops between the operations, first around none at all.
pub fn work(counted: Counted, contender: Contender, sizes: Sizes, dir: &Path) -> Result<()> {
    let folder = temporary(dir)?;
    let shape = match counted {
        Counted::Words | Counted::NotedWords => Shape::WORDS,
        Counted::StringScans | Counted::KeyWords => Shape::STRINGS,
    };
    let mut options = StoreOptions::new(folder.path().to_path_buf(), shape, 2 * sizes.keys);
    if counted == Counted::NotedWords {
        options.pool = options.pool.checkpoints(Checkpoints::on_demand());
    }
    let stop = || raise(Signal::SIGSTOP).map_err(|errno| failure("stop for the tracer", errno));
    if counted == Counted::StringScans {
        return string_scans::work(contender, &options, sizes.operations, ask_to_be_traced, stop);
    }
    if counted == Counted::KeyWords {
        let pool = options.open_pool()?;
        let mut client = match contender {
            Contender::Pointers => tree(Pointers::open(pool.space(), "counts")?),
            _ => tree(FairBytes::open(pool.space(), "counts")?),
        };
        return perform(&mut *client, sizes, ask_to_be_traced, stop);
    }
    let store = contender.open(&options)?;
    perform(&mut *store.client()?, sizes, ask_to_be_traced, stop)
}

fn tree(index: impl ByteIndex + 'static) -> Box<dyn Client> {
    Box::new(ByteTreeClient::new(ByteMap::over(index), Shape::STRINGS))
}

fn perform(
    client: &mut dyn Client,
    sizes: Sizes,
    begin: impl FnOnce() -> Result<()>,
    stop: impl Fn() -> Result<()>,
) -> Result<()> {
    (0..sizes.keys).try_for_each(|i| client.insert(key(i), value(i)))?;
    begin()?;
    stop()?;
    stop()?;
    OPERATIONS.into_iter().try_for_each(|(_, perform)| {
        (0..sizes.operations).try_for_each(|i| perform(client, i, sizes))?;
        stop()
    })
}

fn ask_to_be_traced() -> Result<()> {
    ptrace::traceme().map_err(|errno| failure("ask to be traced", errno))
}

fn failure(what: &str, errno: Errno) -> Error {
    Error::Io { doing: format!("cannot {what}"), source: errno.into() }
}

/// This thread, and the children that it starts, on one processor: to wake the other side up on the same one
/// takes a quarter of the time. Dropping it lets the thread go where it could before.
struct OneProcessor(CpuSet);

impl OneProcessor {
    fn stay() -> Result<Self> {
        let refuse = |errno: rustix::io::Errno| Error::Io {
            doing: "cannot stay on one processor".into(),
            source: errno.into(),
        };
        let before = sched_getaffinity(None).map_err(refuse)?;
        let mut one = CpuSet::new();
        (0..CpuSet::MAX_CPU)
            .find(|&cpu| before.is_set(cpu))
            .into_iter()
            .for_each(|cpu| one.set(cpu));
        sched_setaffinity(None, &one).map_err(refuse)?;
        Ok(Self(before))
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        // Without it the rest runs on one processor, and says so by its figures.
        let _ = sched_setaffinity(None, &self.0);
    }
}

/// The children that are started meanwhile get the same addresses each time: how many instructions the C library takes
/// to copy some bytes depends on where they begin. Dropping it lets addresses vary as before.
struct FixedAddresses(Option<Persona>);

impl FixedAddresses {
    /// Where that is forbidden, as in some containers, counts differ by less than one in a thousand.
    fn keep() -> Self {
        let before = personality::get().ok();
        let fix = |before| personality::set(before | Persona::ADDR_NO_RANDOMIZE).ok();
        Self(before.filter(|&before| fix(before).is_some()))
    }
}

impl Drop for FixedAddresses {
    fn drop(&mut self) {
        // Children to come have fixed addresses where this fails, which changes nothing that they do.
        self.0.map(personality::set);
    }
}

/// A child that stands at a stop of its own. Dropping it kills it.
struct Traced {
    child: Child,
    has_ended: bool,
}

impl Traced {
    /// Runs the child up to its first stop; `None` if it ends before.
    fn spawn(program: &Path, arguments: &[OsString]) -> Result<Option<Self>> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|source| Error::Io {
            doing: format!("cannot start {}", program.display()),
            source,
        })?;
        let mut traced = Self { child, has_ended: false };
        match traced.wait()? {
            WaitStatus::Stopped(pid, Signal::SIGSTOP) => {
                // Nobody is to wait for a tracer that is gone.
                ptrace::setoptions(pid, Options::PTRACE_O_EXITKILL)
                    .map_err(|errno| failure("set how a child is traced", errno))?;
                Ok(Some(traced))
            }
            _ => Ok(None),
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    fn wait(&mut self) -> Result<WaitStatus> {
        let status =
            waitpid(self.pid(), None).map_err(|e| failure("wait for a traced child", e))?;
        self.has_ended = matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..));
        Ok(status)
    }

    /// Instructions up to its next stop.
    fn steps_to_stop(&mut self) -> Result<u64> {
        let (mut steps, mut passed_on) = (0, None);
        loop {
            ptrace::step(self.pid(), passed_on).map_err(|errno| failure("step a child", errno))?;
            passed_on = match self.wait()? {
                WaitStatus::Stopped(_, Signal::SIGSTOP) => return Ok(steps),
                WaitStatus::Stopped(_, Signal::SIGTRAP) => None,
                WaitStatus::Stopped(_, signal) => Some(signal),
                _ => return Err(Error::Config("the child whose instructions are counted ended")),
            };
            steps += 1;
        }
    }

    /// Lets it go on by itself, and waits for its end: it deletes its files.
    fn finish(mut self) -> Result<()> {
        ptrace::detach(self.pid(), None).map_err(|errno| failure("let a child go on", errno))?;
        self.wait().map(drop)
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        if !self.has_ended {
            // It may end by itself at this moment.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn every_operation_is_done_between_two_stops() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let options = StoreOptions::new(dir.path().to_path_buf(), Shape::WORDS, 200);
        let store = Contender::NbTree.open(&options).expect("a store");
        let sizes = Sizes { keys: 100, operations: 60 };
        let stops = Cell::new(0);
        let stop = || {
            stops.set(stops.get() + 1);
            Ok(())
        };
        let mut client = store.client().expect("a client");
        perform(&mut *client, sizes, || Ok(()), stop).expect("the work");
        assert_eq!(stops.get(), OPERATIONS.len() + 2);
        let is_there = |n| client.get(key(n)).expect("a lookup").is_some();
        let there: Vec<bool> = [59, 60, 100, 159, 160].map(is_there).to_vec();
        assert_eq!(there, [false, true, true, true, false]);
    }

    #[test]
    fn a_child_that_ends_by_itself_is_none() {
        assert!(Traced::spawn(Path::new("true"), &[]).expect("a child").is_none());
    }
}
