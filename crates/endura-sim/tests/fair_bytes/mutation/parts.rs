//! The parts of the campaign, each of which can be run alone.

use std::fmt;

use endura_engine::tree::key_word::{One, OneAndTwo, Seven};
use endura_sim::mutant::Mutant;
use endura_sim::mutate::{self, Harness};
use endura_sim::schedule::Family;
use endura_sim::sim::Stale;
use endura_sim::subject::Finding;

use super::duels::duels;
use super::plans::{kills, plans};
use super::{after, directed, runs};

/// Schedules of each family.
const SCHEDULES: u64 = 60;
/// Schedules of each duel, of each kind.
const ROUNDS: u64 = 48;
/// So often a thread stands at the fault of the last duels, where it is a matter of luck what the other one sees.
const AGAIN: u64 = 10;
/// Those duels.
const MATTERS_OF_LUCK: usize = 6;
/// What the process after a kill may do.
const NEXTS: usize = 5;

/// The sizes of the nodes, and the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// Four entries in a node, and words of one byte: most leaves are replaced.
    Ties,
    /// The same with continuations, so that references have upper bits.
    Continued,
    /// Four entries in a node, and words of seven bytes: most leaves split in place.
    Words,
    /// Leaves of seven entries, in two lines.
    Wide,
}

/// What threads see of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sees {
    /// All stores at once; with crashes.
    AtOnce,
    /// What their orders say, with crashes.
    Late(Stale),
    /// The same on a medium on which fences are no instructions.
    Unfenced(Stale),
}

const KINDS: [Sees; 4] = [
    Sees::AtOnce,
    Sees::Late(Stale::Misled),
    Sees::Unfenced(Stale::Misled),
    Sees::Unfenced(Stale::OneIn(3)),
];

/// A part of the campaign.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// How a tree is made.
    Made { is_eadr: bool },
    /// A history of one thread, crashed everywhere.
    Alone { plan: usize, of: Of, is_eadr: bool },
    /// The same, where recovery is crashed as well.
    Twice { plan: usize, of: Of },
    /// A process is killed where it comes to a step for the last time; what the next one does is crashed.
    Killed { number: usize, step: usize, of: Of },
    /// A process is killed; threads of the next one go on.
    AfterKill(usize),
    /// Threads of which it is known what must meet.
    Directed(usize),
    /// A tree that grew and was drained: few nodes are left.
    Drained(Of),
    /// How many entries nodes say that they have, and what is in slots that have none.
    Hints(Of),
    /// What was in a chunk before looks like a node of this session.
    Unpoisoned(Of),
    /// A thread stands at the call that is at fault, or soon after it, while another one works.
    AtFault { duel: usize, sees: Sees },
    /// The same on a medium on which fences are no instructions, with other loads that give older stores.
    Again { duel: usize, round: u64 },
    /// A thread stands at a step while another one works.
    Stands { duel: usize, step: usize, nth: usize },
    /// A schedule of two threads.
    Duel { duel: usize, sees: Sees, seed: u64 },
    /// A schedule of a family.
    Family(Family, Of, u64),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl mutate::Part for Part {
    type Shared = ();

    fn run(self, harness: &mut Harness, (): &mut ()) -> Result<(), Finding> {
        match self.of() {
            Of::Ties => runs::run::<24, One>(self, harness),
            Of::Continued => runs::run::<24, OneAndTwo>(self, harness),
            Of::Words => runs::run::<24, Seven>(self, harness),
            Of::Wide => runs::run::<30, Seven>(self, harness),
        }
    }

    /// Only a relaxed store misleads.
    fn may_notice(self, mutant: Mutant) -> bool {
        let misleads = matches!(mutant, Mutant::Weaken(_));
        // What is not told in order is what is relaxed.
        let is_of_order = matches!(self, Self::Again { .. });
        let needs_misled = matches!(
            self,
            Self::AtFault { sees: Sees::Late(Stale::Misled) | Sees::Unfenced(Stale::Misled), .. }
                | Self::Duel {
                    sees: Sees::Late(Stale::Misled) | Sees::Unfenced(Stale::Misled),
                    ..
                }
        );
        misleads || !needs_misled && !is_of_order
    }

    fn kind(self) -> String {
        match self {
            Self::Family(family, of, _) => format!("{family:?} {of:?}"),
            Self::AtFault { duel, .. }
            | Self::Again { duel, .. }
            | Self::Duel { duel, .. }
            | Self::Stands { duel, .. } => format!("duel {duel}"),
            Self::Killed { number, .. } => format!("killed {}", number / NEXTS),
            Self::Alone { plan, of, .. } | Self::Twice { plan, of } => format!("{plan} {of:?}"),
            _ => self.to_string(),
        }
    }

    fn is_sample(self) -> bool {
        match self {
            Self::Again { .. } | Self::Duel { .. } | Self::Twice { .. } | Self::Stands { .. } => {
                false
            }
            Self::AtFault { sees, .. } => sees == Sees::AtOnce,
            Self::Family(.., seed) => seed < 2,
            Self::Killed { number, step, of } => {
                number % NEXTS == 2 && step % 3 == 0 && of == Of::Ties
            }
            _ => true,
        }
    }
}

/// All parts, cheap ones first.
pub(crate) fn all() -> Vec<Part> {
    const SIZES: [Of; 4] = [Of::Ties, Of::Words, Of::Wide, Of::Continued];
    let mut parts = vec![Part::Made { is_eadr: false }, Part::Made { is_eadr: true }];
    parts.extend(SIZES.map(Part::Drained));
    parts.extend(SIZES.map(Part::Hints));
    parts.extend(SIZES.map(Part::Unpoisoned));
    parts.extend((0..after::kills().len()).map(Part::AfterKill));
    for is_eadr in [false, true] {
        for of in SIZES {
            parts.extend((0..plans().len()).map(|plan| Part::Alone { plan, of, is_eadr }));
        }
    }
    for sees in KINDS {
        parts.extend((0..duels().len()).map(|duel| Part::AtFault { duel, sees }));
    }
    parts.extend((0..directed::all().len()).map(Part::Directed));
    for round in 1..AGAIN {
        let last = duels().len() - MATTERS_OF_LUCK..duels().len();
        parts.extend(last.map(|duel| Part::Again { duel, round }));
    }
    let steps = runs::steps();
    for duel in 0..duels().len() {
        for step in 0..steps {
            parts.extend([1, 2].map(|nth| Part::Stands { duel, step, nth }));
        }
    }
    for of in [Of::Ties, Of::Words] {
        for step in 0..steps {
            parts.extend((0..kills().len()).map(|number| Part::Killed { number, step, of }));
        }
    }
    for of in SIZES {
        parts.extend((0..plans().len()).map(|plan| Part::Twice { plan, of }));
    }
    for seed in 0..SCHEDULES {
        let of = |family| [Of::Ties, Of::Words].map(|of| Part::Family(family, of, seed));
        parts.extend(Family::ALL.into_iter().chain([Family::Recovery]).flat_map(of));
    }
    for seed in 0..ROUNDS {
        let of = |duel| KINDS.map(|sees| Part::Duel { duel, sees, seed });
        parts.extend((0..duels().len()).flat_map(of));
    }
    parts
}

impl Part {
    fn of(self) -> Of {
        match self {
            Self::Made { .. } => Of::Ties,
            Self::Alone { of, .. }
            | Self::Twice { of, .. }
            | Self::Killed { of, .. }
            | Self::Drained(of)
            | Self::Hints(of)
            | Self::Unpoisoned(of)
            | Self::Family(_, of, _) => of,
            Self::AfterKill(number) => after::kills()[number].0,
            Self::Directed(number) => directed::all()[number].of,
            Self::AtFault { duel, .. }
            | Self::Again { duel, .. }
            | Self::Stands { duel, .. }
            | Self::Duel { duel, .. } => duels()[duel].of,
        }
    }
}
