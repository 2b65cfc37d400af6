//! Worker threads for work that takes long, so that other clients are served meanwhile.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use crate::keys::session;
use crate::redis::Context;
use crate::store::{Outcome, Value};

/// Two, so that one long read does not delay the next task.
const THREADS: usize = 2;

type Task = Box<dyn FnOnce() + Send>;

static TASKS: OnceLock<Mutex<Sender<Task>>> = OnceLock::new();

/// Starts the threads, once.
pub(crate) fn start() -> io::Result<()> {
    let (tasks, inbox) = channel::<Task>();
    let inbox = Arc::new(Mutex::new(inbox));
    for number in 0..THREADS {
        let inbox = Arc::clone(&inbox);
        let thread = thread::Builder::new().name(format!("endura-work-{number}"));
        thread.spawn(move || work(&inbox))?;
    }
    let _ = TASKS.set(Mutex::new(tasks));
    Ok(())
}

fn work(inbox: &Mutex<Receiver<Task>>) {
    loop {
        let next = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(task) = next else { return };
        task();
    }
}

/// Answers the client on one of the threads, or at once if the client cannot wait, as in a transaction or a script.
pub(super) fn on_a_thread(
    context: &Context<'_>,
    answer: impl FnOnce(&Context<'_>) -> Outcome + Send + 'static,
) -> Outcome {
    let Some(tasks) = TASKS.get() else { return answer(context) };
    let Some(client) = context.block() else { return answer(context) };
    let task = Box::new(move || client.answer(answer));
    // The threads run as long as the process, so there is always a receiver.
    let _ = tasks.lock().unwrap_or_else(PoisonError::into_inner).send(task);
    Ok(())
}

/// Like [`on_a_thread`], for an answer that reads the entries of a key. The entries are kept until the answer is
/// complete, even if the key is deleted meanwhile.
pub(super) fn read_on_a_thread(
    context: &Context<'_>,
    value: Arc<Value>,
    answer: impl FnOnce(&Context<'_>, &Value) -> Outcome + Send + 'static,
) -> Outcome {
    let reading = session().store.sweeper.reading(value.id);
    on_a_thread(context, move |context| {
        let _reading = reading;
        answer(context, &value)
    })
}
