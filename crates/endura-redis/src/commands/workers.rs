//! Worker threads for work that takes long, so that other clients are served meanwhile.
//!
//! Long work is done in turns. One thread prefers work that has had no turn yet, so that short work does not wait for long
//! work to end. The other one prefers work that has had turns, so that long work ends however much short work comes.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;

use crate::keys::session;
use crate::redis::Context;
use crate::store::{Outcome, Value};

/// Makes one turn; returns whether there is more to do.
type Task = Box<dyn FnMut() -> bool + Send>;

/// Work that waits: what has had no turn, and what has had some.
#[derive(Default)]
struct Waiting {
    first: VecDeque<Task>,
    further: VecDeque<Task>,
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    is_filled: Condvar,
}

static QUEUE: OnceLock<Queue> = OnceLock::new();

/// Starts the threads, once.
pub(crate) fn start() -> io::Result<()> {
    let queue = QUEUE.get_or_init(Queue::default);
    for (number, prefers_new) in [true, false].into_iter().enumerate() {
        let thread = thread::Builder::new().name(format!("endura-work-{number}"));
        thread.spawn(move || queue.work(prefers_new))?;
    }
    Ok(())
}

impl Queue {
    fn add(&self, task: Task, is_new: bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if is_new { &mut waiting.first } else { &mut waiting.further }.push_back(task);
        self.is_filled.notify_one();
    }

    fn next(&self, prefers_new: bool) -> Task {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Waiting { first, further } = &mut *waiting;
            let [one, other] = if prefers_new { [first, further] } else { [further, first] };
            if let Some(task) = one.pop_front().or_else(|| other.pop_front()) {
                return task;
            }
            waiting = self.is_filled.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn work(&self, prefers_new: bool) {
        loop {
            let mut task = self.next(prefers_new);
            if task() {
                self.add(task, false);
            }
        }
    }
}

/// Answers the client on the threads, in turns, or at once if the client cannot wait, as in a transaction or a script.
/// `answer` makes one turn, and returns whether there is more to write.
fn in_turns(
    context: &Context<'_>,
    mut answer: impl FnMut(&Context<'_>) -> Outcome<bool> + Send + 'static,
) -> Outcome {
    let (Some(queue), Some(client)) = (QUEUE.get(), context.block()) else {
        while answer(context)? {}
        return Ok(());
    };
    let mut client = client.begin();
    queue.add(Box::new(move || client.turn(&mut answer)), true);
    Ok(())
}

/// Answers the client on one of the threads, or at once if the client cannot wait.
pub(super) fn on_a_thread(
    context: &Context<'_>,
    answer: impl Fn(&Context<'_>) -> Outcome + Send + 'static,
) -> Outcome {
    in_turns(context, move |context| answer(context).map(|()| false))
}

/// Answers from the entries of a key, on the threads, in turns. The entries are kept until the answer is complete, even if
/// the key is deleted meanwhile.
pub(super) fn read_in_turns(
    context: &Context<'_>,
    value: Arc<Value>,
    mut answer: impl FnMut(&Context<'_>, &Value) -> Outcome<bool> + Send + 'static,
) -> Outcome {
    let reading = session().store.sweeper.reading(value.id);
    in_turns(context, move |context| {
        let _reading = &reading;
        answer(context, &value)
    })
}
