//! Is the exploration any good? Each call of the program under test is faulted in turn, and a quick
//! campaign must notice.
//!
//! A fault that nobody notices is either a call that the program does not need, a promise that the
//! campaign does not test, or a fault that is none.
//!
//! # What is known of a campaign
//!
//! Why nothing can notice a fault stands at its call, in the source of the program:
//! `// equivalent mutant, without Flush: …`. Which part notices a fault stands in a table beside the test,
//! `killers.txt`, a line `fault | part` each. The table is no more than a cache. Where it is not current
//! (the source was edited, and a fault has no row, a row no fault, or a part does not notice any more what
//! it noticed), other parts that make the call are tried, those first that are recorded for what is gone
//! and for the same function; only what they do not notice either fails the check.
//!
//! | variable | effect |
//! | --- | --- |
//! | `ENDURA_MUTANTS=strict` | the check fails if the table is not current |
//! | `ENDURA_MUTANTS=write` | looks in all parts for what is open, and writes the table |
//! | `ENDURA_MUTANT=absorb` | only faults with this in their names (several: `\|` between) |
//! | `ENDURA_PART=Duel` | the long run uses only parts with this in theirs |
//! | `ENDURA_SIM_SECONDS=60` | what each fault gets at most when all parts are tried |

#[cfg(feature = "schedules")]
mod after_kill;
mod campaign;
mod fates;
mod faults;
mod harness;
mod name;
mod part;
mod place;
mod source;
mod table;

pub use crate::mutant::Calls;
#[cfg(feature = "schedules")]
pub use after_kill::AfterKill;
pub use campaign::Campaign;
pub use fates::{Fate, Fates, judge};
pub use harness::{Bed, Harness};
pub use name::{Area, Name, Names};
pub use part::Part;
pub use place::Place;
