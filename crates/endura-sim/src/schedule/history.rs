//! What the threads of a run saw, at the moments of its trace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use endura_linear::{Answer, Call, NEVER, Op};

use crate::event::Action;
use crate::sim::{Sim, actor};
use crate::subject::Finding;

/// The calls of a run, by key.
#[derive(Debug, Default)]
pub struct History {
    begin: usize,
    before: BTreeMap<u64, u64>,
    calls: BTreeMap<u64, Vec<Call>>,
}

/// Takes down what a thread is told. Clones write to one history.
#[derive(Clone)]
pub struct Scribe {
    sim: Sim,
    history: Arc<Mutex<History>>,
}

impl Scribe {
    /// A history of what happens on `sim` from now on to a map that holds `before`.
    pub fn new(sim: &Sim, before: BTreeMap<u64, u64>) -> Self {
        let history = History { begin: sim.moment(), before, calls: BTreeMap::new() };
        Self { sim: sim.clone(), history: Arc::new(Mutex::new(history)) }
    }

    /// The moment at which the calling thread begins something. Nothing else has it.
    pub fn begins(&self) -> u64 {
        self.note(Action::Begin(actor() as usize))
    }

    /// The moment at which it was told something.
    pub fn returns(&self) -> u64 {
        self.note(Action::Acknowledge(actor() as usize))
    }

    fn note(&self, action: Action) -> u64 {
        self.sim.note(action);
        self.sim.moment() as u64 - 1
    }

    /// Begins a call; it is in flight until it is [`answered`](Self::answered).
    pub fn call(&self, key: u64, op: Op) -> u64 {
        let called = self.begins();
        self.add(key, Call { thread: actor(), called, returned: NEVER, op, answer: None });
        called
    }

    /// Ends the calling thread's call in flight.
    pub fn answered(&self, key: u64, answer: Answer) {
        let returned = self.returns();
        let mut history = self.lock();
        let calls = history.calls.entry(key).or_default();
        let own = calls.iter_mut().rfind(|call| call.thread == actor());
        if let Some(call) = own {
            (call.returned, call.answer) = (returned, Some(answer));
        }
    }

    /// Adds what the calling thread saw of a key between two moments.
    pub fn saw(&self, key: u64, (called, returned): (u64, u64), value: Option<u64>) {
        let answer = Some(Answer::Value(value));
        self.add(key, Call { thread: actor(), called, returned, op: Op::Read, answer });
    }

    /// Takes the history out.
    pub fn finish(&self) -> History {
        std::mem::take(&mut *self.lock())
    }

    fn add(&self, key: u64, call: Call) {
        self.lock().calls.entry(key).or_default().push(call);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// More contents than that after one crash are not listed.
const MOST: usize = 512;

impl History {
    /// Whether some order explains every key's calls, and leaves what was found at the end.
    ///
    /// # Errors
    ///
    /// The first key of which none does.
    pub fn check(&self, found: &BTreeMap<u64, u64>) -> Result<(), Finding> {
        for (&key, calls) in &self.calls {
            let told = |text| format!("key {key}: {text}");
            let values =
                endura_linear::check(self.before.get(&key).copied(), calls).map_err(told)?;
            let now = found.get(&key).copied();
            if !values.contains(&now) {
                return Err(format!("key {key} holds {now:?} at the end, not one of {values:?}"));
            }
        }
        let is_known = |key| self.before.contains_key(key) || self.calls.contains_key(key);
        match found.keys().find(|key| !is_known(key)) {
            None => Ok(()),
            Some(key) => Err(format!("a key that nobody inserted: {key}")),
        }
    }

    /// What the map may hold after a crash before event number `events`. A history that no order
    /// explains gives nothing.
    pub fn after_crash(&self, events: usize) -> Vec<BTreeMap<u64, u64>> {
        let mut models = vec![self.before.clone()];
        for (&key, calls) in &self.calls {
            let before = self.before.get(&key).copied();
            let values =
                endura_linear::after_crash(before, calls, events as u64).unwrap_or_default();
            models = combine(models, key, &values);
            models.truncate(MOST);
        }
        models
    }

    /// Equal for histories in which the same was asked and told in the same order.
    pub fn fingerprint(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        for (key, calls) in &self.calls {
            key.hash(&mut hasher);
            calls.iter().for_each(|call| (call.thread, call.op, call.answer).hash(&mut hasher));
        }
        hasher.finish()
    }

    /// The moment at which the threads began.
    pub fn begin(&self) -> usize {
        self.begin
    }
}

fn combine(
    models: Vec<BTreeMap<u64, u64>>,
    key: u64,
    values: &BTreeSet<Option<u64>>,
) -> Vec<BTreeMap<u64, u64>> {
    let with = |mut model: BTreeMap<u64, u64>, value: Option<u64>| {
        match value {
            Some(value) => model.insert(key, value),
            None => model.remove(&key),
        };
        model
    };
    let each = models.into_iter();
    each.flat_map(|model| values.iter().map(move |&value| with(model.clone(), value))).collect()
}
