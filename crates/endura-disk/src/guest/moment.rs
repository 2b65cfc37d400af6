//! Which moment a pool is of.

use std::collections::BTreeMap;

use super::history::{Step, removed};
use crate::lines::{Positions, WRITERS};

/// The entries that were found: per writer the steps, each with what it had seen of the other writer.
#[derive(Default)]
pub(super) struct Entries([BTreeMap<u32, u32>; WRITERS]);

impl Entries {
    /// Takes an entry; refuses one that no writer has stored.
    pub(super) fn add(&mut self, key: u64, value: u64) -> Result<Step, String> {
        let step = Step::of_key(key).ok_or_else(|| format!("key {key:#x} is no writer's"))?;
        let seen = step.seen(value).ok_or_else(|| format!("{step:?} has the value {value:#x}"))?;
        match self.0[step.writer].insert(step.position, seen) {
            None => Ok(step),
            Some(_) => Err(format!("{step:?} is there twice")),
        }
    }

    /// The oldest step of a writer that is there.
    pub(super) fn oldest(&self, writer: usize) -> Option<u32> {
        self.0[writer].keys().next().copied()
    }

    /// How far the writers were at the moment that has exactly these entries.
    pub(super) fn moment(&self) -> Result<Positions, String> {
        let mut positions = [0; WRITERS];
        for (writer, steps) in self.0.iter().enumerate() {
            positions[writer] =
                position(steps).map_err(|what| format!("writer {writer}: {what}"))?;
        }
        for (writer, steps) in self.0.iter().enumerate() {
            let (has, other) = (positions[1 - writer], 1 - writer);
            let seen = steps.values().max().copied().unwrap_or(0);
            if seen > has {
                return Err(format!(
                    "writer {writer} had seen step {seen} of writer {other}, which is at {has}"
                ));
            }
        }
        Ok(positions)
    }
}

/// How far a writer was that left these entries: before the next step, or within one.
fn position(steps: &BTreeMap<u32, u32>) -> Result<u32, String> {
    let (Some((&first, _)), Some((&last, _))) = (steps.first_key_value(), steps.last_key_value())
    else {
        return Ok(0);
    };
    if steps.len() as u32 != last - first + 1 {
        let missing = (first..last).find(|step| !steps.contains_key(step)).unwrap_or(last);
        return Err(format!("step {missing} of {first} to {last} is missing"));
    }
    if !(removed(last - 1)..=removed(last)).contains(&(first - 1)) {
        return Err(format!("steps {first} to {last} are no moment's"));
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries after so many steps of each writer, which take turns.
    fn after(positions: Positions) -> Vec<(Step, u32)> {
        let steps = (0..WRITERS).flat_map(|writer| {
            let position = positions[writer];
            let all = removed(position) + 1..=position;
            all.map(move |position| (Step { writer, position }, position - 1))
        });
        steps.collect()
    }

    fn moment(of: &[(Step, u32)]) -> Result<Positions, String> {
        let mut entries = Entries::default();
        for &(step, seen) in of {
            entries.add(step.key(), step.value(seen))?;
        }
        entries.moment()
    }

    #[test]
    fn a_moment_is_recognised() {
        for position in [0, 1, 5, 6_144, 6_145, 9_000, 12_288, 40_000] {
            assert_eq!(moment(&after([position; 2])), Ok([position; 2]));
        }
        // Within a step: it is inserted, and nothing or only one of two is removed yet.
        let mut entries = after([9_000; 2]);
        let oldest = removed(9_000);
        entries.push((Step { writer: 0, position: oldest }, oldest - 1));
        assert_eq!(moment(&entries), Ok([9_000; 2]));
    }

    #[test]
    fn what_no_moment_left_is_told() {
        let whole = after([9_000; 2]);
        let without: Vec<_> = whole.iter().filter(|(s, _)| s.position != 8_000).copied().collect();
        assert!(moment(&without).unwrap_err().contains("step 8000"));
        let mut back = whole.clone();
        let oldest = removed(9_000) - 2;
        (0..3).for_each(|n| back.push((Step { writer: 1, position: oldest + n }, 0)));
        assert!(moment(&back).unwrap_err().contains("no moment's"));
        let mut twice = whole.clone();
        twice.push(whole[7]);
        assert!(moment(&twice).unwrap_err().contains("twice"));
        let mut entries = Entries::default();
        assert!(entries.add(1, 1).is_err(), "a stranger");
        let step = Step { writer: 0, position: 4 };
        assert!(entries.add(step.key(), step.value(0) + (1 << 32)).is_err(), "a wrong value");
    }

    #[test]
    fn two_moments_are_no_moment() {
        let mut mixed: Vec<_> =
            after([9_000; 2]).into_iter().filter(|(s, _)| s.writer == 0).collect();
        mixed.extend(after([8_000; 2]).into_iter().filter(|(s, _)| s.writer == 1));
        assert!(moment(&mixed).unwrap_err().contains("had seen step 8999 of writer 1"));
    }
}
