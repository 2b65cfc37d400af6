//! The end of the program: `exit` closes the pools that are open. Without that, a power loss after the program has ended
//! would take a pool on a disk back to its last checkpoint.

use std::sync::{Once, mpsc};
use std::time::Duration;

use super::opened::OpenPool;
use crate::handles::all;

/// How long `exit` waits. A thread that stays in a callback keeps a pool open; then the program ends as if killed, which
/// loses nothing that has returned.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

extern "C" fn close_all() {
    let process = std::process::id();
    let mut pools = all::<OpenPool>();
    pools.retain(|(_, own)| own.process == process);
    if pools.is_empty() {
        return;
    }
    let (sender, closed) = mpsc::channel();
    let close = move || {
        for (_, own) in pools {
            // There is nobody left who could be told.
            let _ = own.pool.close();
        }
        let _ = sender.send(());
    };
    if std::thread::Builder::new().spawn(close).is_ok() {
        let _ = closed.recv_timeout(LONGEST_WAIT);
    }
}

/// Makes `exit` close what is open.
pub(super) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function belongs to this library, which stays loaded.
        unsafe { libc::atexit(close_all) };
    });
}
