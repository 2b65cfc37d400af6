//! Flights (B3, B4 and B11): sixteen, with seventeen threads that commit, and a writer that waits for one of them (W4).
//!
//! Three maps have stripes in common: each commit marks two of three stripes, those of its kind. All threads of one kind do
//! the same, so that a state is how many of them are where: with sixteen flights there are few. Who has which flight counts for the
//! writer only, so that one thread has a name: the *chosen* one, whose flight the writer has found. After its commit the
//! thread makes a second one, perhaps in the same flight.
//!
//! The turns to pop, which keep commits of one map apart, are left out: this is about commits that have stripes in common and
//! no map.

use crate::checker::{Model, explore};

const STRIPES: usize = 3;
/// The two stripes of each kind of commit.
const KINDS: [[usize; 2]; 3] = [[0, 1], [1, 2], [0, 2]];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// B4: in ascending order.
    Ascends,
    /// B11: the marks are taken off before the flight is free.
    MarksOffFirst,
}

/// Where a thread is: outside, in a flight, with one mark, with both, without one of them again, done.
const PLACES: usize = 6;
const OUTSIDE: usize = 0;
const BOTH: usize = 3;
const DONE: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    /// Of each kind: how many threads are at each place.
    counts: [[u8; PLACES]; 3],
    /// Where the chosen one is, and how many commits it has made.
    chosen: usize,
    made: u8,
    /// Whether each stripe is marked.
    marks: [bool; STRIPES],
    /// Where the writer is: it has not begun; waits for a commit with this number; has ended.
    writer: Writer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Writer {
    Begins,
    Waits(u8),
    Ended,
}

struct Flights {
    /// How many commits are under way at most.
    flights: usize,
    /// Threads of each kind, besides the chosen one, which is of the first.
    threads: [u8; 3],
    left_out: Option<Rule>,
}

impl State {
    fn flights(&self) -> usize {
        let is_in = |place: usize| place != OUTSIDE && place != DONE;
        let others: u8 = self
            .counts
            .iter()
            .map(|counts| {
                (0..PLACES).filter(|&place| is_in(place)).map(|place| counts[place]).sum::<u8>()
            })
            .sum();
        usize::from(others) + usize::from(is_in(self.chosen))
    }
}

impl Flights {
    fn has(&self, rule: Rule) -> bool {
        self.left_out != Some(rule)
    }

    /// The step of a thread at `place`: where it is then, if it need not wait. `is_odd`: it goes down where marks need not ascend.
    fn step_of(&self, s: &mut State, kind: usize, place: usize, is_odd: bool) -> Option<usize> {
        let [mut first, mut second] = KINDS[kind];
        if is_odd && !self.has(Rule::Ascends) {
            (first, second) = (second, first);
        }
        match place {
            OUTSIDE => (s.flights() < self.flights).then_some(1),
            1 | 2 => {
                let stripe = if place == 1 { first } else { second };
                (!std::mem::replace(&mut s.marks[stripe], true)).then_some(place + 1)
            }
            BOTH => {
                s.marks[first] = false;
                Some(4)
            }
            4 => {
                s.marks[second] = false;
                Some(DONE)
            }
            _ => None,
        }
    }

    fn choose(&self, mut s: State) -> Option<State> {
        // A thread that frees its flight first may find it taken by the next commit, which has the same marks.
        let is_early = !self.has(Rule::MarksOffFirst) && s.chosen == BOTH;
        if s.chosen == DONE && s.made == 0 {
            (s.chosen, s.made) = (OUTSIDE, 1);
            return Some(s);
        }
        if is_early && s.made == 0 {
            (s.chosen, s.made) = (OUTSIDE, 1);
            return Some(s);
        }
        let at = s.chosen;
        s.chosen = self.step_of(&mut s, 0, at, false)?;
        Some(s)
    }

    fn write(mut s: State) -> Option<State> {
        let is_under_way = |s: &State| s.chosen != OUTSIDE && s.chosen != DONE;
        s.writer = match s.writer {
            Writer::Begins if s.chosen == BOTH => Writer::Waits(s.made),
            Writer::Begins if s.made == 1 && s.chosen == DONE => Writer::Ended,
            Writer::Waits(made) if made != s.made => Writer::Ended,
            Writer::Waits(_) if !is_under_way(&s) => Writer::Ended,
            _ => return None,
        };
        Some(s)
    }
}

impl Model for Flights {
    type State = State;

    fn start(&self) -> State {
        let mut counts = [[0; PLACES]; 3];
        counts.iter_mut().zip(self.threads).for_each(|(counts, threads)| counts[OUTSIDE] = threads);
        let (chosen, marks, writer) = (OUTSIDE, [false; STRIPES], Writer::Begins);
        State { counts, chosen, made: 0, marks, writer }
    }

    /// The chosen one, the writer, and of each kind one at each place.
    fn threads(&self) -> usize {
        2 + 3 * PLACES
    }

    fn step(&self, state: &State, thread: usize) -> Result<Vec<State>, String> {
        let mut next = state.clone();
        let stepped = match thread {
            0 => self.choose(next),
            1 => Self::write(next),
            _ => {
                let (kind, place) = ((thread - 2) / PLACES, (thread - 2) % PLACES);
                let is_there = state.counts[kind][place] > 0;
                let to = is_there.then(|| self.step_of(&mut next, kind, place, kind == 2));
                to.flatten().map(|to| {
                    next.counts[kind][place] -= 1;
                    next.counts[kind][to] += 1;
                    next
                })
            }
        };
        Ok(stepped.into_iter().collect())
    }

    fn check(&self, s: &State) -> Result<(), String> {
        let marked = |kind: usize, place: usize| match place {
            2 | 4 => 1,
            BOTH => 2,
            _ => usize::from(kind > 2),
        };
        let others: usize = (0..3)
            .flat_map(|kind| (0..PLACES).map(move |place| (kind, place)))
            .map(|(kind, place)| usize::from(s.counts[kind][place]) * marked(kind, place))
            .sum();
        let marks = s.marks.iter().filter(|is_set| **is_set).count();
        match others + marked(0, s.chosen) == marks && s.flights() <= self.flights {
            true => Ok(()),
            false => Err(format!("marks without a flight, or too many flights: {s:?}")),
        }
    }

    fn check_end(&self, s: &State) -> Result<(), String> {
        let is_done = s.counts.iter().zip(self.threads).all(|(counts, all)| counts[DONE] == all);
        match is_done && s.chosen == DONE && s.writer == Writer::Ended {
            true => Ok(()),
            false => Err(format!("somebody waits for ever: {s:?}")),
        }
    }
}

/// All executions, and what is found without each rule.
fn all(flights: usize, threads: [u8; 3]) {
    let model = |left_out| Flights { flights, threads, left_out };
    let states = explore(&model(None)).unwrap_or_else(|violation| panic!("{violation:?}"));
    println!("{flights} flights: {states} states");
    for rule in [Rule::Ascends, Rule::MarksOffFirst] {
        let violation = explore(&model(Some(rule))).expect_err("the rule is not missed");
        println!("| {rule:?} | {} | {} steps |", violation.finding, violation.steps.len());
    }
}

#[test]
fn four_flights() {
    all(4, [1, 1, 2]);
}

#[test]
#[ignore = "five million states: cargo test --release -p endura-sim --test models -- --ignored --nocapture"]
fn sixteen_flights() {
    all(16, [5, 5, 6]);
}
