//! Work on the pieces of a file, several at once: while one thread waits for the disk, another one computes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::checkpoint::file::failure::Failure;

/// The number of threads: more than a small machine has cores, because some of them wait for the disk.
const THREADS: u32 = 4;

/// Finds the pages of interest in a piece of the file.
type Work<'w> = &'w (dyn Fn(u32) -> Result<Vec<u32>, Failure> + Sync);

/// Calls `work` with each number below `count` in a few threads, and `done` with the pages that each call has found, in the
/// calling thread, in any order. After the first error no further piece is begun.
///
/// # Errors
///
/// The first error of `work` or `done`.
pub(super) fn each_piece(
    count: u32,
    work: Work<'_>,
    done: &mut dyn FnMut(Vec<u32>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let next = AtomicU32::new(0);
    let (send, outcomes) = mpsc::channel();
    let turn = |send: mpsc::Sender<Result<Vec<u32>, Failure>>| {
        loop {
            // Relaxed: a number orders nothing.
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece >= count {
                break;
            }
            let outcome = work(piece);
            let has_failed = outcome.is_err();
            // After an error of another thread the receiver may be gone.
            if send.send(outcome).is_err() || has_failed {
                break;
            }
        }
    };
    thread::scope(|scope| {
        let turn = &turn;
        let spawn = |_| {
            let send = send.clone();
            thread::Builder::new().spawn_scoped(scope, move || turn(send)).ok()
        };
        if (0..THREADS.min(count)).map_while(spawn).count() == 0 {
            // If no thread can be started, this one does all the work, and handles the outcomes afterwards.
            turn(send.clone());
        }
        drop(send);
        let outcome = outcomes.iter().try_for_each(|outcome| done(outcome?));
        drop(outcomes);
        outcome
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_is_worked_on_once() {
        for count in [0, 1, 3, 1_000] {
            let mut seen = vec![0; count as usize];
            let mut note = |pieces: Vec<u32>| {
                pieces.into_iter().for_each(|piece| seen[piece as usize] += 1);
                Ok(())
            };
            each_piece(count, &|piece| Ok(vec![piece]), &mut note).unwrap();
            assert!(seen.iter().all(|&times| times == 1), "{count}: {seen:?}");
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let begun = AtomicU32::new(0);
        let work = |piece| {
            begun.fetch_add(1, Ordering::Relaxed);
            thread::sleep(std::time::Duration::from_millis(1));
            if piece == 3 { Err(Failure::TooLarge) } else { Ok(Vec::new()) }
        };
        assert!(matches!(each_piece(10_000, &work, &mut |_| Ok(())), Err(Failure::TooLarge)));
        assert!(begun.load(Ordering::Relaxed) < 1_000);
        let mut refuse = |_| Err(Failure::TooLarge);
        let nothing = |_| Ok(Vec::new());
        assert!(matches!(each_piece(10_000, &nothing, &mut refuse), Err(Failure::TooLarge)));
    }
}
