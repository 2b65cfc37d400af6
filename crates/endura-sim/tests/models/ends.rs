//! Pops and looks at the first entry beside a commit of a key in front (B3, B8 and B12): one map has 5 and not 3. One thread
//! commits 3, one pops the first entry, one reads. Marks, claims and words are in the model of commits.

use std::collections::BTreeSet;

use crate::checker::{Model, explore};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Op {
    Commit,
    Pop,
    Get(u8),
    First,
}

/// Whether 3 and 5 are there.
type Has = [bool; 2];

fn first(has: Has) -> u8 {
    match has {
        [true, _] => 3,
        [false, true] => 5,
        _ => 0,
    }
}

fn apply(op: Op, mut has: Has) -> (Has, u8) {
    let told = match op {
        Op::Commit => 0,
        Op::Get(key) => u8::from(has[usize::from(key == 5)]),
        Op::Pop | Op::First => first(has),
    };
    match op {
        Op::Commit => has[0] = true,
        Op::Pop if told != 0 => has[usize::from(told == 5)] = false,
        _ => {}
    }
    (has, told)
}

/// What is there, and what those in flight return that have taken effect.
type Way = (Has, [Option<u8>; 3]);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    /// What is in the map.
    has: Has,
    /// Who has the turn to pop.
    turn: Option<usize>,
    /// What a pop announces, and how it stands.
    announced: Option<(u8, Announced)>,
    is_committed: bool,
    begun: u8,
    ended: u8,
    /// Where each thread is, how many operations it has made, and what it knows.
    at: [u8; 3],
    made: [usize; 3],
    known: [u8; 3],
    /// What the reader has found.
    told: u8,
    ways: BTreeSet<Way>,
    in_flight: [Option<Op>; 3],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Announced {
    Open,
    Decided,
    GivenUp,
}

impl State {
    fn begin(&mut self, me: usize, op: Op) {
        self.in_flight[me] = Some(op);
    }

    fn answer(&mut self, me: usize, told: u8) -> Result<(), String> {
        let mut all = self.ways.clone();
        let mut open: Vec<Way> = all.iter().copied().collect();
        while let Some((has, done)) = open.pop() {
            for (thread, op) in self.in_flight.iter().enumerate() {
                let Some(op) = op.filter(|_| done[thread].is_none()) else { continue };
                let (after, told) = apply(op, has);
                let mut done = done;
                done[thread] = Some(told);
                if all.insert((after, done)) {
                    open.push((after, done));
                }
            }
        }
        let explained = all.into_iter().filter(|way| way.1[me] == Some(told));
        self.ways = explained
            .map(|(has, mut done)| {
                done[me] = None;
                (has, done)
            })
            .collect();
        self.in_flight[me] = None;
        (self.at[me], self.made[me]) = (0, self.made[me] + 1);
        let text = || format!("no order explains that thread {me} is told {told}");
        if self.ways.is_empty() { Err(text()) } else { Ok(()) }
    }
}

struct Ends {
    reads: Vec<Op>,
    /// B3: a commit has the turn to pop of its map.
    has_turn: bool,
    /// The counts are looked at before a look at an end, and behind it.
    looks_at_counts: bool,
}

impl Ends {
    fn commit(&self, mut s: State) -> Result<Option<State>, String> {
        if s.made[0] > 0 {
            return Ok(None);
        }
        match s.at[0] {
            0 => s.begin(0, Op::Commit),
            1 if self.has_turn && s.turn.is_some() => return Ok(None),
            1 if self.has_turn => s.turn = Some(0),
            1 => {}
            2 => s.begun += 1,
            3 => s.is_committed = true,
            // An insert in front of what is announced: OPEN is given up, DECIDED is waited for.
            4 => match &mut s.announced {
                Some((key, Announced::Decided)) if *key > 3 => return Ok(None),
                announced => {
                    if let Some((_, state @ Announced::Open)) = announced {
                        *state = Announced::GivenUp;
                    }
                    s.has[0] = true;
                }
            },
            _ => {
                s.ended += 1;
                s.is_committed = false;
                if self.has_turn {
                    s.turn = None;
                }
                s.answer(0, 0)?;
                return Ok(Some(s));
            }
        }
        s.at[0] += 1;
        Ok(Some(s))
    }

    fn pop(mut s: State) -> Result<Option<State>, String> {
        if s.made[1] > 0 {
            return Ok(None);
        }
        let again = |s: &mut State| (s.announced, s.turn, s.at[1]) = (None, None, 1);
        match s.at[1] {
            0 => s.begin(1, Op::Pop),
            1 if s.turn.is_some() => return Ok(None),
            1 => s.turn = Some(1),
            2 => s.known[1] = first(s.has),
            3 if s.known[1] == 0 => {
                s.turn = None;
                s.answer(1, 0)?;
                return Ok(Some(s));
            }
            3 => s.announced = Some((s.known[1], Announced::Open)),
            4 if first(s.has) != s.known[1] => {
                again(&mut s);
                return Ok(Some(s));
            }
            4 => {}
            5 => match &mut s.announced {
                Some((_, state @ Announced::Open)) => *state = Announced::Decided,
                _ => {
                    again(&mut s);
                    return Ok(Some(s));
                }
            },
            6 => s.has[usize::from(s.known[1] == 5)] = false,
            _ => {
                (s.announced, s.turn) = (None, None);
                let key = s.known[1];
                s.answer(1, key)?;
                return Ok(Some(s));
            }
        }
        s.at[1] += 1;
        Ok(Some(s))
    }

    fn read(&self, mut s: State) -> Result<Option<State>, String> {
        let Some(&op) = self.reads.get(s.made[2]) else { return Ok(None) };
        let counts = op == Op::First && self.looks_at_counts;
        match s.at[2] {
            0 => s.begin(2, op),
            1 if counts && s.begun != s.ended => return Ok(None),
            1 => s.known[2] = s.begun,
            2 => {
                let told = match op {
                    Op::Get(3) if s.is_committed => 1,
                    Op::Get(key) => u8::from(s.has[usize::from(key == 5)]),
                    _ => first(s.has),
                };
                s.told = told;
            }
            _ if counts && s.begun != s.known[2] => {
                s.at[2] = 1;
                return Ok(Some(s));
            }
            _ => {
                let told = std::mem::take(&mut s.told);
                s.answer(2, told)?;
                return Ok(Some(s));
            }
        }
        s.at[2] += 1;
        Ok(Some(s))
    }
}

impl Model for Ends {
    type State = State;

    fn start(&self) -> State {
        let has = [false, true];
        State {
            has,
            turn: None,
            announced: None,
            is_committed: false,
            begun: 0,
            ended: 0,
            at: [0; 3],
            made: [0; 3],
            known: [0; 3],
            told: 0,
            ways: BTreeSet::from([(has, [None; 3])]),
            in_flight: [None; 3],
        }
    }

    fn threads(&self) -> usize {
        3
    }

    fn step(&self, state: &State, thread: usize) -> Result<Vec<State>, String> {
        let next = state.clone();
        let stepped = match thread {
            0 => self.commit(next),
            1 => Self::pop(next),
            _ => self.read(next),
        };
        Ok(stepped?.into_iter().collect())
    }

    fn check(&self, _: &State) -> Result<(), String> {
        Ok(())
    }

    fn check_end(&self, s: &State) -> Result<(), String> {
        let is_done = s.made == [1, 1, self.reads.len()];
        if is_done { Ok(()) } else { Err("somebody waits for ever".to_owned()) }
    }
}

#[test]
fn a_commit_beside_pops_and_looks_at_ends() {
    let model = |reads: &[Op], has_turn, looks_at_counts| Ends {
        reads: reads.to_vec(),
        has_turn,
        looks_at_counts,
    };
    let all: [&[Op]; 5] = [
        &[Op::Get(3), Op::Get(5)],
        &[Op::Get(5), Op::Get(3), Op::Get(5)],
        &[Op::Get(3), Op::First],
        &[Op::First, Op::Get(3), Op::First],
        &[Op::First, Op::First, Op::Get(5)],
    ];
    let states: usize = all
        .iter()
        .map(|reads| explore(&model(reads, true, true)).unwrap_or_else(|found| panic!("{found:?}")))
        .sum();
    println!("{} scenarios, {states} states", all.len());
    for (rule, model) in [
        ("turn to pop", model(&[Op::Get(3), Op::Get(5)], false, true)),
        ("counts around a look at an end", model(&[Op::Get(3), Op::First], true, false)),
    ] {
        let violation = explore(&model).expect_err("the rule is not missed");
        println!("| {rule} | {} | {} steps |", violation.finding, violation.steps.len());
    }
}
