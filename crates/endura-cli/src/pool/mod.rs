//! Which pool a command works on, how it is opened, and where what comes out goes.

pub(crate) mod made;
pub(crate) mod pool_args;
pub(crate) mod target;
pub(crate) mod uncounted;
