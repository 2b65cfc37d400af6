//! The expected contents of the map after a kill, and the comparison with it.

use std::collections::{BTreeMap, BTreeSet};

use super::keyspace::{HOT_KEYS, Lane, hot_index, hot_key};
use super::plan::{RoundPlan, Step};
use super::subject::Subject;

/// The number of violations that are described; the others are only counted.
const DESCRIBED: usize = 8;

/// All entries of a map. An entry out of order is a violation.
pub(crate) fn contents(
    map: &Subject,
    violations: &mut Violations,
) -> endura::Result<BTreeMap<u64, u64>> {
    let mut entries = BTreeMap::new();
    let mut previous = None;
    for entry in map.iter() {
        let (key, value) = entry?;
        if let Some(previous) = previous.replace(key)
            && previous >= key
        {
            violations.note(format!("the scan gave key {key} after {previous}"));
        }
        entries.insert(key, value);
    }
    Ok(entries)
}

/// The violations found.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    /// Keys whose acknowledged insert is gone.
    pub(crate) lost: u64,
    /// Keys that were removed, or never stored, and are present.
    pub(crate) resurrected: u64,
    /// Keys with a value that they must not have.
    pub(crate) wrong: u64,
    /// Everything else: two ways of reading that disagree, or a writer that got a wrong result.
    pub(crate) other: u64,
    /// The first few, as text.
    pub(crate) described: Vec<String>,
}

impl Violations {
    /// Whether any violation was found.
    pub(crate) fn any(&self) -> bool {
        self.lost + self.resurrected + self.wrong + self.other > 0
    }

    /// Records a violation that is not of the counted kinds.
    pub(crate) fn note(&mut self, text: String) {
        self.other += 1;
        self.describe(text);
    }

    fn describe(&mut self, text: String) {
        if self.described.len() < DESCRIBED {
            self.described.push(text);
        }
    }

    /// Records that the key has `found` (`None`: is absent), which is not in `allowed`.
    fn differs(&mut self, key: u64, allowed: &[Option<u64>], found: Option<u64>) {
        let (counter, kind) = match found {
            None => (&mut self.lost, "lost"),
            Some(_) if allowed.iter().all(Option::is_none) => {
                (&mut self.resurrected, "resurrected")
            }
            Some(_) => (&mut self.wrong, "wrong"),
        };
        *counter += 1;
        self.describe(format!("{kind}: key {key}: must be one of {allowed:?}, is {found:?}"));
    }
}

/// The expected contents of the map.
pub(crate) struct Expected {
    threads: usize,
    entries: BTreeMap<u64, u64>,
    /// Keys with an operation in flight, and the values that they may have after it.
    in_flight: BTreeMap<u64, (Option<u64>, Option<u64>)>,
    /// For each shared key and thread: the counts that its lane may show.
    lanes: Vec<[Vec<u64>; HOT_KEYS]>,
    /// Shared keys that must exist.
    hot_present: BTreeSet<usize>,
    /// Operations in flight on shared keys: thread, key, count after.
    hot_in_flight: Vec<(usize, usize, u64)>,
}

impl Expected {
    /// The expectation for a map with the contents `before`, to which `threads` threads then write.
    pub(crate) fn new(before: &BTreeMap<u64, u64>, threads: usize) -> Self {
        let present = (0..HOT_KEYS).filter(|&i| before.contains_key(&hot_key(i)));
        Self {
            threads,
            entries: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            lanes: Vec::new(),
            hot_present: present.collect(),
            hot_in_flight: Vec::new(),
        }
    }

    /// Records that `step` was acknowledged.
    pub(crate) fn touch(&mut self, step: &Step) {
        self.hot_present.extend(hot_index(step.key));
    }

    /// Records a thread whose acknowledged steps are all in `plan`, and its step in flight.
    pub(crate) fn add_thread(&mut self, thread: usize, plan: RoundPlan, in_flight: Option<Step>) {
        debug_assert_eq!(thread, self.lanes.len());
        let mut lanes: [Vec<u64>; HOT_KEYS] = std::array::from_fn(|i| vec![plan.counts[i]]);
        if let Some(step) = in_flight {
            match hot_index(step.key) {
                Some(i) => {
                    lanes[i] = step.before.into_iter().chain(step.after).collect();
                    self.hot_in_flight.extend(step.after.map(|after| (thread, i, after)));
                }
                None => {
                    self.in_flight.insert(step.key, (step.before, step.after));
                }
            }
        }
        self.lanes.push(lanes);
        self.entries.extend(plan.entries);
    }

    fn allows_hot(&self, i: usize, found: Option<u64>) -> bool {
        if found.is_none() && self.hot_present.contains(&i) {
            return false;
        }
        let begun = self.hot_in_flight.iter().any(|&(_, key, _)| key == i);
        if found.is_some() && !self.hot_present.contains(&i) && !begun {
            return false;
        }
        self.lanes.iter().enumerate().all(|(thread, lanes)| {
            let lane = Lane::new(thread, self.threads);
            let shown = lane.of(found.unwrap_or(0));
            lanes[i].iter().any(|&count| lane.shown(count) == shown)
        })
    }

    /// The number of operations in flight that took effect.
    fn kept(&self, found: &BTreeMap<u64, u64>) -> u64 {
        let own = self
            .in_flight
            .iter()
            .filter(|&(key, &(before, after))| before != after && found.get(key).copied() == after);
        let shared = self.hot_in_flight.iter().filter(|&&(thread, i, after)| {
            let lane = Lane::new(thread, self.threads);
            found.get(&hot_key(i)).is_some_and(|&word| lane.of(word) == lane.shown(after))
        });
        own.count() as u64 + shared.count() as u64
    }
}

/// Compares the result of a scan with the expected contents, and with the other ways of reading; returns the number of
/// operations in flight that took effect.
pub(crate) fn compare(
    map: &Subject,
    found: &BTreeMap<u64, u64>,
    expected: &Expected,
    violations: &mut Violations,
) -> endura::Result<u64> {
    let keys: BTreeSet<u64> = found.keys().chain(expected.entries.keys()).copied().collect();
    for &key in keys.iter().chain(expected.in_flight.keys().filter(|key| !keys.contains(key))) {
        let value = found.get(&key).copied();
        if let Some(i) = hot_index(key) {
            if !expected.allows_hot(i, value) {
                violations.wrong += 1;
                violations.describe(format!("wrong: shared key {key} is {value:x?}"));
            }
        } else if let Some(&(before, after)) = expected.in_flight.get(&key) {
            if value != before && value != after {
                violations.differs(key, &[before, after], value);
            }
        } else if value != expected.entries.get(&key).copied() {
            violations.differs(key, &[expected.entries.get(&key).copied()], value);
        }
        // The descent to a key and the walk along the leaves are different paths.
        let by_lookup = map.get(key)?;
        if by_lookup != value {
            violations.note(format!("key {key}: get {by_lookup:?}, scan {value:?}"));
        }
    }
    for i in (0..HOT_KEYS).filter(|&i| !found.contains_key(&hot_key(i))) {
        if !expected.allows_hot(i, None) {
            violations.differs(hot_key(i), &[Some(0)], None);
        }
    }
    backwards(map, found, violations)?;
    Ok(expected.kept(found))
}

fn backwards(
    map: &Subject,
    found: &BTreeMap<u64, u64>,
    violations: &mut Violations,
) -> endura::Result<()> {
    let mut forwards = found.iter().rev();
    for entry in map.iter().rev() {
        let (key, value) = entry?;
        if forwards.next() != Some((&key, &value)) {
            violations.note(format!("the backward scan differs from the forward one at key {key}"));
            return Ok(());
        }
    }
    if forwards.next().is_some() {
        violations.note("the backward scan ends before the forward one".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use endura::Kind;

    use super::super::writer::perform;
    use super::*;

    const THREADS: usize = 3;

    /// A map after some steps of three threads, its expected contents, and a further step of thread 0.
    struct Scene {
        _dir: tempfile::TempDir,
        map: Subject,
        expected: Expected,
        in_flight: Step,
    }

    impl Scene {
        fn new(kind: Kind) -> Self {
            let dir = tempfile::tempdir().expect("a temporary folder");
            let pool = endura::Pool::options().create_new(dir.path().join("pool")).expect("a pool");
            let map = Subject::create(&pool, kind, false).expect("a map");
            let empty = BTreeMap::new();
            let mut expected = Expected::new(&empty, THREADS);
            let mut last = None;
            for thread in 0..THREADS {
                let mut plan = RoundPlan::new(1, 1, thread, THREADS, &empty);
                for _ in 0..3000 {
                    let step = plan.next();
                    let lane = Lane::new(thread, THREADS);
                    assert!(perform(&map, &step, lane).expect("a step"), "{step:?}");
                    expected.touch(&step);
                }
                let own = |step: &Step| hot_index(step.key).is_none() && step.before != step.after;
                let in_flight = (thread == 0).then(|| {
                    let step = plan.next();
                    // Steps that change nothing, or a counter, have other tests.
                    assert!(own(&step), "choose another seed");
                    step
                });
                last = last.or(in_flight);
                expected.add_thread(thread, plan, in_flight);
            }
            Self { _dir: dir, map, expected, in_flight: last.expect("a step") }
        }

        fn compare(&self) -> (Violations, u64) {
            let mut violations = Violations::default();
            let found = contents(&self.map, &mut violations).expect("a scan");
            let kept = compare(&self.map, &found, &self.expected, &mut violations);
            (violations, kept.expect("a comparison"))
        }

        /// A key of thread 1 that is present.
        fn some_key(&self) -> u64 {
            let mut keys = self.expected.entries.keys().copied();
            keys.find(|&key| key != self.in_flight.key).expect("a key")
        }

        fn counts(&self) -> [u64; 4] {
            let (v, _) = self.compare();
            [v.lost, v.resurrected, v.wrong, v.other]
        }
    }

    const KINDS: [Kind; 2] = [Kind::FastFair, Kind::Roart];

    #[test]
    fn a_step_in_flight_may_have_happened_or_not() {
        KINDS.into_iter().for_each(in_flight);
    }

    fn in_flight(kind: Kind) {
        let scene = Scene::new(kind);
        let (violations, kept) = scene.compare();
        assert_eq!((violations.described, kept), (vec![], 0));
        assert!(perform(&scene.map, &scene.in_flight, Lane::new(0, THREADS)).expect("a step"));
        let (violations, kept) = scene.compare();
        assert_eq!((violations.described, kept), (vec![], 1));
    }

    #[test]
    fn a_lost_key_a_stranger_and_a_wrong_value_are_found() {
        KINDS.into_iter().for_each(lost_and_found);
    }

    fn lost_and_found(kind: Kind) {
        let scene = Scene::new(kind);
        let key = scene.some_key();
        let value = scene.map.remove(key).expect("a remove").expect("a value");
        assert_eq!(scene.counts(), [1, 0, 0, 0]);
        scene.map.insert(key, value ^ 1).expect("an insert");
        assert_eq!(scene.counts(), [0, 0, 1, 0]);
        scene.map.insert(key, value).expect("an insert");
        let stranger = (0..).find(|key| !scene.expected.entries.contains_key(key)).expect("a gap");
        scene.map.insert(stranger, 1).expect("an insert");
        assert_eq!(scene.counts(), [0, 1, 0, 0]);
    }

    #[test]
    fn a_lost_count_of_any_thread_is_found() {
        for (thread, kind) in (0..THREADS).flat_map(|thread| KINDS.map(|kind| (thread, kind))) {
            let scene = Scene::new(kind);
            let key = hot_key(*scene.expected.hot_present.first().expect("a shared key"));
            let word = scene.map.get(key).expect("a lookup").expect("a word");
            scene.map.insert(key, Lane::new(thread, THREADS).bump(word)).expect("an insert");
            assert_eq!(scene.counts(), [0, 0, 1, 0]);
            scene.map.remove(key).expect("a remove");
            assert_eq!(scene.counts(), [1, 0, 0, 0]);
        }
    }
}
