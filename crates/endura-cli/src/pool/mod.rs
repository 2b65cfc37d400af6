//! The pool of a command, how it is opened, and the target of its output.

pub(crate) mod checkpoint_args;
pub(crate) mod made;
pub(crate) mod moment;
pub(crate) mod pool_args;
pub(crate) mod target;
pub(crate) mod uncounted;
