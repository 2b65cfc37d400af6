//! The load: two writers, checkpoints on demand and by time, and what is promised of each.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use endura::{Error, Pool};
use endura_console::outcome::{Answer, Result};

use super::args::LoadArgs;
use super::session::{Session, close, failed, micros, open, say};
use super::writers::{Progress, oldest};
use crate::lines::{Line, Positions, WRITERS};

pub(crate) fn run(args: &LoadArgs) -> Result {
    match load(args) {
        Ok(()) => Ok(Answer::Yes),
        Err(line) => {
            say(&line);
            Ok(Answer::No)
        }
    }
}

fn load(args: &LoadArgs) -> Result<(), Line> {
    let mut session = open(args)?;
    if args.close || args.end {
        close(session, &args.pool)?;
        if args.end {
            return Ok(());
        }
        session = open(args)?;
    }
    let progress = Progress::new(session.found);
    let Session { pool, maps, entries, .. } = &session;
    if !args.without_checkpoints {
        let has = progress.positions();
        let made = pool.checkpoint().map_err(|error| failed(&error))?;
        say(&Line::Checkpoint { at: micros(made.at), has });
    }
    say(&Line::Running);
    let (broken, breaks) = channel();
    let error = thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (broken, progress) = (broken.clone(), &progress);
            let oldest = oldest(entries, writer);
            scope.spawn(move || broken.send(progress.write(writer, maps, oldest)));
        }
        let error = watch(pool, &progress, &breaks, args);
        // Ends the writers.
        let closed = pool.close();
        closed.err().unwrap_or(error)
    });
    Err(failed(&error))
}

/// Makes the checkpoints on demand, and tells of all of them what they have, until something fails.
fn watch(pool: &Pool, progress: &Progress, breaks: &Receiver<Error>, args: &LoadArgs) -> Error {
    let (mut told, mut demanded) = (Promises::default(), Instant::now());
    loop {
        told.note(progress);
        let is_wanted = args.demand > 0 && !args.without_checkpoints;
        if is_wanted && demanded.elapsed() >= Duration::from_millis(args.demand) {
            if let Err(error) = pool.checkpoint() {
                return error;
            }
            demanded = Instant::now();
        }
        match pool.stats() {
            Ok(stats) => {
                let newest = stats.checkpoints.and_then(|checkpoints| checkpoints.newest);
                newest.and_then(|newest| told.promise(newest)).iter().for_each(say);
            }
            Err(error) => return error,
        }
        match breaks.recv_timeout(Duration::from_millis(5)) {
            Ok(error) => return error,
            Err(RecvTimeoutError::Disconnected) => return Error::Closed { pool: None },
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// How far the writers were and when, and of which checkpoints was told what they have.
#[derive(Default)]
struct Promises {
    seen: Vec<(SystemTime, Positions)>,
    last: Option<SystemTime>,
}

impl Promises {
    /// Notes the positions, which were acknowledged before the time that is noted with them.
    fn note(&mut self, progress: &Progress) {
        let positions = progress.positions();
        self.seen.push((SystemTime::now(), positions));
    }

    /// What the checkpoint of a moment has at least, if that was not told yet.
    fn promise(&mut self, newest: SystemTime) -> Option<Line> {
        if self.last.is_some_and(|last| newest <= last) {
            return None;
        }
        self.last = Some(newest);
        let before = self.seen.iter().rposition(|&(time, _)| time <= newest)?;
        let (_, has) = self.seen[before];
        self.seen.drain(..before);
        Some(Line::Checkpoint { at: micros(newest), has })
    }
}
