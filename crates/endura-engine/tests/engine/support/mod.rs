//! What the tests of all rooms share.

pub(crate) mod numbers;
pub(crate) mod patched;
pub(crate) mod patience;
pub(crate) mod pools;
pub(crate) mod watched;
pub(crate) mod words;
