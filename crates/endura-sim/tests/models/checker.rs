//! All executions of a small model, breadth first: what is found is found by a shortest way.

use std::collections::HashMap;
use std::hash::Hash;

/// Threads that share a state.
pub(crate) trait Model {
    type State: Clone + Eq + Hash;

    fn start(&self) -> Self::State;

    fn threads(&self) -> usize;

    /// What one step of a thread makes of a state: nothing if it waits or has ended, several states if it has a choice.
    ///
    /// # Errors
    ///
    /// What must not happen.
    fn step(&self, state: &Self::State, thread: usize) -> Result<Vec<Self::State>, String>;

    /// What holds in every state.
    fn check(&self, state: &Self::State) -> Result<(), String>;

    /// What holds when no thread can make a step: that all have ended.
    fn check_end(&self, state: &Self::State) -> Result<(), String>;
}

/// What was found, and by which threads' steps.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) finding: String,
    /// The thread of each step that leads there.
    pub(crate) steps: Vec<usize>,
}

/// More states than a model should have.
const MOST: usize = 5_000_000;

struct Search<S> {
    /// Each state with the number of the one before, and the thread that made the step.
    met: Vec<(S, usize, usize)>,
    numbers: HashMap<S, usize>,
}

impl<S: Clone + Eq + Hash> Search<S> {
    fn add(&mut self, state: S, from: usize, thread: usize) {
        let number = self.met.len();
        self.numbers.entry(state.clone()).or_insert_with(|| {
            self.met.push((state, from, thread));
            number
        });
    }

    fn violation(&self, finding: String, mut at: usize, last: Option<usize>) -> Box<Violation> {
        let mut steps: Vec<usize> = last.into_iter().collect();
        while at != 0 {
            steps.push(self.met[at].2);
            at = self.met[at].1;
        }
        steps.reverse();
        Box::new(Violation { finding, steps })
    }
}

/// Goes through all states; returns how many there are.
pub(crate) fn explore<M: Model>(model: &M) -> Result<usize, Box<Violation>> {
    let mut search = Search { met: Vec::new(), numbers: HashMap::new() };
    search.add(model.start(), 0, 0);
    let mut at = 0;
    while at < search.met.len() {
        assert!(at < MOST, "more than {MOST} states");
        let state = search.met[at].0.clone();
        model.check(&state).map_err(|finding| search.violation(finding, at, None))?;
        let mut is_end = true;
        for thread in 0..model.threads() {
            let next = model.step(&state, thread);
            let next = next.map_err(|finding| search.violation(finding, at, Some(thread)))?;
            for next in next {
                is_end = false;
                search.add(next, at, thread);
            }
        }
        if is_end {
            model.check_end(&state).map_err(|finding| search.violation(finding, at, None))?;
        }
        at += 1;
    }
    Ok(search.met.len())
}
