//! All interleavings of a few threads, each of which takes a handful of steps: for bugs of a protocol
//! that no fault at a single call makes.
//!
//! A protocol is a value: what is in memory, what of it is durable, and how far each thread is. Its moves
//! are gone through breadth first, each state once.

use std::collections::{HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;

use endura_sim::tally::Tally;

use crate::hunt::Hunt;

/// Threads in the middle of a protocol.
pub(crate) trait Protocol: Clone + Eq + Hash + Debug {
    /// How many threads there are, and things that happen by themselves (a line that is evicted).
    const ACTORS: usize;

    /// The next step of a thread; `false` if it has ended, or can do nothing.
    fn step(&mut self, actor: usize) -> bool;

    /// What is wrong here, also if the power fails at this moment.
    fn wrong(&self) -> Option<String>;

    /// Whether this thread has ended.
    fn has_ended(&self, actor: usize) -> bool;
}

/// Longer than any thread takes that nobody disturbs.
const FOREVER: usize = 64;

/// Whether a thread that goes on alone does not come to its end.
fn hangs<P: Protocol>(state: &P, actor: usize) -> bool {
    let mut state = state.clone();
    for _ in 0..FOREVER {
        if state.has_ended(actor) || !state.step(actor) {
            return false;
        }
    }
    true
}

/// Goes through all interleavings until something is wrong; states count as images, moves as traces.
pub(crate) fn hunt<P: Protocol>(start: P) -> Hunt {
    let mut tally = Tally::default();
    let (mut seen, mut todo) = (HashSet::from([start.clone()]), VecDeque::from([start]));
    while let Some(state) = todo.pop_front() {
        tally.images += 1;
        let hanging = (0..P::ACTORS).find(|&actor| hangs(&state, actor));
        let hanging = hanging.map(|actor| format!("thread {actor} never ends"));
        if let Some(wrong) = state.wrong().or(hanging) {
            return Hunt { failure: Some(format!("{wrong}: {state:?}")), tally };
        }
        for actor in 0..P::ACTORS {
            let mut next = state.clone();
            if next.step(actor) {
                tally.traces += 1;
                if seen.insert(next.clone()) {
                    todo.push_back(next);
                }
            }
        }
    }
    Hunt { failure: None, tally }
}
