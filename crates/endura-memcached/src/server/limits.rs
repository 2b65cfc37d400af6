//! The limit on open files, raised for all connections.

use std::fmt;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most files that are open besides those of clients: the pool and its checkpoint, the listener, two for each thread.
const OTHERS: u64 = 1024;

/// The process may not open enough files.
#[derive(Debug, PartialEq, Eq)]
pub struct TooFewFiles {
    /// The number of files that are needed.
    pub need: u64,
    /// The number that the system allows.
    pub allowed: u64,
}

impl std::error::Error for TooFewFiles {}

impl fmt::Display for TooFewFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { need, allowed } = self;
        write!(
            f,
            "so many connections need {need} open files, and the system allows {allowed}: choose fewer, or raise the \
             limit (`ulimit -n`)"
        )
    }
}

/// Raises the limit on open files as far as `connections` connections need it. If there were no file left for one more
/// client, the server could not even turn it away.
///
/// # Errors
///
/// The limit cannot be raised to what is needed.
pub fn allow_connections(connections: usize) -> Result<(), TooFewFiles> {
    let need = (connections as u64).saturating_add(OTHERS);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= need) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(need), maximum };
    let is_allowed = maximum.is_none_or(|maximum| maximum >= need);
    if is_allowed && setrlimit(Resource::Nofile, raised).is_ok() {
        return Ok(());
    }
    Err(TooFewFiles { need, allowed: maximum.or(current).unwrap_or(u64::MAX) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_connections_than_the_system_allows_are_refused() {
        assert_eq!(allow_connections(1), Ok(()));
        if let Some(allowed) = getrlimit(Resource::Nofile).maximum {
            let need = allowed + OTHERS;
            assert_eq!(allow_connections(allowed as usize), Err(TooFewFiles { need, allowed }));
        }
    }
}
