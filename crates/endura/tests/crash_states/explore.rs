//! Everything that can become of one operation: a crash at each of its moments, and other threads
//! that come by while it stands still.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::memory::{Event, Random, State};
use crate::model::{Expect, Op, Opened, Outcome, Universe};

pub(crate) type Finding = String;

/// How much is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Images per crash point.
    pub(crate) images: usize,
    /// Every how many crash images are used further by a script, and that is crashed again.
    pub(crate) scripts: u64,
    pub(crate) again: u64,
    /// Points at which the process is killed, or another thread comes by: one of so many.
    pub(crate) kills: u64,
    pub(crate) probes: u64,
}

#[derive(Default, Debug)]
pub(crate) struct Tally {
    traces: u64,
    points: u64,
    images: u64,
    exhaustive_points: u64,
    scripts: u64,
    again: u64,
    kills: u64,
    killed_images: u64,
    reads: u64,
    writes: u64,
    blocked: u64,
    duplicates: u64,
    pub(crate) findings: BTreeMap<String, (u64, String)>,
}

impl Tally {
    fn note(&mut self, what: &str, error: &str, detail: impl FnOnce() -> String) {
        let short: String = error.chars().filter(|c| !c.is_ascii_digit()).take(90).collect();
        let entry = self.findings.entry(format!("{what}: {short}")).or_default();
        entry.0 += 1;
        if entry.0 == 1 {
            entry.1 = format!("{error}\n      {}", detail());
        }
    }
}

pub(crate) struct Explorer<const I: usize, const L: usize> {
    effort: Effort,
    pub(crate) random: Random,
    pub(crate) tally: Tally,
    pub(crate) universe: Universe,
}

/// A moment of a run at which it may end.
struct Point {
    index: usize,
    state: State,
    expect: Expect,
}

/// The moments of a trace at which `wanted` says so, with what must hold there.
/// `befores[i]` is what held before operation `i`; the last one, after all of them.
fn points(
    base: &State,
    trace: &[Event],
    befores: &[Expect],
    ops: &[Op],
    wanted: &mut dyn FnMut(usize, Option<Event>) -> bool,
) -> Vec<Point> {
    let (mut state, mut done, mut inside) = (base.clone(), 0, false);
    let mut found = Vec::new();
    for index in 0..=trace.len() {
        let event = trace.get(index).copied();
        if wanted(index, event) {
            let mut expect = befores[done].clone();
            if inside {
                expect.begin(ops[done]);
            }
            found.push(Point { index, state: state.clone(), expect });
        }
        match event {
            Some(Event::Begin) => inside = true,
            Some(Event::Acknowledged) => (inside, done) = (false, done + 1),
            Some(event) => state.apply(event),
            None => {}
        }
    }
    found
}

/// Whether the guarantee grows after this moment: what a crash can leave earlier it can leave here.
fn grows_guarantee(event: Option<Event>) -> bool {
    matches!(event, None | Some(Event::Fence | Event::Acknowledged))
}

impl<const I: usize, const L: usize> Explorer<I, L> {
    pub(crate) fn new(effort: Effort, seed: u64, universe: Universe) -> Self {
        Self { effort, random: Random(seed | 1), tally: Tally::default(), universe }
    }

    /// Runs operations; what they returned must fit. Gives the trace and what held in between.
    pub(crate) fn run(
        &mut self,
        pool: &Opened<I, L>,
        expect: &Expect,
        ops: &[Op],
    ) -> Result<(State, Vec<Event>, Vec<Expect>), Finding> {
        let base = pool.recorder().state();
        pool.recorder().take_trace();
        let mut befores = vec![expect.clone()];
        for (i, &op) in ops.iter().enumerate() {
            let old = match pool.modify(op) {
                Outcome::Returned(old) => old,
                other => return Err(format!("op {i} {op:?}: {other:?}")),
            };
            let mut now = befores[i].clone();
            now.returned(op, old).map_err(|e| format!("op {i} {op:?}: {e}"))?;
            befores.push(now);
        }
        Ok((base, pool.recorder().take_trace(), befores))
    }

    fn script(&mut self, expect: &Expect) -> Vec<Op> {
        let keys = self.universe.keys();
        let mut value = 1_000_000 + self.random.below(1000) * 1000;
        let mut put = |key: u64| {
            value += 1;
            Op::Put(key, value)
        };
        let present: Vec<u64> = expect.sure.keys().copied().collect();
        let half = keys[keys.len() / 2];
        match self.random.below(8) {
            0 => keys.iter().map(|&k| put(k)).collect(),
            1 => keys.iter().rev().map(|&k| put(k)).collect(),
            2 => keys.iter().map(|&k| Op::Remove(k)).collect(),
            3 => keys.iter().rev().map(|&k| Op::Remove(k)).collect(),
            4 => present.iter().flat_map(|&k| [Op::Remove(k), put(k)]).collect(),
            5 => {
                let right = || keys.iter().filter(|&&k| k >= half);
                let fill: Vec<Op> = right().map(|&k| put(k)).collect();
                fill.into_iter().chain(right().map(|&k| Op::Remove(k))).collect()
            }
            6 => {
                let some: Vec<Op> = keys.iter().rev().step_by(2).map(|&k| put(k)).collect();
                some.into_iter().chain(keys.iter().map(|&k| Op::Remove(k))).collect()
            }
            _ => self.some_ops(30),
        }
    }

    fn some_ops(&mut self, count: usize) -> Vec<Op> {
        let keys = self.universe.keys();
        (0..count)
            .map(|i| {
                let key = keys[self.random.below(keys.len() as u64) as usize];
                match self.random.below(5) {
                    0..3 => Op::Put(key, 2_000_000 + self.random.below(1000) * 100 + i as u64),
                    _ => Op::Remove(key),
                }
            })
            .collect()
    }

    /// Opens what is left, compares and uses it; crashes that again if `again`.
    fn use_state(
        &mut self,
        state: State,
        generation: u64,
        mut expect: Expect,
        script: bool,
        again: bool,
    ) -> Result<(), Finding> {
        let pool = Opened::<I, L>::mount(state, generation)?;
        expect.check(&pool, &self.universe)?;
        if !script {
            return Ok(());
        }
        self.tally.scripts += 1;
        let ops = self.script(&expect);
        let (base, trace, befores) =
            self.run(&pool, &expect, &ops).map_err(|e| format!("continued with {ops:?}: {e}"))?;
        let mut last = befores.last().unwrap().clone();
        last.check(&pool, &self.universe).map_err(|e| format!("after {ops:?}: {e}"))?;
        if !again {
            return Ok(());
        }
        let every = (trace.len() / 6).max(1) as u64;
        let mut random = self.random.clone();
        self.random.below(7);
        let chosen = points(&base, &trace, &befores, &ops, &mut |_, e| {
            grows_guarantee(e) && random.below(every) < 3
        });
        for point in chosen.iter().take(6) {
            for (cuts, image) in point.state.images(12, &mut random) {
                self.tally.again += 1;
                let more = random.below(4) == 0;
                self.use_state(State::of(image), generation + 1, point.expect.clone(), more, false)
                    .map_err(|e| {
                        format!("crash again at {} of {ops:?} cuts {cuts:?}: {e}", point.index)
                    })?;
            }
        }
        Ok(())
    }

    fn one_of(&mut self, n: u64) -> bool {
        n > 0 && self.random.below(n) == 0
    }

    /// Everything that can become of one operation.
    pub(crate) fn explore(
        &mut self,
        base: &State,
        generation: u64,
        before: &Expect,
        op: Op,
        name: &str,
    ) {
        let pool = match Opened::<I, L>::mount(base.clone(), generation) {
            Ok(pool) => pool,
            Err(error) => return self.tally.note("mount", &error, || name.to_owned()),
        };
        pool.prime();
        let run = self.run(&pool, before, &[op]);
        let (base, trace, befores) = match run {
            Ok(run) => run,
            Err(error) => return self.tally.note("run", &error, || name.to_owned()),
        };
        self.tally.traces += 1;
        let ops = [op];
        let mut seen = BTreeSet::new();
        for point in points(&base, &trace, &befores, &ops, &mut |_, e| grows_guarantee(e)) {
            self.power_failure(&point, generation, &mut seen, name);
        }
        let effort = self.effort;
        let after_store = |i: usize| i > 0 && matches!(trace[i - 1], Event::Store(..));
        for point in points(&base, &trace, &befores, &ops, &mut |i, _| after_store(i)) {
            if self.one_of(effort.kills) {
                self.killed(&point, generation, name, 2);
            }
            if self.one_of(effort.probes) {
                self.read_meanwhile(&point, generation, op, before, name);
                self.write_meanwhile(&point, generation, name);
            }
        }
    }

    fn power_failure(
        &mut self,
        point: &Point,
        generation: u64,
        seen: &mut BTreeSet<u64>,
        name: &str,
    ) {
        self.tally.points += 1;
        let mut random = Random(self.random.below(u64::MAX) | 1);
        let images = point.state.images(self.effort.images, &mut random);
        self.tally.exhaustive_points += u64::from(images.len() < self.effort.images);
        for (cuts, image) in images {
            let mut hasher = DefaultHasher::new();
            (&image, point.expect.open.is_empty()).hash(&mut hasher);
            if !seen.insert(hasher.finish()) {
                self.tally.duplicates += 1;
                continue;
            }
            self.tally.images += 1;
            let script = self.one_of(self.effort.scripts);
            let again = script && self.one_of(self.effort.again);
            let expect = point.expect.clone();
            if let Err(e) = self.use_state(State::of(image), generation + 1, expect, script, again)
            {
                self.tally.note("power", &e, || {
                    format!("{name}; power fails at event {} cuts {cuts:?}", point.index)
                });
            }
        }
    }

    /// The process ends here; the next one reads or writes; then, sometimes, it ends as well; then
    /// power fails.
    fn killed(&mut self, point: &Point, generation: u64, name: &str, depth: u64) {
        self.tally.kills += 1;
        let mut state = point.state.clone();
        state.stop();
        if let Err(e) = self.killed_then_read(&state, generation + 1, &point.expect) {
            self.tally.note("killed, read", &e, || {
                format!("{name}; killed (depth {depth}) at event {}", point.index)
            });
        }
        for _ in 0..2 {
            let count = 1 + self.random.below(5) as usize;
            let mut ops = self.some_ops(count);
            if self.random.below(8) == 0 {
                ops = self.script(&point.expect);
            }
            let written =
                self.killed_then_written(&state, generation + 1, &point.expect, &ops, name, depth);
            if let Err(e) = written {
                self.tally.note("killed, written", &e, || {
                    format!("{name}; killed (depth {depth}) at {}, then {ops:?}", point.index)
                });
            }
        }
    }

    fn killed_then_read(
        &mut self,
        state: &State,
        generation: u64,
        expect: &Expect,
    ) -> Result<(), Finding> {
        for look in 0..4 {
            let pool = Opened::<I, L>::mount(state.clone(), generation)?;
            let mut expect = expect.clone();
            expect.look(&pool, &self.universe, look)?;
            let mut random = Random(self.random.below(u64::MAX) | 1);
            for (cuts, image) in pool.recorder().state().images(16, &mut random) {
                self.tally.killed_images += 1;
                self.use_state(State::of(image), generation + 1, expect.clone(), false, false)
                    .map_err(|e| format!("look {look}, cuts {cuts:?}: {e}"))?;
            }
        }
        Ok(())
    }

    fn killed_then_written(
        &mut self,
        state: &State,
        generation: u64,
        expect: &Expect,
        ops: &[Op],
        name: &str,
        depth: u64,
    ) -> Result<(), Finding> {
        let pool = Opened::<I, L>::mount(state.clone(), generation)?;
        pool.prime();
        let (base, trace, befores) = self.run(&pool, expect, ops)?;
        let mut random = Random(self.random.below(u64::MAX) | 1);
        let every = (trace.len() as u64 / 12).max(1);
        let chosen = points(&base, &trace, &befores, ops, &mut |_, e| {
            grows_guarantee(e) && random.below(every) < 4
        });
        for point in chosen {
            for (cuts, image) in point.state.images(10, &mut random) {
                self.tally.killed_images += 1;
                let script = random.below(6) == 0;
                self.use_state(
                    State::of(image),
                    generation + 1,
                    point.expect.clone(),
                    script,
                    false,
                )
                .map_err(|e| format!("power fails at {} cuts {cuts:?}: {e}", point.index))?;
            }
        }
        if depth > 1 {
            let chosen = points(&base, &trace, &befores, ops, &mut |i, _| {
                i > 0
                    && matches!(trace[i - 1], Event::Store(..))
                    // Its first lock, after which the repair begins, and two others or so.
                    && (i <= 2 || random.below(trace.len() as u64) < 2)
            });
            let name = format!("{name}; killed, then {ops:?}");
            for point in chosen {
                self.killed(&point, generation, &name, depth - 1);
            }
        }
        Ok(())
    }

    /// Another thread reads now; then power fails.
    fn read_meanwhile(
        &mut self,
        point: &Point,
        generation: u64,
        op: Op,
        before: &Expect,
        name: &str,
    ) {
        let mut state = point.state.clone();
        state.stop();
        for look in 0..4 {
            self.tally.reads += 1;
            let result = (|| {
                let pool = Opened::<I, L>::mount(state.clone(), generation)?;
                let mut expect = point.expect.clone();
                expect.look(&pool, &Universe::of(vec![op.key()]), look)?;
                // An answer from before the operation leaves open whether it still happens.
                if expect.sure.get(&op.key()) == before.sure.get(&op.key()) {
                    expect = point.expect.clone();
                }
                let mut random = Random(self.random.below(u64::MAX) | 1);
                for (cuts, image) in pool.recorder().state().images(16, &mut random) {
                    let image = State::of(image);
                    self.use_state(image, generation + 1, expect.clone(), false, false)
                        .map_err(|e| format!("cuts {cuts:?}: {e}"))?;
                }
                Ok::<(), Finding>(())
            })();
            if let Err(e) = result {
                self.tally.note(&format!("read meanwhile (look {look})"), &e, || {
                    format!("{name}; at event {}", point.index)
                });
            }
        }
    }

    /// Another thread writes now, if no lock stops it; then power fails.
    fn write_meanwhile(&mut self, point: &Point, generation: u64, name: &str) {
        let mut state = point.state.clone();
        state.stop();
        for op in self.some_ops(3) {
            self.tally.writes += 1;
            let result = (|| {
                let pool = Opened::<I, L>::mount(state.clone(), generation)?;
                let mut expect = point.expect.clone();
                match pool.modify(op) {
                    Outcome::Blocked => {
                        self.tally.blocked += 1;
                        return Ok(());
                    }
                    Outcome::Returned(old) => expect.returned(op, old)?,
                    other => return Err(format!("{other:?}")),
                }
                let mut random = Random(self.random.below(u64::MAX) | 1);
                for (cuts, image) in pool.recorder().state().images(12, &mut random) {
                    let image = State::of(image);
                    let script = random.below(8) == 0;
                    self.use_state(image, generation + 1, expect.clone(), script, false)
                        .map_err(|e| format!("cuts {cuts:?}: {e}"))?;
                }
                Ok::<(), Finding>(())
            })();
            if let Err(e) = result {
                self.tally.note("write meanwhile", &e, || {
                    format!("{name}; at event {} another thread: {op:?}", point.index)
                });
            }
        }
    }
}
