//! Reads of one moment (V1 to V4): a thread looks at two maps, in which two other threads commit. Each commit gives both maps one
//! value. Each map has two counts: of commits that have begun, and that have ended.

use crate::checker::{Model, explore};

/// Commits of each thread.
const COMMITS: u8 = 3;
/// After so many runs the reader keeps commits out.
const POLITE: u8 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// B8: the counts are raised before anything is seen.
    CountsFirst,
    /// V2: waits until no commit changes the map.
    Waits,
    /// V3: looks at the counts again.
    Compares,
    /// V4: keeps commits out in the end.
    KeepsOut,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct State {
    values: [u8; 2],
    begun: [u8; 2],
    ended: [u8; 2],
    /// Whether a thread commits: the maps are in its flight.
    is_marked: bool,
    is_kept_out: bool,
    /// Of each thread that commits: where it is, and how many commits it has made.
    commits: [(u8, u8); 2],
    reader: u8,
    runs: u8,
    noted: [u8; 2],
    read: [u8; 2],
}

struct Views(Option<Rule>);

impl Views {
    fn has(&self, rule: Rule) -> bool {
        self.0 != Some(rule)
    }

    fn commit(&self, mut s: State, me: usize) -> Option<State> {
        let (at, made) = s.commits[me];
        let value = 1 + 2 * made + me as u8;
        let counts_first = self.has(Rule::CountsFirst);
        let count = |counts: &mut [u8; 2]| counts.iter_mut().for_each(|count| *count += 1);
        s.commits[me] = match at {
            _ if made == COMMITS => return None,
            0 if s.is_marked || (s.is_kept_out && self.has(Rule::KeepsOut)) => return None,
            0 => {
                s.is_marked = true;
                (1, made)
            }
            1 => {
                if counts_first {
                    count(&mut s.begun);
                }
                (2, made)
            }
            2 | 3 => {
                s.values[usize::from(at - 2)] = value;
                (at + 1, made)
            }
            4 => {
                if !counts_first {
                    count(&mut s.begun);
                }
                (5, made)
            }
            _ => {
                count(&mut s.ended);
                s.is_marked = false;
                (0, made + 1)
            }
        };
        Some(s)
    }

    fn read(&self, mut s: State) -> Result<Option<State>, String> {
        match s.reader {
            0 if s.runs >= POLITE && !s.is_kept_out => s.is_kept_out = true,
            at @ (0 | 2) => {
                let map = usize::from(at / 2);
                if self.has(Rule::Waits) && s.begun[map] != s.ended[map] {
                    return Ok(None);
                }
                s.noted[map] = s.begun[map];
                s.reader += 1;
            }
            at @ (1 | 3) => {
                let map = usize::from(at / 2);
                s.read[map] = s.values[map];
                s.reader += 1;
            }
            at @ (4 | 5) => {
                let map = usize::from(at - 4);
                if self.has(Rule::Compares) && s.begun[map] != s.noted[map] {
                    if s.runs > POLITE + 1 {
                        return Err("a read begins again without end".to_owned());
                    }
                    (s.runs, s.reader) = (s.runs + 1, 0);
                } else {
                    s.reader += 1;
                }
            }
            6 if s.read[0] != s.read[1] => return Err(format!("half a commit: {:?}", s.read)),
            6 => (s.reader, s.is_kept_out) = (7, false),
            _ => return Ok(None),
        }
        Ok(Some(s))
    }
}

impl Model for Views {
    type State = State;

    fn start(&self) -> State {
        State::default()
    }

    fn threads(&self) -> usize {
        3
    }

    fn step(&self, state: &State, thread: usize) -> Result<Vec<State>, String> {
        let next = state.clone();
        let stepped = if thread == 2 { self.read(next)? } else { self.commit(next, thread) };
        Ok(stepped.into_iter().collect())
    }

    fn check(&self, _: &State) -> Result<(), String> {
        Ok(())
    }

    fn check_end(&self, state: &State) -> Result<(), String> {
        let is_done = state.reader == 7 && state.commits.iter().all(|commit| commit.1 == COMMITS);
        if is_done { Ok(()) } else { Err("somebody waits for ever".to_owned()) }
    }
}

#[test]
fn a_read_of_one_moment_sees_whole_commits() {
    let states = explore(&Views(None)).unwrap_or_else(|violation| panic!("{violation:?}"));
    println!("{states} states");
    for rule in [Rule::CountsFirst, Rule::Waits, Rule::Compares, Rule::KeepsOut] {
        let violation = explore(&Views(Some(rule))).expect_err("the rule is not missed");
        println!("| {rule:?} | {} | {} steps |", violation.finding, violation.steps.len());
    }
}
